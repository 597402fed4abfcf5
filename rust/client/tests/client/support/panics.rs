//! The client's log: panics at places that a test chooses by a log message, and captured messages.

use std::cell::RefCell;
use std::fmt;
use std::sync::Once;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

thread_local! {
    // Each test has a thread of its own, and its client runs in it.
    static AT: RefCell<Option<(String, usize)>> = const { RefCell::new(None) };
    static CAPTURED: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// One subscriber for all tests: its effect depends on the thread.
struct Panics;

/// Stops the panics when dropped.
pub(crate) struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        AT.take();
    }
}

/// The fields of an event, as `name=value`.
#[derive(Default)]
struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0 += &format!(" {field}={value:?}");
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0 += &format!(" {field}={value}");
    }
}

impl Subscriber for Panics {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && metadata.target().starts_with("ottla.")
    }

    fn event(&self, event: &Event<'_>) {
        CAPTURED.with_borrow_mut(|captured| {
            if let Some(lines) = captured {
                let mut fields = Fields::default();
                event.record(&mut fields);
                lines.push(format!("{}{}", event.metadata().level(), fields.0));
            }
        });
        let Some((at, left)) = AT.take() else { return };
        let mut fields = Fields::default();
        event.record(&mut fields);
        let is_here = left > 0 && format!("{} ", fields.0).contains(&at);
        AT.set(Some((at, left - usize::from(is_here))));
        assert!(!is_here, "on purpose at{}", fields.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

fn subscribe() {
    static SET: Once = Once::new();
    SET.call_once(|| tracing::subscriber::set_global_default(Panics).expect("no other subscriber"));
}

/// From now on, captures what this thread logs.
pub(crate) fn capture_log() {
    subscribe();
    CAPTURED.set(Some(Vec::new()));
}

/// The captured lines, each with its level first.
pub(crate) fn captured_log() -> Vec<String> {
    CAPTURED.with_borrow(|captured| captured.clone().unwrap_or_default())
}

/// Until the guard is dropped, logging `at` in this thread panics, `times` times in all.
pub(crate) fn panic_at(at: &str, times: usize) -> Guard {
    subscribe();
    AT.set(Some((at.to_owned(), times)));
    Guard
}

/// The same when a request of an API is sent.
pub(crate) fn panic_at_request(api: &str, times: usize) -> Guard {
    panic_at(&format!(" api={api} "), times)
}
