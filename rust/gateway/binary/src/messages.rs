//! Standard error: the log and errors, as text or as JSON, a line each.
//!
//! Invariants: no thread that serves connections waits for the reader of standard error: lines that do not fit into a
//! queue are counted. With `--json`, each line has the fields of the commands of `ottla` (`ottla schema error`).

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use ottla_client::EventText;
use ottla_gateway::monitoring::Json;
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::registry::LookupSpan;

use crate::Failure;

/// The lines that are not written yet.
const QUEUE_LENGTH: usize = 1024;
/// How long the last lines may take.
const FINISH_TIMEOUT: Duration = Duration::from_secs(1);

/// How messages are printed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Messages {
    pub(crate) as_json: bool,
}

impl Messages {
    /// Prints why the program ends.
    pub(crate) fn say_error(self, message: &str) {
        let line = match self.as_json {
            true => document("error", None, message),
            false => format!("ottla-gateway: {message}"),
        };
        // Nobody reads it.
        _ = writeln!(io::stderr(), "{line}");
    }
}

/// Prints as JSON that the arguments are wrong: `text` is what clap says of it.
pub(crate) fn print_argument_error(text: &str) {
    // The usage follows after an empty line.
    let message = text.split("\n\n").next().unwrap_or_default();
    let message = message.strip_prefix("error: ").unwrap_or(message).trim_end();
    // Nobody reads it.
    _ = writeln!(io::stderr(), "{}", document("error", Some("ArgumentError"), message));
}

fn document(severity: &str, name: Option<&str>, message: &str) -> String {
    let fields = [
        ("severity", severity.into()),
        ("name", name.into()),
        ("code", Json::Null),
        ("message", message.into()),
        ("cause", Json::Null),
        ("remedy", Json::Null),
        ("maybe_done", Json::Bool(false)),
        ("retriable", Json::Bool(false)),
        ("item", Json::Null),
    ];
    Json::object(fields).line()
}

impl<S, N> FormatEvent<S, N> for Messages
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let (level, target) = (*event.metadata().level(), event.metadata().target());
        let text = EventText::of(event).into_line();
        if self.as_json {
            let severity = match level {
                Level::ERROR => "error",
                Level::WARN => "warning",
                _ => "info",
            };
            return writeln!(writer, "{}", document(severity, None, &text));
        }
        SystemTime.format_time(&mut writer)?;
        writeln!(writer, " {level} {target}: {text}")
    }
}

/// Starts to log to standard error.
pub(crate) fn start_log(messages: Messages, level: LevelFilter) -> Result<Log, Failure> {
    let (queue, lines) = sync_channel(QUEUE_LENGTH);
    let log = Log { queue, missing: Arc::default() };
    let missing = Arc::clone(&log.missing);
    let writing = thread::Builder::new().name("log".to_owned());
    writing.spawn(move || write_lines(&lines, &missing, messages)).map_err(Failure::other)?;
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(level)
        .event_format(messages)
        .with_writer(log.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).map_err(Failure::other)?;
    Ok(log)
}

/// The queue of lines.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    queue: SyncSender<Item>,
    missing: Arc<AtomicU64>,
}

#[derive(Debug)]
enum Item {
    Line(Vec<u8>),
    /// The end of the log.
    End(SyncSender<()>),
}

impl Log {
    /// Waits a moment until all lines are written.
    pub(crate) fn finish(&self) {
        let (written, is_written) = sync_channel(1);
        let deadline = Instant::now() + FINISH_TIMEOUT;
        let mut end = Item::End(written);
        while let Err(TrySendError::Full(unsent)) = self.queue.try_send(end)
            && Instant::now() < deadline
        {
            end = unsent;
            thread::sleep(Duration::from_millis(1));
        }
        _ = is_written.recv_timeout(deadline.saturating_duration_since(Instant::now()));
    }
}

fn write_lines(lines: &Receiver<Item>, missing: &AtomicU64, messages: Messages) {
    for item in lines {
        match item {
            // A line that cannot be written is gone: there is no other place for it.
            Item::Line(line) => _ = io::stderr().write_all(&line),
            Item::End(written) => _ = written.try_send(()),
        }
        match missing.swap(0, Ordering::Relaxed) {
            0 => {}
            count => messages.say_error(&format!(
                "{count} lines of the log are missing: the reader of standard error is too slow"
            )),
        }
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Line;

    fn make_writer(&self) -> Line {
        Line { log: self.clone(), bytes: Vec::new() }
    }
}

/// A line of the log, which is queued when it is dropped.
pub(crate) struct Line {
    log: Log,
    bytes: Vec<u8>,
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let line = std::mem::take(&mut self.bytes);
        if self.log.queue.try_send(Item::Line(line)).is_err() {
            self.log.missing.fetch_add(1, Ordering::Relaxed);
        }
    }
}
