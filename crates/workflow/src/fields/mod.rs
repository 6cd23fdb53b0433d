//! Which fields Argo's documents have: a table printed from Argo's own types, and a short one by
//! hand for what came later or was removed.
//!
//! `argo.tsv` is written by `cargo xtask argo-fields` and never edited. Its first line names the
//! version of Argo. A line holds a type, a field and what the field takes.

mod check;
mod later;

use std::collections::BTreeMap;
use std::sync::LazyLock;

pub(crate) use check::check;
use later::{LATER, Origin};

/// What a field takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Text only.
    Text,
    /// An integer only.
    Int,
    /// Any number.
    Float,
    /// True or false only.
    Bool,
    /// Text, number or boolean, taken as text.
    AnyString,
    /// An integer, or text.
    IntOrString,
    /// A Kubernetes quantity: text or a number.
    Quantity,
    /// Whatever JSON can hold.
    Any,
    /// A Kubernetes type that is not looked into: a map.
    Subtree,
    /// A list.
    List(Box<Shape>),
    /// A map with free keys.
    Map(Box<Shape>),
    /// A type of the table.
    Struct(&'static str),
}

/// One field of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it takes.
    pub(crate) shape: Shape,
    /// Where it comes from.
    pub(crate) origin: Origin,
}

/// Types by name, each with its fields in Argo's order.
pub(crate) type Table = BTreeMap<&'static str, Vec<Field>>;

/// The table as it was printed.
const ARGO: &str = include_str!("argo.tsv");

/// Every type of Argo's documents.
pub(crate) static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table::new();
    for line in ARGO.lines().filter(|line| !line.starts_with('#')) {
        let mut columns = line.split('\t');
        let (Some(owner), Some(name), Some(shape)) =
            (columns.next(), columns.next(), columns.next())
        else {
            unreachable!("a line of the committed table has three columns: {line}");
        };
        table.entry(owner).or_default().push(Field {
            name,
            shape: parse_shape(shape),
            origin: Origin::Argo,
        });
    }
    for extra in LATER {
        table.entry(extra.owner).or_default().push(Field {
            name: extra.name,
            shape: parse_shape(extra.shape),
            origin: extra.origin,
        });
    }
    table
});

/// The field of a type, where it has it.
pub(crate) fn field(owner: &str, name: &str) -> Option<&'static Field> {
    TABLE.get(owner)?.iter().find(|field| field.name == name)
}

fn parse_shape(text: &'static str) -> Shape {
    if let Some(inner) = text.strip_prefix("list ") {
        return Shape::List(Box::new(parse_shape(inner)));
    }
    if let Some(inner) = text.strip_prefix("map ") {
        return Shape::Map(Box::new(parse_shape(inner)));
    }
    match text {
        "string" | "time" | "bytes" => Shape::Text,
        "int" => Shape::Int,
        "float" => Shape::Float,
        "bool" => Shape::Bool,
        "anystring" => Shape::AnyString,
        "intorstring" => Shape::IntOrString,
        "quantity" => Shape::Quantity,
        "any" => Shape::Any,
        _ if text.starts_with("subtree ") => Shape::Subtree,
        _ => Shape::Struct(text),
    }
}

/// The type that a shape leads to, through lists and maps.
pub(crate) fn struct_of(shape: &Shape) -> Option<&'static str> {
    match shape {
        Shape::List(inner) | Shape::Map(inner) => struct_of(inner),
        Shape::Struct(name) => Some(name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_of_the_pinned_version_and_knows_every_type_it_names() {
        assert!(ARGO.starts_with("# github.com/argoproj/argo-workflows/v4 v4.0.5\n"));
        // Structs without fields have no line of their own.
        let empty = [
            "argo.NoneStrategy",
            "argo.RetryNodeAntiAffinity",
            "argo.SuppliedValueFrom",
            "argo.ZipStrategy",
        ];
        for (owner, fields) in TABLE.iter() {
            for field in fields {
                if let Some(name) = struct_of(&field.shape) {
                    assert!(
                        TABLE.contains_key(name) || empty.contains(&name),
                        "{owner}.{} leads to {name}",
                        field.name
                    );
                }
            }
        }
    }

    #[test]
    fn fields_of_the_hand_table_are_not_in_the_printed_one() {
        for extra in LATER {
            let line = format!("\n{}\t{}\t", extra.owner, extra.name);
            assert!(!ARGO.contains(&line), "{line}");
        }
    }
}
