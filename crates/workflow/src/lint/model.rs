//! Documents as rules see them: templates, calls, named lists, each with its place.

use std::collections::BTreeMap;

use crate::diagnostic::Position;
use crate::read::{Kind, Node, NodeValue, Path, ReadDocument};

/// A value of the tree with its path.
#[derive(Clone, Debug)]
pub(super) struct At<'a> {
    pub(super) node: &'a Node,
    pub(super) path: Path,
}

impl<'a> At<'a> {
    /// The value under a key, where it is there and not null.
    pub(super) fn get(&self, key: &str) -> Option<At<'a>> {
        self.node.get(key).map(|node| At {
            node,
            path: self.path.key(key),
        })
    }

    /// The value under several keys, one below the other.
    pub(super) fn find(&self, keys: &[&str]) -> Option<At<'a>> {
        keys.iter().try_fold(self.clone(), |at, key| at.get(key))
    }

    /// The items of a list.
    pub(super) fn items(&self) -> impl Iterator<Item = At<'a>> + use<'a> {
        let path = self.path.clone();
        self.node
            .items()
            .iter()
            .enumerate()
            .map(move |(index, node)| At {
                node,
                path: path.index(index),
            })
    }

    /// The items of the list under several keys.
    pub(super) fn list(&self, keys: &[&str]) -> Vec<At<'a>> {
        self.find(keys)
            .map(|at| at.items().collect())
            .unwrap_or_default()
    }

    /// Keys and values of a map, nulls left out.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'a str, At<'a>)> + use<'a> {
        let path = self.path.clone();
        self.node
            .entries()
            .iter()
            .filter(|entry| entry.value.value != NodeValue::Null)
            .map(move |entry| {
                (
                    entry.key.as_str(),
                    At {
                        node: &entry.value,
                        path: path.key(&entry.key),
                    },
                )
            })
    }

    /// Text under a key; the empty text counts as none, as in Argo.
    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        self.node.text_at(key).filter(|text| !text.is_empty())
    }

    /// The value of `name`, or the empty text.
    pub(super) fn name(&self) -> &'a str {
        self.node.text_at("name").unwrap_or_default()
    }

    /// Where the value under `key` stands, else where this stands.
    pub(super) fn place(&self, key: &str) -> At<'a> {
        self.get(key).unwrap_or_else(|| self.clone())
    }

    /// Every text within, keys left out.
    pub(super) fn texts(&self) -> Vec<(At<'a>, &'a str)> {
        let mut texts = Vec::new();
        self.collect(&mut texts);
        texts
    }

    fn collect(&self, texts: &mut Vec<(At<'a>, &'a str)>) {
        match &self.node.value {
            NodeValue::Text(text) => texts.push((self.clone(), text)),
            NodeValue::List(_) => self.items().for_each(|item| item.collect(texts)),
            NodeValue::Map(_) => self.entries().for_each(|(_, value)| value.collect(texts)),
            NodeValue::Null | NodeValue::Bool(_) | NodeValue::Number(_) => {}
        }
    }
}

/// The types that a template may be of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Container,
    ContainerSet,
    Script,
    Steps,
    Dag,
    Suspend,
    Http,
    Data,
    Resource,
    Plugin,
}

impl Form {
    /// Every form.
    pub(super) const ALL: [Form; 10] = [
        Form::Container,
        Form::ContainerSet,
        Form::Script,
        Form::Steps,
        Form::Dag,
        Form::Suspend,
        Form::Http,
        Form::Data,
        Form::Resource,
        Form::Plugin,
    ];

    /// The template's field that makes it this form.
    pub(super) fn field(self) -> &'static str {
        match self {
            Form::Container => "container",
            Form::ContainerSet => "containerSet",
            Form::Script => "script",
            Form::Steps => "steps",
            Form::Dag => "dag",
            Form::Suspend => "suspend",
            Form::Http => "http",
            Form::Data => "data",
            Form::Resource => "resource",
            Form::Plugin => "plugin",
        }
    }

    /// Whether it calls other templates.
    pub(super) fn is_group(self) -> bool {
        matches!(self, Form::Steps | Form::Dag)
    }

    /// Whether Argo counts it as a leaf: it does something by itself.
    pub(super) fn is_leaf(self) -> bool {
        !self.is_group() && self != Form::Suspend
    }

    /// Whether it runs in a pod of its own.
    pub(super) fn is_pod(self) -> bool {
        matches!(
            self,
            Form::Container | Form::ContainerSet | Form::Script | Form::Resource | Form::Data
        )
    }
}

/// A template.
#[derive(Clone, Debug)]
pub(super) struct Template<'a> {
    pub(super) at: At<'a>,
    pub(super) name: &'a str,
    pub(super) forms: Vec<Form>,
    pub(super) calls: Vec<Call<'a>>,
}

impl<'a> Template<'a> {
    fn of(at: At<'a>) -> Self {
        let forms: Vec<Form> = Form::ALL
            .into_iter()
            .filter(|form| at.node.get(form.field()).is_some())
            .collect();
        Template {
            name: at.name(),
            calls: calls(&at),
            forms,
            at,
        }
    }

    /// The form, where there is exactly one.
    pub(super) fn form(&self) -> Option<Form> {
        match self.forms.as_slice() {
            [form] => Some(*form),
            _ => None,
        }
    }

