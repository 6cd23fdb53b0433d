//! Values to bytes and back. A text of more than 16 KB goes to the blobs and leaves its digest.

use std::collections::BTreeMap;

use groundplan_ports::blobs::{Blobs, Digest};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::error::{Error, While};

/// Texts longer than this many bytes are kept as blobs.
const LARGE: usize = 16 * 1024;
/// Key of the object that stands for a large text.
const BLOB: &str = "$blob";
/// Key of the object that stands for an author's object which looks like one of ours.
const QUOTED: &str = "$quoted";

/// Encodes a value, putting large texts into the blobs.
pub(crate) async fn encode<T: Serialize + Sync>(
    value: &T,
    blobs: &dyn Blobs,
) -> Result<Vec<u8>, Error> {
    let bytes = serde_json::to_vec(value).expect("our values always have a JSON form");
    if bytes.len() <= LARGE && !holds_marker(&bytes) {
        return Ok(bytes);
    }
    let tree: Value = serde_json::from_slice(&bytes).expect("what was just written can be read");
    let mut digests = BTreeMap::new();
    for text in large_texts(&tree) {
        let digest = blobs
            .put(text.as_bytes())
            .await
            .doing(|| "cannot store a large value".to_owned())?;
        digests.insert(text.to_owned(), digest.0);
    }
    Ok(serde_json::to_vec(&lifted(tree, &digests)).expect("a tree always has a JSON form"))
}

/// Decodes a value, fetching large texts from the blobs. `what` and `aggregate` name it in errors.
pub(crate) async fn decode<T: DeserializeOwned>(
    bytes: &[u8],
    blobs: &dyn Blobs,
    what: &str,
    aggregate: &str,
) -> Result<T, Error> {
    let undecodable = |source| Error::Undecodable {
        what: what.to_owned(),
        aggregate: aggregate.to_owned(),
        source,
    };
    if !holds_marker(bytes) {
        return serde_json::from_slice(bytes).map_err(undecodable);
    }
    let mut tree: Value = serde_json::from_slice(bytes).map_err(undecodable)?;
    let mut wanted = Vec::new();
    digests(&tree, &mut wanted);
    let mut texts = BTreeMap::new();
    for digest in wanted {
        let bytes = blobs
            .get(&digest)
            .await
            .doing(|| format!("cannot read a large value of `{aggregate}`"))?;
        texts.insert(digest.0, String::from_utf8_lossy(&bytes).into_owned());
    }
    lower(&mut tree, &texts);
    serde_json::from_value(tree).map_err(undecodable)
}

fn holds_marker(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    text.contains(BLOB) || text.contains(QUOTED)
}

fn large_texts(tree: &Value) -> Vec<&str> {
    match tree {
        Value::String(text) if text.len() > LARGE => vec![text],
        Value::Array(items) => items.iter().flat_map(large_texts).collect(),
        Value::Object(members) => members.values().flat_map(large_texts).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

fn lifted(tree: Value, digests: &BTreeMap<String, String>) -> Value {
    let object = |key: &str, value: Value| Value::Object(Map::from_iter([(key.to_owned(), value)]));
    match tree {
        Value::String(text) => match digests.get(&text) {
            Some(digest) => object(BLOB, Value::String(digest.clone())),
            None => Value::String(text),
        },
        Value::Array(items) => Value::Array(
            items
                .into_iter()
                .map(|item| lifted(item, digests))
                .collect(),
        ),
        Value::Object(members) => {
            let ours =
                members.len() == 1 && (members.contains_key(BLOB) || members.contains_key(QUOTED));
            let members = Value::Object(
                members
                    .into_iter()
                    .map(|(key, value)| (key, lifted(value, digests)))
                    .collect(),
            );
            if ours {
                object(QUOTED, members)
            } else {
                members
            }
        }
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => plain,
    }
}

fn digests(tree: &Value, found: &mut Vec<Digest>) {
    match tree {
        Value::Array(items) => items.iter().for_each(|item| digests(item, found)),
        Value::Object(members) => match (members.len(), members.get(BLOB), members.get(QUOTED)) {
            (1, Some(Value::String(digest)), _) => found.push(Digest(digest.clone())),
            (1, _, Some(Value::Object(quoted))) => {
                quoted.values().for_each(|value| digests(value, found))
            }
            _ => members.values().for_each(|value| digests(value, found)),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn lower(tree: &mut Value, texts: &BTreeMap<String, String>) {
    match tree {
        Value::Array(items) => items.iter_mut().for_each(|item| lower(item, texts)),
        Value::Object(members) => {
            let replacement = match (members.len(), members.get(BLOB)) {
                (1, Some(Value::String(digest))) => texts.get(digest).cloned().map(Value::String),
                _ => None,
            };
            if let Some(text) = replacement {
                *tree = text;
            } else if members.len() == 1
                && let Some(Value::Object(quoted)) = members.get_mut(QUOTED)
            {
                let mut quoted = std::mem::take(quoted);
                quoted.values_mut().for_each(|value| lower(value, texts));
                *tree = Value::Object(quoted);
            } else {
                members.values_mut().for_each(|value| lower(value, texts));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use groundplan_testkit::memory::MemoryBlobs;

    use super::*;

    async fn there_and_back(value: &Value) -> (Vec<u8>, Value) {
        let blobs = MemoryBlobs::default();
        let bytes = encode(value, &blobs)
            .await
            .expect("blobs in memory take everything");
        let back = decode(&bytes, &blobs, "value", "test")
            .await
            .expect("what was written can be read");
        (bytes, back)
    }

    #[tokio::test]
    async fn large_texts_leave_their_digest_and_come_back() {
        let large = "x".repeat(LARGE + 1);
        let value =
            serde_json::json!({"small": "y", "large": [large.clone()], "twice": {"large": large}});
        let (bytes, back) = there_and_back(&value).await;
        assert!(
            bytes.len() < 1000,
            "the text stayed inside: {} bytes",
            bytes.len()
        );
        assert_eq!(back, value);
    }

    #[tokio::test]
    async fn objects_that_look_like_ours_are_not_taken_for_ours() {
        for value in [
            serde_json::json!({"$blob": "sha256:00"}),
            serde_json::json!({"$quoted": {"$blob": "sha256:00"}}),
            serde_json::json!({"$blob": {"a": 1}}),
            serde_json::json!([{"$blob": 1, "b": "$quoted"}]),
        ] {
            assert_eq!(there_and_back(&value).await.1, value);
        }
    }

    #[tokio::test]
    async fn a_blob_that_is_gone_is_an_error_that_names_whose_it_was() {
        let large = Value::String("x".repeat(LARGE + 1));
        let bytes = encode(&large, &MemoryBlobs::default())
            .await
            .expect("stored");
        let lost = decode::<Value>(&bytes, &MemoryBlobs::default(), "event", "run-7").await;
        assert_eq!(
            lost.expect_err("the blob is not there").to_string(),
            "cannot read a large value of `run-7`"
        );
    }
}
