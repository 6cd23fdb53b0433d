//! The place of a piece of text within a value.

use super::model::At;
use crate::diagnostic::Position;
use crate::read::ReadDocument;

/// Where the occurrence number `nth` (from 0) of `piece` stands within a text value. Where the
/// source spells it otherwise (escapes, folded lines), the place of the whole value.
pub(super) fn locate(read: &ReadDocument, at: &At<'_>, piece: &str, nth: usize) -> Position {
    let whole = at.node.position;
    let start = whole.offset as usize;
    let Some(raw) = read.source.get(start..start + whole.length as usize) else {
        return whole;
    };
    let Some((offset, _)) = raw.match_indices(piece).nth(nth) else {
        return whole;
    };
    let before = &raw[..offset];
    let line_start = before.rfind('\n');
    let breaks = before.matches('\n').count();
    let column = match line_start {
        Some(at) => before[at + 1..].chars().count() + 1,
        None => before.chars().count() + whole.column as usize,
    };
    let narrow = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    Position {
        line: whole.line + narrow(breaks),
        column: narrow(column),
        offset: narrow(start + offset),
        length: narrow(piece.len()),
    }
}
