//! Log events of the core, forwarded to Python's `logging`: the target `ottla.connection` is the
//! logger of that name.
//!
//! Invariants: no thread of the core ever waits for the GIL. Events go through a bounded queue to a
//! Python thread; those that do not fit are dropped and counted. An event below its logger's level
//! costs one atomic load. No lock is used that a fork could leave locked.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use ottla_client::EventText;
use pyo3::prelude::*;
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};

/// The maximum number of events that Python has not logged yet.
const QUEUE_CAPACITY: usize = 1024;
/// The age from which a call refreshes the copies of Python's levels.
const LEVELS_MAX_AGE: Duration = Duration::from_secs(1);
/// How long the interpreter's exit waits for the last events.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// All loggers; an event with any other target goes to the first.
const LOGGERS: [&str; 12] = [
    "ottla",
    "ottla.client",
    "ottla.config",
    "ottla.connection",
    "ottla.fetch",
    "ottla.gateway",
    "ottla.group",
    "ottla.metadata",
    "ottla.mock",
    "ottla.producer",
    "ottla.retry",
    "ottla.share",
];

/// Python's level of each logger; 30 (WARNING) until it was first copied.
static LEVELS: [AtomicU8; LOGGERS.len()] = [const { AtomicU8::new(30) }; LOGGERS.len()];
/// Whether the interpreter is exiting and logs no more events.
static STOPPED: AtomicBool = AtomicBool::new(false);
static DROPPED: AtomicU64 = AtomicU64::new(0);
/// When the levels were last copied, in milliseconds since `STARTED`.
static LEVELS_COPIED_AT: AtomicU64 = AtomicU64::new(0);
static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);
static CURRENT_QUEUE: ArcSwapOption<Queue> = ArcSwapOption::const_empty();

/// The queue to a process's logging thread.
struct Queue {
    pid: u32,
    sender: SyncSender<QueueItem>,
}

enum QueueItem {
    Event(LogEvent),
    /// The end of the queue: the thread acknowledges it, and with it everything before.
    End(SyncSender<()>),
}

/// Starts forwarding events in this process.
pub(crate) fn start(py: Python<'_>) -> PyResult<()> {
    let pid = std::process::id();
    if CURRENT_QUEUE.load().as_ref().is_some_and(|queue| queue.pid == pid) {
        return Ok(());
    }
    copy_levels(py)?;
    // Only the first subscriber of a process is accepted; all of them are equal.
    let _ = tracing::subscriber::set_global_default(PythonSubscriber);
    let (sender, receiver) = sync_channel(QUEUE_CAPACITY);
    // A Python thread: it may be inside an application's handler when the interpreter exits.
    let events = LogEvents { receiver: parking_lot::Mutex::new(receiver) };
    py.import("ottla._internal.logging_thread")?.call_method1("start", (events,))?;
    // After a fork, the previous queue is the parent's: dropping it could wait for the parent's threads.
    std::mem::forget(CURRENT_QUEUE.swap(Some(Arc::new(Queue { pid, sender }))));
    Ok(())
}

