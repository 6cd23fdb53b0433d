//! Values that a person gives on the command line or in files.

use std::{collections::BTreeMap, path::Path};

use groundplan_engine::time::Timestamp;
use groundplan_ports::secrets::SecretValue;
use groundplan_workflow::read::{Limits, NodeValue, SourceFile, trees};

use crate::{config, failure::Failure, terminal::diagnostics};

/// Parameters from `-p` and `--parameter-file`, in the order given: the file's first.
pub(super) fn parameters(
    given: &[String],
    file: Option<&Path>,
) -> Result<Vec<(String, String)>, Failure> {
    let mut parameters = match file {
        Some(file) => from_file(file)?,
        None => Vec::new(),
    };
    for text in given {
        let Some((name, value)) = text.split_once('=') else {
            return Err(Failure::user(format!("`-p {text}` has no value"))
                .with_hint("write `-p NAME=VALUE`"));
        };
        if name.is_empty() {
            return Err(Failure::user(format!("`-p {text}` names no parameter"))
                .with_hint("write `-p NAME=VALUE`"));
        }
        // What is said on the command line goes before what the file says; twice there is a fault.
        if let Some(place) = parameters.iter().position(|(known, _)| known == name)
            && place < parameters.len() - given_so_far(given, text)
        {
            parameters.remove(place);
        }
        parameters.push((name.to_owned(), value.to_owned()));
    }
    Ok(parameters)
}

fn given_so_far(given: &[String], until: &String) -> usize {
    given
        .iter()
        .position(|text| std::ptr::eq(text, until))
        .unwrap_or_default()
}

fn from_file(file: &Path) -> Result<Vec<(String, String)>, Failure> {
    let bytes = std::fs::read(file).map_err(|error| {
        Failure::user(format!(
            "cannot read the parameter file `{}`",
            file.display()
        ))
        .because(error)
        .with_hint("name a file that holds a map of parameters, such as `name: value`")
    })?;
    let source = SourceFile::new(file.display().to_string(), bytes);
    let (trees, faults) = trees(&source, Limits::default());
    if !faults.is_empty() {
        let shown = diagnostics::text(&faults, std::slice::from_ref(&source));
        return Err(Failure::user(format!(
            "the parameter file `{}` has faults",
            file.display()
        ))
        .because(shown));
    }
    let Some(tree) = trees
        .first()
        .filter(|tree| matches!(tree.root.value, NodeValue::Map(_)))
    else {
        return Err(Failure::user(format!(
            "the parameter file `{}` is no map of names to values",
            file.display()
        ))
        .with_hint("write a line `name: value` for each parameter"));
    };
    Ok(tree
        .root
        .entries()
        .iter()
        .map(|entry| {
            let value = match entry.value.to_json() {
                serde_json::Value::String(text) => text,
                other => other.to_string(),
            };
            (entry.key.clone(), value)
        })
        .collect())
}

/// Variables from `--pass-env NAME[=VALUE]`.
pub(super) fn passed_variables(given: &[String]) -> Result<BTreeMap<String, SecretValue>, Failure> {
    let mut passed = BTreeMap::new();
    for text in given {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, value.as_bytes().to_vec()),
            None => {
                let value = config::variable(text).ok_or_else(|| {
                    Failure::user(format!("variable `{text}` is not set here"))
                        .with_hint(format!("set it, or write `--pass-env {text}=VALUE`"))
                })?;
                (text.as_str(), value.into_encoded_bytes())
            }
        };
        if name.is_empty() || name.contains('\0') {
            return Err(
                Failure::user(format!("`--pass-env {text}` names no variable"))
                    .with_hint("write `--pass-env NAME` or `--pass-env NAME=VALUE`"),
            );
        }
        if passed
            .insert(name.to_owned(), SecretValue::new(value))
            .is_some()
        {
            return Err(Failure::user(format!("variable `{name}` is passed twice"))
                .with_hint("pass it once"));
        }
    }
    Ok(passed)
}

/// Random bytes of the system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0; N];
    rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty())
        .map_err(|error| Failure::user("the system gives no random bytes").because(error))?;
    Ok(bytes)
}

const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// 26 characters: 10 of the time in milliseconds, 16 of randomness.
pub(crate) fn sortable_id(now: Timestamp, random: &[u8; 16]) -> String {
    let millis = u64::try_from(now.0).unwrap_or_default();
    let time = (0..10).rev().map(|place| (millis >> (place * 5)) & 31);
    let rest = random.iter().map(|byte| u64::from(byte & 31));
    time.chain(rest)
        .map(|digit| char::from(DIGITS[usize::try_from(digit).expect("below 32")]))
        .collect()
}

/// Five characters as Kubernetes appends them to `generateName`.
pub(crate) fn suffix() -> Result<String, Failure> {
    let bytes = random::<5>()?;
    Ok(bytes
        .iter()
        .map(|byte| char::from(DIGITS[usize::from(byte & 31)]))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_time() {
        let (early, late) = (
            sortable_id(Timestamp(1000), &[255; 16]),
            sortable_id(Timestamp(2000), &[0; 16]),
        );
        assert!(early < late);
        assert_eq!((early.len(), late.len()), (26, 26));
    }

    #[test]
    fn a_variable_without_value_comes_from_the_environment() {
        let failure =
            passed_variables(&["GROUNDPLAN_SURELY_UNSET".to_owned()]).expect_err("it is not set");
        assert_eq!(
            failure.message(),
            "variable `GROUNDPLAN_SURELY_UNSET` is not set here"
        );
    }
}
