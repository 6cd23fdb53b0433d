//! Every code that reading and linting report, each with what it means.

/// A code with its explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// The stable code.
    pub code: &'static str,
    /// What it means and what to do about it, in a few sentences.
    pub meaning: &'static str,
}

/// The explanation of a code.
pub fn explain(code: &str) -> Option<&'static str> {
    CODES
        .iter()
        .find(|known| known.code == code)
        .map(|known| known.meaning)
}

const fn code(code: &'static str, meaning: &'static str) -> Code {
    Code { code, meaning }
}

/// All codes, in the order of the alphabet.
pub const CODES: &[Code] = &[
    code(
        "binary-file",
        "The file is no UTF-8 text. A document is YAML or JSON in UTF-8.",
    ),
    code(
        "conflicting-fields",
        "Two fields that exclude each other stand together. Argo refuses the document, since it cannot tell which one is meant. Keep one of them.",
    ),
    code(
        "dependency-cycle",
        "Tasks, or containers of a set, wait for each other in a circle, so that none of them can ever start. Remove one of the dependencies that the message lists.",
    ),
    code(
        "depends-without-items",
        "`AnySucceeded` and `AllFailed` look at the items of a loop, and the task that is named is no loop.",
    ),
    code(
        "document-too-large",
        "The file, its nesting or the values that its aliases repeat exceed what is read. The limits are far above any document that people write; they keep a small file from becoming large in memory.",
    ),
    code(
        "duplicate-key",
        "A key stands twice in one map, or is brought by `<<` and set as well. Argo refuses this, because one of the two values would be lost without a word.",
    ),
    code(
        "duplicate-lock",
        "One lock is asked for twice in a list. Argo accepts the document and fails the workflow when it asks for its locks.",
    ),
    code(
        "duplicate-mount",
        "Two volumes or artifacts are to appear at the same path of a container.",
    ),
    code(
        "duplicate-name",
        "Two things that are told apart by their names have the same one.",
    ),
    code(
        "duplicate-parameter",
        "A parameter was given more than once on the command line or in a parameter file.",
    ),
    code("empty-dag", "A DAG needs at least one task."),
    code(
        "empty-file",
        "The file holds no document, perhaps only remarks.",
    ),
    code(
        "endless-sequence",
        "A sequence without `count` and `end` has no last item. Argo ends the node in Error.",
    ),
    code(
        "faulty-reference",
        "A template of another document, which this one calls, has a fault. The message says which; it is the first of its faults.",
    ),
    code(
        "ignored-field",
        "The field has no effect on one machine: only a scheduler of machines can honour it, or a cluster writes it, or it concerns containers and not processes. The document runs all the same; on a cluster the field means what it always meant.",
    ),
    code(
        "ignored-schedule",
        "The field belongs to the schedule of a CronWorkflow. `run` starts the workflow once, at once.",
    ),
    code(
        "incomplete-reference",
        "A `templateRef` names a stored workflow (`name`) and a template of it (`template`); both are needed.",
    ),
    code(
        "invalid-choice",
        "The value is not one of those that the field takes. The hint lists them.",
    ),
    code(
        "invalid-depends",
        "The text of `depends` is no logic over tasks: names, each perhaps with a result such as `.Failed`, joined by `&&`, `||` and `!`, with parentheses.",
    ),
    code(
        "invalid-duration",
        "The value is no duration that this field takes. Some fields take a whole number of seconds, others a number with its unit such as `10m`.",
    ),
    code(
        "invalid-key",
        "A map's key is no text. Often a tag such as `{{item}}` stands without quotes and is read as a map.",
    ),
    code(
        "invalid-manifest",
        "The manifest of a resource template is not YAML, its tags aside.",
    ),
    code(
        "invalid-merge",
        "The merge key `<<` takes a map, an alias of a map, or a list of these.",
    ),
    code(
        "invalid-name",
        "The name holds characters that names of this kind may not hold, or is too long. Parameters and artifacts take letters, digits, `-` and `_`; templates, steps and tasks take no `_` and begin with a letter or digit.",
    ),
    code(
        "invalid-path",
        "The path of an artifact leads out of its directory.",
    ),
    code(
        "invalid-schedule",
        "The schedule is no cron line: minute, hour, day of the month, month, day of the week (0 to 6 or names), or a word such as `@daily`, or `@every 1h`.",
    ),
    code(
        "invalid-timezone",
        "The text is no name of a time zone such as `Europe/Berlin`.",
    ),
    code(
        "invalid-value-source",
        "The value cannot come from there: arguments take `configMapKeyRef` and `supplied`; outputs of steps and DAG templates take `parameter` and `expression`; outputs of containers and scripts take `path`.",
    ),
    code(
        "invalid-yaml",
        "The notation is broken at this place. What stood before it in the document was still checked field by field; what comes after it in the same document was not read. Other documents of the file were.",
    ),
    code(
        "item-outside-loop",
        "`{{item}}` is replaced only in a step or task with `withItems`, `withParam` or `withSequence`. Elsewhere Argo leaves it as it is.",
    ),
    code(
        "lost-value",
        "A list or map stands where text is taken. Argo accepts it and reads the empty text. Quote the value to hand it on as JSON.",
    ),
    code(
        "misplaced-field",
        "The field exists, but not here. The hint says where it belongs; often the indentation is wrong.",
    ),
    code(
        "missing-argument",
        "A template needs an input for which there is neither an argument nor a default. Argo refuses the document.",
    ),
    code(
        "missing-artifact-source",
        "An artifact that is handed over comes neither from a step nor from a place such as `s3` or `raw`.",
    ),
    code(
        "missing-containers",
        "A container set needs at least one container.",
    ),
    code(
        "missing-dependency",
        "Something reads what another step or task gives and does not wait for it, so that the value may not exist yet. Argo refuses arguments of tasks that begin with such a tag; elsewhere it waits for ever or leaves the tag as it is.",
    ),
    code(
        "missing-entrypoint",
        "A workflow names in `entrypoint` the template that it starts with.",
    ),
    code(
        "missing-expression",
        "A hook other than `exit` needs an `expression` that says when it runs.",
    ),
    code(
        "missing-file",
        "A script uses a file or directory that no volume, artifact or earlier command of the script brings, in a place where images have none by custom. If the image does have it, the warning can be ignored.",
    ),
    code(
        "missing-image",
        "A container or script names no image, and no default of the workflow does.",
    ),
    code(
        "missing-kind",
        "A document says by `kind` what it is: Workflow, CronWorkflow, WorkflowTemplate or ClusterWorkflowTemplate.",
    ),
    code(
        "missing-main-container",
        "Inputs and outputs of a container set are those of the container named `main`.",
    ),
    code("missing-name", "The thing needs a name."),
    code(
        "missing-parameter",
        "A run needs a value that neither the document nor the caller gives.",
    ),
    code(
        "missing-path",
        "An artifact of a template with a container needs the path of its file.",
    ),
    code(
        "missing-schedule",
        "A CronWorkflow needs at least one schedule.",
    ),
    code(
        "missing-template",
        "A step or task names no template: one of `template`, `templateRef` and `inline` is needed.",
    ),
    code(
        "missing-template-type",
        "A template needs one field that says what it does, such as `container`, `script`, `steps` or `dag`.",
    ),
    code(
        "missing-value",
        "A value is needed and not given. `null` counts as not given.",
    ),
    code(
        "name-too-long",
        "Kubernetes makes labels of the name, and these have at most 63 characters. A CronWorkflow's name has at most 52, since its runs get the time appended.",
    ),
    code(
        "needs-cluster",
        "The field needs a Kubernetes cluster. The document is not started on this machine.",
    ),
    code(
        "not-a-document",
        "A document is a map with `apiVersion`, `kind`, `metadata` and `spec`.",
    ),
    code(
        "not-supported-yet",
        "Argo knows the field, and this machine is going to. Until then a document that uses it is not started here, so that nothing is silently left out.",
    ),
    code(
        "other-kind",
        "The file holds a document of a kind that is not read here. It is left alone.",
    ),
    code(
        "removed-field",
        "Argo 4 removed the field; older versions take it. It is read here as if it stood in its new form. Argo 4 itself refuses the document.",
    ),
    code(
        "reserved-name",
        "Argo's own containers in a pod are named `init` and `wait`.",
    ),
    code(
        "several-template-types",
        "A template is of exactly one type. Make it several templates that a `steps` or `dag` template calls.",
    ),
    code(
        "surplus-argument",
        "An argument has no input of its name. Argo ignores it without a word, so a misspelt name goes unnoticed.",
    ),
    code(
        "undefined-artifact",
        "The artifact that is named is no input of the template.",
    ),
    code(
        "undefined-reference",
        "The stored workflow, or its template, is in none of the files that were given.",
    ),
    code(
        "undefined-task",
        "A name of a task is used where no task of that name is.",
    ),
    code(
        "undefined-template",
        "A template is called by a name that no template of the document has.",
    ),
    code(
        "unfilled-placeholder",
        "The text holds something that a person was meant to replace, such as `<your-org>`.",
    ),
    code(
        "unknown-anchor",
        "An alias `*name` repeats a value that was marked with `&name` before it in the same document.",
    ),
    code(
        "unknown-field",
        "Argo has no such field here and refuses the document. The hint names the nearest one.",
    ),
    code(
        "unknown-kind",
        "The word after `kind:` names no kind of document; it is probably misspelt.",
    ),
    code(
        "unknown-parameter",
        "The document has no argument of that name, and its entrypoint no input.",
    ),
    code(
        "unknown-variable",
        "The tag begins with a word that no variable begins with. Argo leaves such tags as they are.",
    ),
    code(
        "unreadable-document",
        "The document could not be decoded although its fields have the right types. This is a fault of the reader; please report it.",
    ),
    code(
        "unreadable-scalar",
        "The value cannot be taken to JSON: it is infinite, or its explicit tag contradicts it.",
    ),
    code(
        "unresolved-tag",
        "The tag names a variable that does not exist where it stands. Argo refuses the document.",
    ),
    code(
        "unset-variable",
        "A script reads a variable that is neither in `env` nor set by the script. Unless the image sets it, it is empty.",
    ),
    code(
        "unused-input",
        "A template declares an input and uses it nowhere.",
    ),
    code(
        "value-not-allowed",
        "The parameter's `enum` lists the values that it may have.",
    ),
    code(
        "wrong-type",
        "The value has another type than the field takes. Text that looks like a number or a boolean (`1`, `yes`, `010`) needs quotes.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_ordered_unique_and_in_kebab_case() {
        for pair in CODES.windows(2) {
            assert!(pair[0].code < pair[1].code, "{}", pair[1].code);
        }
        for known in CODES {
            let fits = |c: char| c.is_ascii_lowercase() || c == '-';
            assert!(known.code.chars().all(fits), "{}", known.code);
            assert!(known.meaning.ends_with('.'), "{}", known.code);
        }
    }
}