    /// What its form holds.
    pub(super) fn body(&self) -> Option<At<'a>> {
        self.at.get(self.form()?.field())
    }

    pub(super) fn inputs(&self) -> Vec<At<'a>> {
        self.at.list(&["inputs", "parameters"])
    }

    pub(super) fn input_artifacts(&self) -> Vec<At<'a>> {
        self.at.list(&["inputs", "artifacts"])
    }

    pub(super) fn outputs(&self) -> Vec<At<'a>> {
        self.at.list(&["outputs", "parameters"])
    }

    pub(super) fn output_artifacts(&self) -> Vec<At<'a>> {
        self.at.list(&["outputs", "artifacts"])
    }

    /// How a message names it.
    pub(super) fn title(&self) -> String {
        if self.name.is_empty() {
            format!("the template at `{}`", self.at.path)
        } else {
            format!("template `{}`", self.name)
        }
    }

    /// Whether it gives `outputs.result` and an exit code.
    pub(super) fn has_result(&self) -> bool {
        match self.form() {
            Some(Form::ContainerSet) => self
                .at
                .list(&["containerSet", "containers"])
                .iter()
                .any(|container| container.name() == "main"),
            Some(Form::Container | Form::Script | Form::Data | Form::Http | Form::Plugin) => true,
            _ => false,
        }
    }
}

/// A step or task.
#[derive(Clone, Debug)]
pub(super) struct Call<'a> {
    pub(super) at: At<'a>,
    pub(super) name: &'a str,
    /// The index of its group, for a step.
    pub(super) group: Option<usize>,
    /// A template within the call itself.
    pub(super) inline: Option<Box<Template<'a>>>,
}

impl<'a> Call<'a> {
    fn of(at: At<'a>, group: Option<usize>) -> Self {
        Call {
            name: at.name(),
            inline: at
                .get("inline")
                .map(|inline| Box::new(Template::of(inline))),
            group,
            at,
        }
    }

    /// The word for it in messages.
    pub(super) fn word(&self) -> &'static str {
        if self.group.is_some() { "step" } else { "task" }
    }

    /// The prefix of the variables that it gives.
    pub(super) fn prefix(&self) -> String {
        match self.group {
            Some(_) => format!("steps.{}", self.name),
            None => format!("tasks.{}", self.name),
        }
    }

    pub(super) fn arguments(&self) -> Vec<At<'a>> {
        self.at.list(&["arguments", "parameters"])
    }

    /// Whether it runs once for each of several items.
    pub(super) fn is_loop(&self) -> bool {
        !self.at.list(&["withItems"]).is_empty()
            || self.at.text("withParam").is_some()
            || self.at.get("withSequence").is_some()
    }

    /// Whether its outputs are joined from those of its items.
    pub(super) fn is_joined(&self) -> bool {
        !self.at.list(&["withItems"]).is_empty() || self.at.text("withParam").is_some()
    }

    pub(super) fn has_exit_hook(&self) -> bool {
        self.at.text("onExit").is_some() || self.at.find(&["hooks", "exit"]).is_some()
    }
}

fn calls<'a>(template: &At<'a>) -> Vec<Call<'a>> {
    let mut calls = Vec::new();
    for (index, group) in template.list(&["steps"]).iter().enumerate() {
        calls.extend(group.items().map(|step| Call::of(step, Some(index))));
    }
    let tasks = template.list(&["dag", "tasks"]);
    calls.extend(tasks.into_iter().map(|task| Call::of(task, None)));
    calls
}

/// A document with its templates.
#[derive(Debug)]
pub(super) struct Home<'a> {
    pub(super) read: &'a ReadDocument,
    pub(super) root: At<'a>,
    /// The workflow's specification; the root where it is missing.
    pub(super) spec: At<'a>,
    pub(super) templates: Vec<Template<'a>>,
    by_name: BTreeMap<&'a str, usize>,
}

impl<'a> Home<'a> {
    pub(super) fn of(read: &'a ReadDocument) -> Self {
        let root = At {
            node: &read.root,
            path: Path::root(),
        };
        let keys: &[&str] = match read.kind {
            Kind::CronWorkflow => &["spec", "workflowSpec"],
            Kind::Workflow | Kind::WorkflowTemplate | Kind::ClusterWorkflowTemplate => &["spec"],
        };
        let spec = root.find(keys).unwrap_or_else(|| At {
            node: &EMPTY,
            path: keys.iter().fold(Path::root(), |path, key| path.key(key)),
        });
        let templates: Vec<Template<'a>> = spec
            .list(&["templates"])
            .into_iter()
            .map(Template::of)
            .collect();
        let mut by_name = BTreeMap::new();
        for (index, template) in templates.iter().enumerate() {
            by_name.entry(template.name).or_insert(index);
        }
        Home {
            read,
            root,
            spec,
            templates,
            by_name,
        }
    }

    /// The template of this name.
    pub(super) fn template(&self, name: &str) -> Option<&Template<'a>> {
        self.by_name.get(name).map(|index| &self.templates[*index])
    }

    /// Names of all templates.
    pub(super) fn template_names(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.by_name.keys().copied().filter(|name| !name.is_empty())
    }

    /// Every template, those within calls included.
    pub(super) fn all_templates(&self) -> Vec<&Template<'a>> {
        fn add<'t, 'a>(template: &'t Template<'a>, all: &mut Vec<&'t Template<'a>>) {
            all.push(template);
            for call in &template.calls {
                if let Some(inline) = &call.inline {
                    add(inline, all);
                }
            }
        }
        let mut all = Vec::new();
        for template in &self.templates {
            add(template, &mut all);
        }
        all
    }

    pub(super) fn is_stored(&self) -> bool {
        matches!(
            self.read.kind,
            Kind::WorkflowTemplate | Kind::ClusterWorkflowTemplate
        )
    }
}

static EMPTY: Node = Node {
    value: NodeValue::Null,
    position: Position {
        line: 1,
        column: 1,
        offset: 0,
        length: 0,
    },
};

/// A text that holds a tag, so that its final form is not known here.
pub(super) fn is_dynamic(text: &str) -> bool {
    text.contains("{{")
}
