//! What is known of a template without running it: who depends on whom, in which order a walk
//! meets the tasks, whose results are referred to. A cache; it is computed once per template and
//! never stored.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use groundplan_workflow::{
    document::{DagTask, DagTemplate, Template, WorkflowStep},
    expr::depends::Depends,
};

/// Shapes of the templates seen so far. Being a cache, any two are equal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shapes(BTreeMap<String, Arc<TemplateShape>>);

impl PartialEq for Shapes {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Shapes {
    pub(crate) fn get(&self, template: &str) -> Option<Arc<TemplateShape>> {
        self.0.get(template).cloned()
    }

    pub(crate) fn insert(
        &mut self,
        template: &str,
        shape: Arc<TemplateShape>,
    ) -> Arc<TemplateShape> {
        self.0.insert(template.to_owned(), Arc::clone(&shape));
        shape
    }
}

/// What one template is like. Tasks are named by their place in the template.
#[derive(Clone, Debug, Default)]
pub(crate) struct TemplateShape {
    /// Whether it is a leaf.
    pub(crate) is_leaf: bool,
    /// Names and paths of the outputs that are files.
    pub(crate) output_paths: Vec<(String, String)>,
    /// The groups of steps.
    pub(crate) groups: Vec<Vec<WorkflowStep>>,
    /// The tasks of a DAG.
    pub(crate) tasks: Vec<DagTask>,
    /// Whether the first failed target decides how the DAG ends, not the last.
    pub(crate) fail_fast: bool,
    /// Place of each task; or group of each step.
    places: BTreeMap<String, usize>,
    /// Names of the tasks that the DAG ends with.
    targets: Vec<String>,
    /// Steps or tasks whose `outputs.result` the text mentions.
    results: BTreeSet<String>,
    logic: Vec<Result<Depends, String>>,
    dependencies: Vec<Vec<usize>>,
    dependents: Vec<Vec<usize>>,
    /// Where a walk from the targets down would meet each task; `None` for those it never meets.
    ranks: Vec<Option<u32>>,
}

impl TemplateShape {
    pub(crate) fn of(template: &Template) -> Self {
        let shape = match (&template.dag, &template.steps) {
            (Some(dag), _) => Self::of_dag(dag, mentioned_results(template, "tasks")),
            (None, Some(groups)) => Self::of_steps(groups, mentioned_results(template, "steps")),
            (None, None) => TemplateShape::default(),
        };
        let outputs = template.outputs.parameters.iter();
        TemplateShape {
            is_leaf: template.container.is_some() || template.script.is_some(),
            output_paths: outputs
                .filter_map(|output| {
                    let path = output.value_from.as_ref()?.path.clone()?;
                    Some((output.name.clone(), path))
                })
                .collect(),
            ..shape
        }
    }

    fn of_steps(groups: &[Vec<WorkflowStep>], results: BTreeSet<String>) -> Self {
        let mut places = BTreeMap::new();
        for (group, steps) in groups.iter().enumerate() {
            places.extend(steps.iter().map(|step| (step.name.clone(), group)));
        }
        TemplateShape {
            groups: groups.to_vec(),
            places,
            results,
            ..TemplateShape::default()
        }
    }

    fn of_dag(dag: &DagTemplate, results: BTreeSet<String>) -> Self {
        let places: BTreeMap<String, usize> = dag
            .tasks
            .iter()
            .enumerate()
            .map(|(place, task)| (task.name.clone(), place))
            .collect();
        let logic: Vec<_> = dag
            .tasks
            .iter()
            .map(|task| logic_of(task, &places))
            .collect();
        let mut dependents = vec![Vec::new(); dag.tasks.len()];
        let mut dependencies = vec![Vec::new(); dag.tasks.len()];
        for (place, logic) in logic.iter().enumerate() {
            let Ok(logic) = logic else { continue };
            for dependency in logic
                .names()
                .into_iter()
                .filter_map(|name| places.get(name))
            {
                dependencies[place].push(*dependency);
                dependents[*dependency].push(place);
            }
        }
        let targets = targets_of(dag, &dependents);
        let ranks = ranks_of(&targets, &places, &dependencies);
        TemplateShape {
            places,
            tasks: dag.tasks.clone(),
            fail_fast: dag.fail_fast.unwrap_or(true),
            targets,
            results,
            logic,
            dependencies,
            dependents,
            ranks,
            ..TemplateShape::default()
        }
    }

