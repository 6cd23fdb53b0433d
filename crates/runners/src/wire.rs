//! How our own processes talk to each other over pipes and sockets. It exists because what they say
//! holds secrets, and secret values have no other serialization.
//!
//! Integers are little-endian; texts, bytes and lists carry their length first.

use std::{os::unix::ffi::OsStrExt, path::PathBuf};

use groundplan_ports::secrets::SecretValue;
use thiserror::Error;

/// A message that is cut off or was not written by this version.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("the message is cut off or of another version")]
pub(crate) struct WireError;

/// Something that can be told to another process of ours.
pub(crate) trait Wire: Sized {
    /// Appends itself.
    fn put(&self, out: &mut Vec<u8>);

    /// Takes itself from the beginning of `input`.
    fn take(input: &mut &[u8]) -> Result<Self, WireError>;

    /// The whole message.
    fn to_message(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.put(&mut out);
        out
    }

    /// Reads a whole message.
    fn from_message(mut input: &[u8]) -> Result<Self, WireError> {
        let value = Self::take(&mut input)?;
        if input.is_empty() {
            Ok(value)
        } else {
            Err(WireError)
        }
    }
}

fn take_bytes<'a>(input: &mut &'a [u8], length: usize) -> Result<&'a [u8], WireError> {
    let (head, rest) = input.split_at_checked(length).ok_or(WireError)?;
    *input = rest;
    Ok(head)
}

macro_rules! wire_integer {
    ($($integer:ty),*) => {$(
        impl Wire for $integer {
            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn take(input: &mut &[u8]) -> Result<Self, WireError> {
                let bytes = take_bytes(input, size_of::<$integer>())?;
                Ok(<$integer>::from_le_bytes(bytes.try_into().map_err(|_| WireError)?))
            }
        }
    )*};
}
wire_integer!(u8, u32, u64, i64);

impl Wire for bool {
    fn put(&self, out: &mut Vec<u8>) {
        u8::from(*self).put(out);
    }

    fn take(input: &mut &[u8]) -> Result<Self, WireError> {
        match u8::take(input)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(WireError),
        }
    }
}

fn put_slice(bytes: &[u8], out: &mut Vec<u8>) {
    (bytes.len() as u64).put(out);
    out.extend_from_slice(bytes);
}

fn take_slice<'a>(input: &mut &'a [u8]) -> Result<&'a [u8], WireError> {
    let length = usize::try_from(u64::take(input)?).map_err(|_| WireError)?;
    take_bytes(input, length)
}

impl Wire for String {
    fn put(&self, out: &mut Vec<u8>) {
        put_slice(self.as_bytes(), out);
    }

    fn take(input: &mut &[u8]) -> Result<Self, WireError> {
        String::from_utf8(take_slice(input)?.to_vec()).map_err(|_| WireError)
    }
}

impl Wire for SecretValue {
    fn put(&self, out: &mut Vec<u8>) {
        put_slice(self.expose(), out);
    }

    fn take(input: &mut &[u8]) -> Result<Self, WireError> {
        Ok(SecretValue::new(take_slice(input)?))
    }
}

impl Wire for PathBuf {
    fn put(&self, out: &mut Vec<u8>) {
        put_slice(self.as_os_str().as_bytes(), out);
    }

    fn take(input: &mut &[u8]) -> Result<Self, WireError> {
        Ok(PathBuf::from(std::ffi::OsStr::from_bytes(take_slice(
            input,
        )?)))
    }
}

impl<T: Wire> Wire for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }

    fn take(input: &mut &[u8]) -> Result<Self, WireError> {
        if bool::take(input)? {
            Ok(Some(T::take(input)?))
        } else {
            Ok(None)
        }
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        for value in self {
            value.put(out);
        }
    }

    fn take(input: &mut &[u8]) -> Result<Self, WireError> {
        let length = u64::take(input)?;
        (0..length).map(|_| T::take(input)).collect()
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }

    fn take(input: &mut &[u8]) -> Result<Self, WireError> {
        Ok((A::take(input)?, B::take(input)?))
    }
}

/// Tells a struct field by field, in the order given.
macro_rules! wire_struct {
    ($name:ident { $($field:ident),* $(,)? }) => {
        impl $crate::wire::Wire for $name {
            fn put(&self, out: &mut Vec<u8>) {
                $($crate::wire::Wire::put(&self.$field, out);)*
            }

            fn take(input: &mut &[u8]) -> Result<Self, $crate::wire::WireError> {
                Ok($name { $($field: $crate::wire::Wire::take(input)?),* })
            }
        }
    };
}
pub(crate) use wire_struct;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_is_taken() {
        type Message = (Vec<(String, Option<u64>)>, SecretValue);
        let message: Message = (
            vec![("a".into(), Some(7)), (String::new(), None)],
            SecretValue::new(b"\0\xff".as_slice()),
        );
        assert_eq!(Message::from_message(&message.to_message()), Ok(message));
    }

    #[test]
    fn every_cut_is_noticed() {
        let message = (vec!["one".to_owned(), "two".to_owned()], 5i64).to_message();
        for length in 0..message.len() {
            let cut = <(Vec<String>, i64)>::from_message(&message[..length]);
            assert_eq!(cut, Err(WireError), "at {length}");
        }
    }
}
