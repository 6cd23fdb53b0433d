//! A plan as `tofu show -json` and `terraform show -json` write it, as far as we look at it.
//!
//! Values stay the raw text they are, borrowed from the file; they are secret material, so nothing
//! here shows them in `Debug`.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

/// A plan. Everything optional is absent in some version of the format.
#[derive(Debug, Deserialize)]
pub struct Plan<'a> {
    /// Version of the format, such as `1.2`.
    #[serde(borrow)]
    pub format_version: Cow<'a, str>,
    /// Version of the tool.
    #[serde(borrow)]
    pub terraform_version: Option<Cow<'a, str>>,
    /// Every object that was looked at, those without a change included.
    #[serde(borrow, default, deserialize_with = "null_as_default")]
    pub resource_changes: Vec<ResourceChange<'a>>,
    /// Objects that are not as the state has them.
    #[serde(borrow, default, deserialize_with = "null_as_default")]
    pub resource_drift: Vec<ResourceChange<'a>>,
    /// Output values by name, those without a change included.
    #[serde(borrow, default, deserialize_with = "null_as_default")]
    pub output_changes: BTreeMap<Cow<'a, str>, Change<'a>>,
    /// Changes put off to a later plan (Terraform only).
    #[serde(default, deserialize_with = "null_as_default")]
    pub deferred_changes: Vec<IgnoredAny>,
    /// Actions to invoke (Terraform only).
    #[serde(default, deserialize_with = "null_as_default")]
    pub action_invocations: Vec<IgnoredAny>,
    /// Whether planning failed half-way.
    pub errored: Option<bool>,
    /// Whether applying this plan is meant to bring everything about (Terraform only).
    pub complete: Option<bool>,
    /// Whether the tool would apply it (Terraform only).
    pub applyable: Option<bool>,
    /// Present in every plan; tells a plan from other documents of the tools.
    #[serde(default)]
    pub(crate) planned_values: Option<IgnoredAny>,
    /// Present in a state.
    #[serde(default)]
    pub(crate) values: Option<IgnoredAny>,
}

/// A change of one object.
#[derive(Debug, Deserialize)]
pub struct ResourceChange<'a> {
    /// Where the object is in the configuration.
    #[serde(borrow)]
    pub address: Cow<'a, str>,
    /// Where it was before a move.
    #[serde(borrow)]
    pub previous_address: Option<Cow<'a, str>>,
    /// `managed` or `data`.
    #[serde(borrow)]
    pub mode: Option<Cow<'a, str>>,
    /// Key of an object that was put aside by a replacement that failed.
    #[serde(borrow)]
    pub deposed: Option<Cow<'a, str>>,
    /// Why, in a word of the format.
    #[serde(borrow)]
    pub action_reason: Option<Cow<'a, str>>,
    /// What changes.
    #[serde(borrow)]
    pub change: Change<'a>,
}

/// What changes of an object or output.
#[derive(Deserialize)]
pub struct Change<'a> {
    /// What is done.
    pub actions: Action,
    /// The value before.
    #[serde(borrow)]
    pub before: Option<&'a RawValue>,
    /// The value after, as far as it is known.
    #[serde(borrow)]
    pub after: Option<&'a RawValue>,
    /// `true` in the place of what is not known yet.
    #[serde(borrow)]
    pub after_unknown: Option<&'a RawValue>,
    /// `true` in the place of what is sensitive in `before`.
    #[serde(borrow)]
    pub before_sensitive: Option<&'a RawValue>,
    /// `true` in the place of what is sensitive in `after`.
    #[serde(borrow)]
    pub after_sensitive: Option<&'a RawValue>,
    /// Paths that force a replacement.
    #[serde(borrow)]
    pub replace_paths: Option<&'a RawValue>,
    /// Present where the object is taken over from outside.
    pub importing: Option<IgnoredAny>,
}

impl fmt::Debug for Change<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Change")
            .field("actions", &self.actions)
            .field("importing", &self.importing)
            .finish_non_exhaustive()
    }
}

/// What is done to an object. In order of danger.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// It is destroyed.
    Delete,
    /// It is destroyed, then made anew.
    DeleteThenCreate,
    /// It is made anew, then the old one is destroyed.
    CreateThenDelete,
    /// It is left alone outside and forgotten, then made anew.
    ForgetThenCreate,
    /// It is changed in place.
    Update,
    /// It is made.
    Create,
    /// It is left alone outside and forgotten.
    Forget,
    /// Something that we don't know, in the words of the plan.
    Other(String),
    /// It is read during the apply.
    Read,
    /// Nothing.
    NoOp,
}

impl Action {
    fn from_words(words: &[Cow<'_, str>]) -> Self {
        let words: Vec<&str> = words.iter().map(|word| &**word).collect();
        match words[..] {
            ["no-op"] => Action::NoOp,
            ["create"] => Action::Create,
            ["read"] => Action::Read,
            ["update"] => Action::Update,
            ["delete"] => Action::Delete,
            ["delete", "create"] => Action::DeleteThenCreate,
            ["create", "delete"] => Action::CreateThenDelete,
            ["forget"] => Action::Forget,
            ["forget", "create"] => Action::ForgetThenCreate,
            _ => Action::Other(words.join(" then ")),
        }
    }
}

impl<'de> Deserialize<'de> for Action {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;
        impl<'de> Visitor<'de> for Words {
            type Value = Action;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of action words")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Action, A::Error> {
                let mut words: Vec<Cow<'de, str>> = Vec::with_capacity(2);
                while let Some(word) = items.next_element()? {
                    words.push(word);
                }
                Ok(Action::from_words(&words))
            }
        }
        deserializer.deserialize_seq(Words)
    }
}

fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
