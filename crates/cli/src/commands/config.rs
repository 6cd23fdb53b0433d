//! `groundplan config`: the machine configuration.

use crate::{
    arguments::{Config, Global},
    config::{Machine, Origin, Setting},
    exit::Exit,
    failure::Failure,
    terminal::{
        self,
        style::{Paint, Style},
    },
};

/// Prints every value and where it comes from.
pub(crate) fn config(global: &Global, command: &Config) -> Result<Exit, Failure> {
    match command {
        Config::Show => show(&Machine::read(global)?),
    }
    Ok(Exit::Done)
}

fn show(machine: &Machine) {
    let paint = Paint::for_stream(&std::io::stdout());
    let state = if machine.file_exists {
        ""
    } else {
        " (not there)"
    };
    terminal::line(paint.with(Style::Faint, format!("# {}{state}", machine.file.display())));
    let say = |text: String, origin: Origin| {
        let from = match origin {
            Origin::Default => "default",
            Origin::File => "file",
            Origin::Call => "command line or environment",
        };
        terminal::line(format!(
            "{text:<56} {}",
            paint.with(Style::Faint, format!("# {from}"))
        ));
    };
    let setting = |name: &str, text: String, origin: Origin| say(format!("{name}: {text}"), origin);
    setting(
        "data_dir",
        machine.data_dir.value.display().to_string(),
        machine.data_dir.origin,
    );
    setting(
        "cache",
        machine.cache.root().display().to_string(),
        Origin::Default,
    );
    setting(
        "network",
        machine.network.value.to_string(),
        machine.network.origin,
    );
    let bundle = machine
        .ca_bundle
        .value
        .as_ref()
        .map_or("null".to_owned(), |path| path.display().to_string());
    setting("ca_bundle", bundle, machine.ca_bundle.origin);
    let Setting {
        value: paths,
        origin,
    } = &machine.allowed_host_paths;
    let paths = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect::<Vec<_>>();
    setting(
        "allowed_host_paths",
        format!("[{}]", paths.join(", ")),
        *origin,
    );
    setting(
        "slots",
        machine.slots.value.to_string(),
        machine.slots.origin,
    );
    for (tool, path) in &machine.tools {
        say(
            format!("tools.{}: {}", tool.name(), path.display()),
            Origin::File,
        );
    }
    for (pattern, Setting { value, origin }) in &machine.images {
        say(format!("images.\"{pattern}\":"), *origin);
        let shell = if value.busybox { "busybox" } else { "system" };
        terminal::line(format!(
            "  shell: {shell}, user: {}, tools: [{}]",
            value.user,
            value.tools.join(", ")
        ));
        for (path, file) in &value.files {
            terminal::line(format!("  files.{path}: {}", file.display()));
        }
        // Values of variables may be secrets: names are enough to see what is set.
        if !value.env_vars.is_empty() {
            let names = value.env_vars.keys().cloned().collect::<Vec<_>>();
            terminal::line(format!("  env_vars: {}", names.join(", ")));
        }
    }
}
