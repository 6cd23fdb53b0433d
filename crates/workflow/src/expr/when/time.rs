//! Which quoted texts count as times.

use crate::expr::expression::parse_time;

const LAYOUTS: [&str; 13] = [
    "Mon Jan _2 15:04:05 2006",
    "Mon Jan _2 15:04:05 MST 2006",
    "Mon Jan 02 15:04:05 -0700 2006",
    "3:04PM",
    "2006-01-02T15:04:05Z07:00",
    "2006-01-02",
    "2006-01-02 15:04",
    "2006-01-02 15:04:05",
    "2006-01-02 15:04:05-07:00",
    "2006-01-02T15Z0700",
    "2006-01-02T15:04Z0700",
    "2006-01-02T15:04:05Z0700",
    "2006-01-02T15:04:05.999999999Z0700",
];

/// Seconds since 1970, if a text looks like a date.
pub(super) fn seconds(text: &str) -> Option<f64> {
    LAYOUTS
        .into_iter()
        .find_map(|layout| parse_time(text, layout))
        .map(|time| time.at.as_second() as f64)
}
