//! `ottla-gateway`: the command `ottla gateway` as a program of its own, for containers.
//!
//! - `options.rs`: the options, from a table that is made from the Python command.
//! - `cluster.rs`: the configuration of the cluster, from files and options.
//! - `parsing.rs`, `settings.rs`: the settings of the gateway that follow from the options.
//! - `messages.rs`: standard error, as text or as JSON.
//! - `run.rs`: starts the gateway, prints its addresses, and drains it on a signal.
//!
//! Invariant: an option has the same name, default and meaning as that of the Python command.

mod cluster;
mod messages;
mod options;
mod parsing;
mod run;
mod settings;

use std::process::ExitCode;

use clap::ArgMatches;

use crate::messages::Messages;
use crate::settings::Settings;

/// The exit code of arguments and settings that cannot be used.
const USAGE: u8 = 2;

/// Why the program ends with an exit code other than 0.
#[derive(Debug)]
struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    /// An argument or a setting cannot be used.
    fn usage(message: impl ToString) -> Self {
        Self { code: USAGE, message: message.to_string() }
    }

    /// Something else went wrong.
    fn other(message: impl ToString) -> Self {
        Self { code: 1, message: message.to_string() }
    }
}

fn main() -> ExitCode {
    let parsed = match options::command() {
        Ok(command) => command.try_get_matches(),
        Err(why) => return end(Messages::default(), Err(Failure::other(why))),
    };
    let matches = match parsed {
        Ok(matches) => matches,
        Err(error) if error.use_stderr() && std::env::args_os().any(|argument| argument == "--json") => {
            messages::print_argument_error(&error.to_string());
            return ExitCode::from(USAGE);
        }
        // The help and the version are no errors, and have the exit code 0.
        Err(error) => error.exit(),
    };
    let messages = Messages { as_json: matches.get_flag("json") };
    end(messages, serve(&matches, messages))
}

fn serve(matches: &ArgMatches, messages: Messages) -> Result<(), Failure> {
    let settings = Settings::read(matches)?;
    let log = messages::start_log(messages, settings.log_level)?;
    let served = run::run(settings);
    log.finish();
    served
}

fn end(messages: Messages, result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            messages.say_error(&failure.message);
            ExitCode::from(failure.code)
        }
    }
}
