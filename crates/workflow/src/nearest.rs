//! The known name that a misspelt one was probably meant to be.

/// The nearest of the known names, where one is near enough to be worth saying.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = match name.chars().count() {
        0..=2 => 1,
        3..=5 => 2,
        length => (length / 3).min(4),
    };
    let folded = fold(name);
    known
        .into_iter()
        .filter(|other| *other != name && other.len().abs_diff(name.len()) <= limit + 2)
        .map(|other| (strsim::damerau_levenshtein(&folded, &fold(other)), other))
        .filter(|(distance, other)| *distance <= limit && *distance < other.chars().count())
        .min_by_key(|(distance, other)| (*distance, *other))
        .map(|(_, other)| other)
}

/// Upper case, hyphens and underscores count for nothing.
fn fold(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, '-' | '_'))
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_a_far_one_is_not() {
        let known = ["template", "templateRef", "when", "withItems"];
        assert_eq!(nearest("tempalte", known), Some("template"));
        assert_eq!(nearest("with_items", known), Some("withItems"));
        assert_eq!(nearest("Template", known), Some("template"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest("x", known), None);
    }
}
