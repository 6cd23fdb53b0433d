//! What is known of a template without running it: who depends on whom. A cache; it is computed
//! once per template and never stored.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use groundplan_workflow::document::{DagTemplate, Template};

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

    pub(crate) fn insert(&mut self, template: &str, shape: TemplateShape) -> Arc<TemplateShape> {
        let shape = Arc::new(shape);
        self.0.insert(template.to_owned(), Arc::clone(&shape));
        shape
    }
}

/// The tasks of a DAG and their dependencies, by place in the template.
#[derive(Clone, Debug, Default)]
pub(crate) struct TemplateShape {
    places: BTreeMap<String, usize>,
    targets: Vec<String>,
    results: BTreeSet<String>,
    dependencies: Vec<Vec<usize>>,
    dependents: Vec<Vec<usize>>,
}

impl TemplateShape {
    pub(crate) fn of(template: &Template) -> Self {
        template.dag.as_ref().map(Self::of_dag).unwrap_or_default()
    }

    fn of_dag(dag: &DagTemplate) -> Self {
        let places: BTreeMap<String, usize> = dag
            .tasks
            .iter()
            .enumerate()
            .map(|(place, task)| (task.name.clone(), place))
            .collect();
        let mut shape = TemplateShape {
            dependencies: vec![Vec::new(); dag.tasks.len()],
            dependents: vec![Vec::new(); dag.tasks.len()],
            targets: Vec::new(),
            results: BTreeSet::new(),
            places,
        };
        for (place, task) in dag.tasks.iter().enumerate() {
            for name in &task.dependencies {
                if let Some(dependency) = shape.places.get(name) {
                    shape.dependencies[place].push(*dependency);
                    shape.dependents[*dependency].push(place);
                }
            }
        }
        shape
    }

    /// Place of a task in the template.
    pub(crate) fn task(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    /// Places of the tasks that depend on this one.
    pub(crate) fn dependents(&self, task: usize) -> &[usize] {
        &self.dependents[task]
    }

    /// Where a walk over the DAG would meet a task.
    pub(crate) fn rank(&self, task: usize) -> u32 {
        u32::try_from(task).unwrap_or(u32::MAX)
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
}
