//! How the results of a fan-out join into one value. Give only children that succeeded, in item
//! order, without hooks and retry attempts.

use std::collections::BTreeMap;

use super::go_json::{self, JsonError};

/// `outputs.parameters.<name>` of a fan-out: where **every** value is a JSON list or map they are
/// embedded as such, otherwise the list holds strings.
pub fn values<S: AsRef<str>>(values: &[S]) -> String {
    match structured(values) {
        Some(decoded) => {
            let texts: Vec<_> = decoded.iter().map(go_json::print).collect();
            format!("[{}]", texts.join(","))
        }
        None => {
            let texts: Vec<_> = values
                .iter()
                .map(|text| go_json::quote(text.as_ref()))
                .collect();
            format!("[{}]", texts.join(","))
        }
    }
}

/// The decoded values, if every one is a JSON list or map.
pub fn structured<S: AsRef<str>>(values: &[S]) -> Option<Vec<serde_json::Value>> {
    values
        .iter()
        .map(|text| {
            let text = text.as_ref().trim();
            if !text.starts_with(['[', '{']) {
                return None;
            }
            serde_json::from_str(text).ok()
        })
        .collect()
}

/// `outputs.result` of a fan-out: each child's result parsed as JSON. A result that is no JSON is
/// an error, as with Argo, where the whole node then ends in Error.
pub fn results<S: AsRef<str>>(results: &[S]) -> Result<String, JsonError> {
    let texts: Result<Vec<_>, _> = results
        .iter()
        .map(|text| go_json::compact(text.as_ref()))
        .collect();
    Ok(format!("[{}]", texts?.join(",")))
}

/// `outputs.parameters` of a fan-out: a list of maps from name to value.
pub fn parameters(children: &[BTreeMap<String, String>]) -> String {
    let child = |values: &BTreeMap<String, String>| {
        let pairs: Vec<_> = values
            .iter()
            .map(|(name, value)| format!("{}:{}", go_json::quote(name), go_json::quote(value)))
            .collect();
        format!("{{{}}}", pairs.join(","))
    };
    let children: Vec<_> = children.iter().map(child).collect();
    format!("[{}]", children.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_parsed_and_keep_their_digits() {
        assert_eq!(
            results(&["1", " 2.50 ", "\"a\""]).as_deref(),
            Ok("[1,2.50,\"a\"]")
        );
        assert_eq!(results::<&str>(&[]).as_deref(), Ok("[]"));
        assert_eq!(
            results(&["1", "a: b"]).expect_err("plain text").to_string(),
            "invalid character 'a' looking for beginning of value"
        );
    }

    #[test]
    fn parameters_join_as_maps() {
        let child = |value: &str| BTreeMap::from([("p".to_owned(), value.to_owned())]);
        assert_eq!(
            parameters(&[child("1"), child("a\"b")]),
            "[{\"p\":\"1\"},{\"p\":\"a\\\"b\"}]"
        );
    }

    #[test]
    fn one_plain_value_makes_all_of_them_strings() {
        assert_eq!(values(&["[1]", "x"]), "[\"[1]\",\"x\"]");
        assert_eq!(
            values(&["[1]", "{\"b\":1,\"a\":2}"]),
            "[[1],{\"a\":2,\"b\":1}]"
        );
    }
}