    /// Place of a task in the template.
    pub(crate) fn task(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    /// Name of the task at a place.
    pub(crate) fn name_of(&self, task: usize) -> Option<&str> {
        self.tasks.get(task).map(|task| task.name.as_str())
    }

    /// Number of the group that a step belongs to.
    pub(crate) fn group_of(&self, step: &str) -> Option<usize> {
        self.places.get(step).copied()
    }

    /// Names of all tasks or steps, by name.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &str> {
        self.places.keys().map(String::as_str)
    }

    /// When a task may start; `Err` says what is wrong with its `depends`.
    pub(crate) fn logic(&self, task: usize) -> &Result<Depends, String> {
        &self.logic[task]
    }

    /// Places of the tasks that this one depends on, by name.
    pub(crate) fn dependencies(&self, task: usize) -> &[usize] {
        &self.dependencies[task]
    }

    /// Places of the tasks that depend on this one.
    pub(crate) fn dependents(&self, task: usize) -> &[usize] {
        &self.dependents[task]
    }

    /// Where a walk over the DAG would meet a task; `None` if no target needs it.
    pub(crate) fn rank(&self, task: usize) -> Option<u32> {
        self.ranks.get(task).copied().flatten()
    }

    /// Places of the tasks that depend on none, in the order of a walk.
    pub(crate) fn first_tasks(&self) -> impl Iterator<Item = (u32, usize)> {
        self.dependencies
            .iter()
            .enumerate()
            .filter(|(_, dependencies)| dependencies.is_empty())
            .filter_map(|(task, _)| self.rank(task).map(|rank| (rank, task)))
    }

    /// Whether the template's text mentions the `outputs.result` of a step or task.
    pub(crate) fn wants_result_of(&self, call: &str) -> bool {
        self.results.contains(call)
    }

    /// Names of the tasks that the DAG ends with, in the order in which they are looked at.
    pub(crate) fn targets(&self) -> impl Iterator<Item = &str> {
        self.targets.iter().map(String::as_str)
    }

    /// For each task, how many others it depends on.
    pub(crate) fn dependency_counts(&self) -> Vec<u32> {
        self.dependencies
            .iter()
            .map(|dependencies| u32::try_from(dependencies.len()).unwrap_or(u32::MAX))
            .collect()
    }

    /// Whether a task comes, directly or not, before another.
    pub(crate) fn is_before(&self, earlier: usize, later: usize) -> bool {
        if self.dependencies[later].contains(&earlier) {
            return true;
        }
        self.all_before(later).contains(&earlier)
    }

