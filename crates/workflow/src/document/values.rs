//! Parameters and the loose value forms that Argo accepts.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A string that may be written as a number or a boolean: Argo's `AnyString`. A number is printed as
/// a double without an exponent (`1.10` read from YAML is already `1.1`); a list or map reads as the
/// empty string.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AnyString(pub String);

impl AnyString {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: Into<String>> From<T> for AnyString {
    fn from(text: T) -> Self {
        AnyString(text.into())
    }
}

impl fmt::Display for AnyString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for AnyString {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for AnyString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(AnyString(match Value::deserialize(deserializer)? {
            Value::String(text) => text,
            Value::Bool(value) => value.to_string(),
            // Argo holds every number as a double and prints it without an exponent.
            Value::Number(number) => number
                .as_f64()
                .map_or_else(|| number.to_string(), |double| double.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => String::new(),
        }))
    }
}

/// An integer that may be written as a string, often with a tag in it: Kubernetes' `IntOrString`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum IntOrString {
    /// A plain integer.
    Int(i64),
    /// Text, to be parsed after its tags are replaced.
    String(String),
}

/// One element of `withItems`: any JSON value. Kept as written; the kind decides its printed form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Item(pub Value);

/// A named value: an input, an output, or an argument.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Parameter {
    /// Name, unique within its list.
    pub name: String,
    /// Value used where no argument is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<AnyString>,
    /// The value itself. `None` means not supplied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<AnyString>,
    /// Where the value is to be had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_from: Option<ValueFrom>,
    /// Values that a workflow argument may take.
    #[serde(rename = "enum", skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<AnyString>,
    /// What the value is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<AnyString>,
}

/// Where an output's value comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ValueFrom {
    /// File in the step whose content is the value (one trailing newline is cut).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Another parameter, as a tag such as `{{steps.a.outputs.parameters.b}}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter: Option<String>,
    /// An expr-lang expression over the template's scope.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expression: Option<String>,
    /// Value where the source is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<AnyString>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_printed_as_argo_prints_them() {
        for (json, text) in [
            ("1000", "1000"),
            ("1.10", "1.1"),
            ("12345678901234567890", "12345678901234567000"),
            ("1e21", "1000000000000000000000"),
            ("1e-7", "0.0000001"),
            ("true", "true"),
            ("[1, 2]", ""),
            ("{}", ""),
        ] {
            let value: AnyString = serde_json::from_str(json).expect(json);
            assert_eq!(value.as_str(), text);
        }
    }
}
