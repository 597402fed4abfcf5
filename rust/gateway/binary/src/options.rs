//! The options of the program: those of `ottla gateway`, from a table that `tools/gateway_options.py` makes of the Python
//! command, and those that only a program of its own needs.

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::Value;

/// The options of the Python command.
const OPTIONS: &str = include_str!("options.json");

/// The command with its options.
///
/// # Errors
/// If the table is damaged.
pub(crate) fn command() -> Result<Command, String> {
    let table: Value = serde_json::from_str(OPTIONS).map_err(|error| format!("options.json: {error}"))?;
    let mut command = Command::new("ottla-gateway")
        // As in the Python command, the last one counts.
        .args_override_self(true)
        .version(env!("CARGO_PKG_VERSION"))
        .about(text(&table, "description").unwrap_or_default());
    for option in items(&table, "options") {
        command = command.arg(arg(option, &table).ok_or_else(|| format!("options.json: {option}"))?);
    }
    let threads = Arg::new("threads").long("threads").value_name("N");
    let log_level = Arg::new("log_level").long("log-level").value_name("LEVEL");
    Ok(command.arg(threads.help("the threads that serve connections (as many as there are cores)")).arg(
        log_level
            .default_value("info")
            .hide_default_value(true)
            .help("the least severe messages on standard error: error, warn, info, debug or trace (info)"),
    ))
}

fn arg(option: &Value, table: &Value) -> Option<Arg> {
    let name = text(option, "name")?;
    let excluded = items(table, "exclusive").filter(|group| strings(group).any(|each| each == name));
    let others = excluded.flat_map(strings).filter(|each| *each != name).map(str::to_owned);
    let mut arg = Arg::new(name.to_owned())
        .help(text(option, "help").unwrap_or_default())
        .conflicts_with_all(others.map(clap::Id::from).collect::<Vec<_>>());
    for flag in option.get("flags").map(strings)? {
        arg = match flag.strip_prefix("--") {
            Some(long) => arg.long(long.to_owned()),
            None => arg.short(flag.chars().nth(1)?),
        };
    }
    if let Some(metavar) = text(option, "metavar") {
        arg = arg.value_name(metavar);
    }
    if let Some(default) = text(option, "default") {
        // The help says it.
        arg = arg.default_value(default).hide_default_value(true);
    }
    Some(arg.action(match text(option, "kind")?.as_str() {
        "flag" => ArgAction::SetTrue,
        "list" => ArgAction::Append,
        _ => ArgAction::Set,
    }))
}

fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().map(str::to_owned)
}

fn items<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}

fn strings(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// The value of an option.
pub(crate) fn value<'a>(matches: &'a ArgMatches, name: &str) -> Option<&'a str> {
    matches.get_one::<String>(name).map(String::as_str)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, reason = "a test may fail")]
    use super::command;

    #[test]
    fn every_option_of_the_python_command_is_read() {
        let Ok(command) = command() else { panic!("a table of options") };
        command.clone().debug_assert();
        let readers =
            [include_str!("cluster.rs"), include_str!("main.rs"), include_str!("settings.rs")].concat();
        let names: Vec<_> = command.get_arguments().map(|arg| arg.get_id().to_string()).collect();
        assert!(names.len() > 15, "{names:?}");
        for name in names {
            assert!(readers.contains(&format!("\"{name}\"")), "no code reads {name}");
        }
    }
}