/// Waits until queued events are logged: the interpreter is about to exit, which ends every thread
/// that waits for the GIL.
pub(crate) fn stop(py: Python<'_>) {
    let Some(queue) = CURRENT_QUEUE.swap(None).filter(|queue| queue.pid == std::process::id()) else {
        return;
    };
    let (done, ended) = sync_channel(1);
    py.detach(move || {
        let deadline = Instant::now() + FLUSH_TIMEOUT;
        let mut end = QueueItem::End(done);
        while let Err(TrySendError::Full(unsent)) = queue.sender.try_send(end)
            && Instant::now() < deadline
        {
            end = unsent;
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = ended.recv_timeout(deadline.saturating_duration_since(Instant::now()));
    });
    STOPPED.store(true, Ordering::Release);
}

/// Refreshes the copies of Python's levels if they are old: Python does not report changes.
pub(crate) fn refresh_levels(py: Python<'_>) {
    let now = STARTED.elapsed().as_millis() as u64;
    let copied_at = LEVELS_COPIED_AT.load(Ordering::Relaxed);
    if now.saturating_sub(copied_at) >= LEVELS_MAX_AGE.as_millis() as u64 && copy_levels(py).is_err() {
        // An application that broke its `logging` keeps its last levels.
        LEVELS_COPIED_AT.store(now, Ordering::Relaxed);
    }
}

fn copy_levels(py: Python<'_>) -> PyResult<()> {
    LEVELS_COPIED_AT.store(STARTED.elapsed().as_millis() as u64, Ordering::Relaxed);
    let get_logger = py.import("logging")?.getattr("getLogger")?;
    let mut changed = false;
    for (name, stored) in LOGGERS.iter().zip(&LEVELS) {
        let level: i64 = get_logger.call1((*name,))?.call_method0("getEffectiveLevel")?.extract()?;
        let level = level.clamp(0, 255) as u8;
        changed |= stored.swap(level, Ordering::Relaxed) != level;
    }
    if changed {
        tracing::callsite::rebuild_interest_cache();
    }
    Ok(())
}

/// The core's log events, for the thread that passes them to Python's loggers.
///
/// Iterating waits for the next event and never ends. An event is a tuple of logger, level, file,
/// line and message.
#[pyclass(frozen, module = "ottla._core")]
pub(crate) struct LogEvents {
    receiver: parking_lot::Mutex<Receiver<QueueItem>>,
}

/// Logger, level, file, line and message.
type LogEvent = (&'static str, u8, &'static str, u32, String);

#[pymethods]
impl LogEvents {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> LogEvent {
        if STOPPED.load(Ordering::Acquire) {
            py.detach(park_forever);
        }
        match DROPPED.swap(0, Ordering::Relaxed) {
            0 => py.detach(|| self.wait()),
            dropped => {
                let message = format!("{dropped} log records were dropped: Python could not keep up");
                (LOGGERS[0], 30, file!(), line!(), message)
            }
        }
    }
}

impl LogEvents {
    fn wait(&self) -> LogEvent {
        if let Ok(message) = self.receiver.lock().recv() {
            match message {
                QueueItem::Event(event) => return event,
                QueueItem::End(done) => {
                    let _ = done.try_send(());
                }
            }
        }
        park_forever()
    }
}

/// Never returns: Python would now end this thread by unwinding its frames, some of which are Rust's.
fn park_forever() -> ! {
    loop {
        std::thread::park();
    }
}

struct PythonSubscriber;

impl Subscriber for PythonSubscriber {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        // Called again whenever the levels change.
        if self.enabled(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let level =
            LEVELS.get(logger_index(metadata.target())).map_or(30, |level| level.load(Ordering::Relaxed));
        metadata.is_event() && python_level(*metadata.level()) >= level
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        let lowest = LEVELS.iter().map(|level| level.load(Ordering::Relaxed)).min()?;
        Some(match lowest {
            0..=5 => LevelFilter::TRACE,
            6..=10 => LevelFilter::DEBUG,
            11..=20 => LevelFilter::INFO,
            21..=30 => LevelFilter::WARN,
            31..=40 => LevelFilter::ERROR,
            41.. => LevelFilter::OFF,
        })
    }

    fn event(&self, event: &Event<'_>) {
        let queue = CURRENT_QUEUE.load();
        let Some(queue) = queue.as_ref().filter(|queue| queue.pid == std::process::id()) else { return };
        let metadata = event.metadata();
        let text = EventText::of(event);
        let log_event = (
            LOGGERS.get(logger_index(metadata.target())).copied().unwrap_or_default(),
            python_level(*metadata.level()),
            metadata.file().unwrap_or_default(),
            metadata.line().unwrap_or_default(),
            text.into_line(),
        );
        if queue.sender.try_send(QueueItem::Event(log_event)).is_err() {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
    }

    // The core has no spans.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn logger_index(target: &str) -> usize {
    let name = if target.starts_with("ottla_mock") { "ottla.mock" } else { target };
    LOGGERS.iter().position(|logger| *logger == name).unwrap_or(0)
}

const fn python_level(level: Level) -> u8 {
    match level {
        Level::TRACE => 5,
        Level::DEBUG => 10,
        Level::INFO => 20,
        Level::WARN => 30,
        Level::ERROR => 40,
    }
}
