//! Orders that follow from dependencies.

use std::collections::{BTreeMap, BTreeSet};

/// All tasks that `task` depends on, directly or not. Cycles and unknown names do no harm.
pub fn ancestors<'a>(
    task: &'a str,
    dependencies: &'a BTreeMap<String, BTreeSet<String>>,
) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open = vec![task];
    while let Some(next) = open.pop() {
        for name in dependencies.get(next).into_iter().flatten() {
            if name != task && found.insert(name.as_str()) {
                open.push(name);
            }
        }
    }
    found
}

/// Tasks so ordered that each comes after what it depends on; otherwise in the order given.
/// `Err` holds the tasks of one cycle, in the order in which each depends on the next.
pub fn sort<'a>(
    tasks: &[&'a str],
    dependencies: &'a BTreeMap<String, BTreeSet<String>>,
) -> Result<Vec<&'a str>, Vec<&'a str>> {
    let known: BTreeSet<&str> = tasks.iter().copied().collect();
    let mut sorted = Vec::with_capacity(tasks.len());
    let mut done = BTreeSet::new();
    for task in tasks {
        // Each entry of the path: a task, and its dependencies that are still to be looked at.
        let mut path: Vec<(&str, Vec<&str>)> = Vec::new();
        let mut on_path = BTreeSet::from([*task]);
        if !done.contains(task) {
            path.push((task, pending(task, dependencies)));
        }
        while let Some((current, open)) = path.last_mut() {
            let Some(next) = open.pop() else {
                on_path.remove(*current);
                done.insert(*current);
                sorted.push(*current);
                path.pop();
                continue;
            };
            if done.contains(next) || !known.contains(next) {
                continue;
            }
            if !on_path.insert(next) {
                let start = path.iter().position(|(name, _)| *name == next).unwrap_or(0);
                return Err(path[start..].iter().map(|(name, _)| *name).collect());
            }
            path.push((next, pending(next, dependencies)));
        }
    }
    Ok(sorted)
}

/// Direct dependencies, the first to be looked at last.
fn pending<'a>(task: &str, dependencies: &'a BTreeMap<String, BTreeSet<String>>) -> Vec<&'a str> {
    dependencies
        .get(task)
        .into_iter()
        .flatten()
        .rev()
        .map(String::as_str)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(&str, &[&str])]) -> BTreeMap<String, BTreeSet<String>> {
        let names = |on: &[&str]| on.iter().map(|name| (*name).to_owned()).collect();
        edges
            .iter()
            .map(|(task, on)| ((*task).to_owned(), names(on)))
            .collect()
    }

    #[test]
    fn tasks_come_after_what_they_depend_on() {
        let graph = graph(&[("c", &["a", "b"]), ("b", &["a"]), ("a", &[])]);
        assert_eq!(sort(&["c", "b", "a"], &graph), Ok(vec!["a", "b", "c"]));
    }

    #[test]
    fn a_cycle_is_named_in_its_order() {
        let graph = graph(&[("a", &["b"]), ("b", &["c"]), ("c", &["a"]), ("d", &["a"])]);
        assert_eq!(
            sort(&["d", "a", "b", "c"], &graph),
            Err(vec!["a", "b", "c"])
        );
        assert_eq!(ancestors("a", &graph), BTreeSet::from(["b", "c"]));
    }

    #[test]
    fn a_chain_of_ten_thousand_does_not_overflow() {
        let name = |i: usize| format!("t{i}");
        let graph: BTreeMap<_, _> = (0..10_000)
            .map(|i| (name(i), BTreeSet::from([name(i + 1)])))
            .collect();
        let names: Vec<_> = (0..=10_000).map(name).collect();
        let tasks: Vec<_> = names.iter().map(String::as_str).collect();
        assert_eq!(sort(&tasks, &graph).expect("no cycle")[0], "t10000");
    }
}
