//! Version numbers, and finding them in what tools print.

use std::fmt;

/// Major, minor and patch. What follows (`-dev`, `+build`) is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
    /// The third number; 0 where there is none.
    pub patch: u32,
}

impl Version {
    /// A version of three numbers.
    #[must_use]
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Version {
            major,
            minor,
            patch,
        }
    }

    /// The version that a word states: `v1.12.6`, `2.39.5`, `go1.26.8`, `0.8.0-dev`. `None` where
    /// it states none.
    #[must_use]
    pub fn in_word(word: &str) -> Option<Self> {
        let digits = word.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let mut numbers = digits.splitn(3, '.');
        let major = numbers.next()?.parse().ok()?;
        let minor = leading_number(numbers.next()?)?;
        let patch = numbers.next().and_then(leading_number).unwrap_or(0);
        Some(Version::new(major, minor, patch))
    }

    /// The first version in a line of words.
    #[must_use]
    pub fn in_line(line: &str) -> Option<Self> {
        line.split_whitespace().find_map(Version::in_word)
    }
}

fn leading_number(text: &str) -> Option<u32> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text[..end].parse().ok()
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_as_tools_print_them() {
        let check = |line: &str, expect: Option<(u32, u32, u32)>| {
            let expect = expect.map(|(major, minor, patch)| Version::new(major, minor, patch));
            assert_eq!(Version::in_line(line), expect, "{line}");
        };
        check("OpenTofu v1.12.6", Some((1, 12, 6)));
        check("Terraform v1.11.4", Some((1, 11, 4)));
        check("OpenTofu v1.13.0-dev", Some((1, 13, 0)));
        check("TFLint version 0.64.0", Some((0, 64, 0)));
        check("3.3.30", Some((3, 3, 30)));
        check("git version 2.39.5 (Apple Git-154)", Some((2, 39, 5)));
        check("git version 2.40.windows.1", Some((2, 40, 0)));
        check("bubblewrap 0.8.0", Some((0, 8, 0)));
        check("go version go1.26.8 linux/amd64", Some((1, 26, 8)));
        check("command not found", None);
        check("", None);
    }
}
