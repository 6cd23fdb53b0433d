//! Faults of the notation itself, in our words.

use granit_parser::ErrorKind;

/// A message and the way out for a fault that the parser found.
pub(crate) fn explain(kind: &ErrorKind) -> (String, Option<String>) {
    let (message, hint) = match kind {
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabAtBlockScalarStart => (
            "a tab stands where indentation is read",
            "indent with spaces",
        ),
        ErrorKind::UnclosedQuotedScalar | ErrorKind::DocumentIndicatorInQuotedScalar => {
            ("a quotation is not closed", "add the closing quote")
        }
        ErrorKind::UnexpectedEofFlowSequence => {
            ("a list in `[` is not closed", "add the closing `]`")
        }
        ErrorKind::UnexpectedEofFlowMapping | ErrorKind::UnexpectedEofImplicitFlowMapping => {
            ("a map in `{` is not closed", "add the closing `}`")
        }
        ErrorKind::UnclosedFlowCollection { open } => {
            return (
                format!("a value in `{open}` is not closed"),
                Some("add the closing bracket; quote a text that begins with a bracket".to_owned()),
            );
        }
        ErrorKind::MismatchedFlowCollectionEnd { open, close } => {
            return (
                format!("a value in `{open}` is closed by `{close}`"),
                Some("use the matching bracket".to_owned()),
            );
        }
        ErrorKind::ExpectedFlowMappingSeparator | ErrorKind::ExpectedFlowSequenceSeparator => (
            "between brackets, `,` or the closing bracket is missing",
            "quote a text that begins with a tag, such as `\"{{inputs.parameters.x}}\"`",
        ),
        ErrorKind::MappingValueNotAllowed => (
            "`:` makes a key where none can stand",
            "check the indentation of this line, and quote a text that holds `: `",
        ),
        ErrorKind::InvalidIndentation | ErrorKind::ExpectedBlockMappingKey => (
            "this line does not fit the indentation of the lines before it",
            "line it up with the keys of the same map",
        ),
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => (
            "a key without `:`",
            "write `key: value`, with a space after `:`",
        ),
        ErrorKind::ExpectedBlockSequenceEntry | ErrorKind::BlockSequenceEntryNotAllowed => (
            "`-` stands where no list item can",
            "line it up with the other items of the list",
        ),
        ErrorKind::UnexpectedCharacter { character } => {
            return (
                format!("`{character}` cannot begin a value"),
                Some("quote the text".to_owned()),
            );
        }
        ErrorKind::RecursionLimitExceeded => (
            "values nest too deeply",
            "no document that Argo takes nests like this",
        ),
        ErrorKind::UnknownQuotedScalarEscape => (
            "an unknown escape in double quotes",
            "write `\\\\` for a backslash, or use single quotes",
        ),
        ErrorKind::BomInsideDocument => (
            "a byte order mark within the document",
            "remove the invisible character",
        ),
        other => return (format!("invalid YAML: {other}"), None),
    };
    (message.to_owned(), Some(hint.to_owned()))
}
