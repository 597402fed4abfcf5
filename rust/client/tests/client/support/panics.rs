//! Panics in the engine, at the places that a test chooses: where it logs something.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Metadata, Subscriber};

struct Panics {
    at: String,
    left: AtomicUsize,
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
        let mut fields = Fields::default();
        event.record(&mut fields);
        let is_here = format!("{} ", fields.0).contains(&self.at);
        let once_less = |left: usize| left.checked_sub(1);
        if is_here && self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, once_less).is_ok() {
            panic!("on purpose at{}", fields.0);
        }
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// Until the guard is dropped, whoever logs `at` on this thread panics, `times` times in all.
pub(crate) fn panic_at(at: &str, times: usize) -> DefaultGuard {
    tracing::subscriber::set_default(Panics { at: at.to_owned(), left: AtomicUsize::new(times) })
}

/// The same where a request of an API is sent.
pub(crate) fn panic_at_request(api: &str, times: usize) -> DefaultGuard {
    panic_at(&format!(" api={api} "), times)
}