    /// All tasks that come before one.
    pub(crate) fn all_before(&self, task: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut left = self.dependencies[task].clone();
        while let Some(next) = left.pop() {
            if found.insert(next) {
                left.extend(&self.dependencies[next]);
            }
        }
        found
    }
}

fn logic_of(task: &DagTask, places: &BTreeMap<String, usize>) -> Result<Depends, String> {
    let logic = if task.depends.is_empty() {
        Depends::all_of(&task.dependencies)
    } else {
        Depends::parse(&task.depends).map_err(|fault| fault.to_string())?
    };
    let unknown = logic
        .names()
        .into_iter()
        .find(|name| !places.contains_key(*name))
        .map(|name| format!("task `{}` depends on `{name}`, which is no task", task.name));
    match unknown {
        Some(message) => Err(message),
        None => Ok(logic),
    }
}

fn targets_of(dag: &DagTemplate, dependents: &[Vec<usize>]) -> Vec<String> {
    if !dag.target.is_empty() {
        return dag.target.split_whitespace().map(str::to_owned).collect();
    }
    let leaves: BTreeSet<&String> = dag
        .tasks
        .iter()
        .zip(dependents)
        .filter(|(_, dependents)| dependents.is_empty())
        .map(|(task, _)| &task.name)
        .collect();
    leaves.into_iter().cloned().collect()
}

/// Numbers the tasks as a walk from the targets meets them: dependencies first, by name.
fn ranks_of(
    targets: &[String],
    places: &BTreeMap<String, usize>,
    dependencies: &[Vec<usize>],
) -> Vec<Option<u32>> {
    let mut ranks = vec![None; dependencies.len()];
    let mut entered = vec![false; dependencies.len()];
    let mut next = 0;
    for target in targets.iter().filter_map(|target| places.get(target)) {
        let mut walk = vec![(*target, 0)];
        entered[*target] = true;
        while let Some((task, at)) = walk.last_mut() {
            match dependencies[*task].get(*at) {
                Some(dependency) => {
                    *at += 1;
                    let dependency = *dependency;
                    if !entered[dependency] {
                        entered[dependency] = true;
                        walk.push((dependency, 0));
                    }
                }
                None => {
                    if ranks[*task].is_none() {
                        ranks[*task] = Some(next);
                        next += 1;
                    }
                    walk.pop();
                }
            }
        }
    }
    ranks
}

/// Steps or tasks whose `outputs.result` the template's text mentions.
fn mentioned_results(template: &Template, word: &str) -> BTreeSet<String> {
    const RESULT: &str = ".outputs.result";
    let text = serde_json::to_string(template).unwrap_or_default();
    text.match_indices(RESULT)
        .filter_map(|(at, _)| name_before(&text[..at], word))
        .map(str::to_owned)
        .collect()
}

/// The name that a text ends with, as `word.name` or `word['name']`.
fn name_before<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    if let Some(inner) = text.strip_suffix(']') {
        for quote in ["\\\"", "'"] {
            let Some(inner) = inner.strip_suffix(quote) else {
                continue;
            };
            let (before, name) = inner.rsplit_once(quote)?;
            return before.strip_suffix('[')?.ends_with(word).then_some(name);
        }
        return None;
    }
    let is_part = |character: char| character.is_alphanumeric() || matches!(character, '-' | '_');
    let before = text.trim_end_matches(is_part);
    let name = &text[before.len()..];
    let before = before.strip_suffix('.')?;
    (!name.is_empty() && before.ends_with(word)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(tasks: &[(&str, &str)], target: &str) -> TemplateShape {
        let tasks = tasks
            .iter()
            .map(|(name, depends)| DagTask {
                name: (*name).to_owned(),
                depends: (*depends).to_owned(),
                ..DagTask::default()
            })
            .collect();
        TemplateShape::of(&Template {
            dag: Some(DagTemplate {
                target: target.to_owned(),
                tasks,
                fail_fast: None,
            }),
            ..Template::default()
        })
    }

    fn walk(shape: &TemplateShape) -> Vec<&str> {
        let mut order: Vec<_> = shape
            .calls()
            .filter_map(|name| Some((shape.rank(shape.task(name)?)?, name)))
            .collect();
        order.sort_unstable();
        order.into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn a_walk_meets_dependencies_first_and_siblings_by_name() {
        let shape = shape(&[("z", "b && a"), ("b", "c"), ("a", ""), ("c", "")], "");
        assert_eq!(walk(&shape), ["a", "c", "b", "z"]);
        assert_eq!(shape.targets().collect::<Vec<_>>(), ["z"]);
    }

    #[test]
    fn a_target_leaves_out_what_it_does_not_need() {
        let shape = shape(&[("a", ""), ("b", "a"), ("c", "a"), ("d", "")], "b");
        assert_eq!(walk(&shape), ["a", "b"]);
        assert_eq!(shape.first_tasks().count(), 1);
    }

    #[test]
    fn unknown_tasks_and_bad_logic_are_told() {
        let shape = shape(&[("a", "nope"), ("b", "a &&")], "");
        assert_eq!(
            shape.logic(0).as_ref().expect_err("unknown"),
            "task `a` depends on `nope`, which is no task"
        );
        assert!(shape.logic(1).is_err());
    }

    #[test]
    fn results_are_found_in_tags_and_expressions() {
        for (text, name) in [
            ("{{steps.gen.outputs.result", Some("gen")),
            ("{{ steps.gen-1.outputs.result", Some("gen-1")),
            ("{{=steps['gen-1'].outputs.result", Some("gen-1")),
            ("{{=steps[\\\"g\\\"].outputs.result", Some("g")),
            ("{{tasks.gen.outputs.result", None),
            ("x.outputs.result", None),
        ] {
            let before = text.strip_suffix(".outputs.result").expect("the suffix");
            assert_eq!(name_before(before, "steps"), name, "{text}");
        }
    }
}
