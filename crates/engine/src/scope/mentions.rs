//! Which steps or tasks a piece of a document speaks of, so that only their outputs are gathered.

use std::collections::BTreeSet;

/// The steps or tasks that a text speaks of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mentions {
    /// These, at most.
    Names(BTreeSet<String>),
    /// It can't be told before the text is evaluated.
    Any,
}

/// What a JSON text says after `steps` or `tasks` (`word`).
pub(crate) fn of(text: &str, word: &str) -> Mentions {
    let mut names = BTreeSet::new();
    if !text.contains("{{") {
        return Mentions::Names(names);
    }
    for (at, _) in text.match_indices(word) {
        let before = text[..at].chars().next_back();
        let part_of_a_word = |character: char| {
            character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '\'')
        };
        if before.is_some_and(part_of_a_word) {
            continue;
        }
        match name_after(&text[at + word.len()..]) {
            After::Name(name) => {
                names.insert(name.to_owned());
            }
            After::Unknown => return Mentions::Any,
            After::OtherWord => {}
        }
    }
    Mentions::Names(names)
}

enum After<'a> {
    Name(&'a str),
    Unknown,
    OtherWord,
}

fn name_after(text: &str) -> After<'_> {
    if let Some(rest) = text.strip_prefix('.') {
        let end = rest
            .find(|character: char| !character.is_alphanumeric() && !matches!(character, '-' | '_'))
            .unwrap_or(rest.len());
        return match &rest[..end] {
            "" => After::Unknown,
            name => After::Name(name),
        };
    }
    if let Some(rest) = text.strip_prefix('[') {
        for quote in ["'", "\\\""] {
            if let Some((name, _)) = rest
                .strip_prefix(quote)
                .and_then(|rest| rest.split_once(quote))
            {
                return After::Name(name);
            }
        }
        return After::Unknown;
    }
    let next = text.chars().next();
    if next.is_some_and(|next| next.is_alphanumeric() || matches!(next, '_' | '-')) {
        After::OtherWord
    } else {
        After::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Mentions {
        Mentions::Names(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn names_are_found_in_tags_and_expressions() {
        let find = |text| of(text, "steps");
        assert_eq!(find("no tag: steps.a"), names(&[]));
        assert_eq!(find("{{steps.a.outputs.result}}"), names(&["a"]));
        assert_eq!(
            find("{{=steps['b-c'].status + steps.d.exitCode}}"),
            names(&["b-c", "d"])
        );
        assert_eq!(find(r#"{{=steps[\"x\"].id}}"#), names(&["x"]));
        assert_eq!(find("{{inputs.parameters.steps}}"), names(&[]));
        assert_eq!(find("{{workflow.name}} footsteps stepsize"), names(&[]));
    }

    #[test]
    fn what_cannot_be_told_is_any() {
        for text in [
            "{{steps.{{inputs.parameters.x}}.status}}",
            "{{=toJson(steps)}}",
            "{{=steps[inputs.parameters.x].status}}",
            "{{=steps?.a.status}}",
        ] {
            assert_eq!(of(text, "steps"), Mentions::Any, "{text}");
        }
    }
}
