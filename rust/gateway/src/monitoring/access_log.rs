//! [`AccessLog`]: a line of JSON for each connection that has ended.
//!
//! Invariants: no connection is left out in silence: a line says how many are missing. A file that cannot be written ends
//! nothing but the log. A reader that does not read holds up a thread that does nothing else: what ends meanwhile is kept
//! up to a limit, and counted beyond it.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use chrono::SecondsFormat;
use parking_lot::Mutex;

use super::documents::{ended_connection, timestamp};
use super::json::Json;
use crate::gateway::Gateway;
use crate::shared::Shared;

/// The path that stands for standard error.
const STANDARD_ERROR: &str = "-";
/// How long the lines before a new file may take.
const REOPEN_TIMEOUT: Duration = Duration::from_secs(1);
/// The time between two attempts to give an order.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Writes the connections of a gateway that have ended, on a thread of its own.
pub struct AccessLog {
    path: PathBuf,
    orders: SyncSender<Order>,
}

/// What the thread does once it has written the connections that have ended.
enum Order {
    /// Nothing else.
    Write,
    /// Tells that it has.
    Tell(SyncSender<()>),
    /// Goes on in this file, if it is still there, and tells that it has.
    Reopen(Arc<Mutex<Option<Opened>>>, SyncSender<()>),
}

impl fmt::Debug for AccessLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessLog").field("path", &self.path).finish_non_exhaustive()
    }
}

impl AccessLog {
    /// Opens the file to append to, `-` for standard error. From now on ended connections are kept for it, and those that
    /// ended before if the gateway has kept them.
    ///
    /// # Errors
    /// If the file cannot be opened, or the thread cannot be started.
    pub fn open(gateway: &Gateway, path: &Path) -> io::Result<Self> {
        let lines = Lines::new(Opened::new(path)?);
        let shared = Arc::clone(gateway.shared());
        shared.sessions.keep_ended();
        // While one order waits, another would add nothing.
        let (orders, received) = sync_channel(1);
        let writer = Writer { shared, lines, path: path.to_owned() };
        thread::Builder::new().name("access log".to_owned()).spawn(move || writer.run(&received))?;
        Ok(Self { path: path.to_owned(), orders })
    }

    /// Lets the connections that have ended be written, and does not wait for it. Those that cannot be written are
    /// counted, and a warning is logged if the line before could be.
    pub fn write(&self) {
        // If another order waits, they are written with it.
        _ = self.orders.try_send(Order::Write);
    }

    /// Writes the connections that have ended, and waits for it at most this long; returns whether it is done.
    pub fn flush(&self, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        let (done, is_done) = sync_channel(1);
        self.order(Order::Tell(done), deadline)
            && is_done.recv_timeout(deadline.saturating_duration_since(Instant::now())).is_ok()
    }

    /// Opens the file again, as after another program has renamed it: connections that end from now on are in the new
    /// one.
    ///
    /// # Errors
    /// If it cannot be opened, or the lines before are not written in time; the one that is open stays in use.
    pub fn reopen(&self) -> io::Result<()> {
        let deadline = Instant::now() + REOPEN_TIMEOUT;
        let opened = Arc::new(Mutex::new(Some(Opened::new(&self.path)?)));
        let (done, is_done) = sync_channel(1);
        if self.order(Order::Reopen(Arc::clone(&opened), done), deadline) {
            _ = is_done.recv_timeout(deadline.saturating_duration_since(Instant::now()));
        }
        // A file that the thread has not taken by now is taken back, lest it changes files unseen later.
        match opened.lock().take() {
            None => Ok(()),
            Some(_) => Err(too_slow()),
        }
    }

    /// Gives an order; returns whether there was room for it in time.
    fn order(&self, mut order: Order, deadline: Instant) -> bool {
        loop {
            match self.orders.try_send(order) {
                Ok(()) => return true,
                Err(TrySendError::Full(unsent)) if Instant::now() < deadline => order = unsent,
                Err(_) => return false,
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

/// The thread that writes.
struct Writer {
    shared: Arc<Shared>,
    lines: Lines,
    path: PathBuf,
}

impl Writer {
    /// Writes until the log is dropped.
    fn run(mut self, orders: &Receiver<Order>) {
        for order in orders {
            self.write();
            match order {
                Order::Write => {}
                Order::Tell(done) => _ = done.try_send(()),
                Order::Reopen(opened, done) => {
                    if let Some(opened) = opened.lock().take() {
                        self.lines.go_on_in(opened);
                    }
                    _ = done.try_send(());
                }
            }
        }
    }

    fn write(&mut self) {
        let (ended, missing) = self.shared.sessions.take_ended();
        let time = timestamp(SystemTime::now(), SecondsFormat::Millis);
        let documents = ended.iter().map(|session| {
            let mut fields = vec![("time".to_owned(), Json::from(time.as_str()))];
            fields.extend(ended_connection(session));
            Json::Object(fields)
        });
        if let Err(error) = self.lines.write(documents, missing)
            && !std::mem::replace(&mut self.lines.is_failing, true)
        {
            let name = match self.path.as_os_str() == STANDARD_ERROR {
                true => "standard error".to_owned(),
                false => self.path.display().to_string(),
            };
            let cause = cause(&error);
            tracing::warn!(target: "ottla.gateway", "the access log cannot be written, and connections will be missing in it: {name}: {cause}");
        }
    }
}

/// A file that was opened.
struct Opened {
    file: Box<dyn Write + Send>,
    /// Whether its last line was cut off; `None` if it cannot tell.
    is_torn: Option<bool>,
}

impl Opened {
    fn new(path: &Path) -> io::Result<Self> {
        if path.as_os_str() == STANDARD_ERROR {
            return Ok(Self { file: Box::new(io::stderr()), is_torn: None });
        }
        let file: File = OpenOptions::new().append(true).create(true).open(path)?;
        let is_torn = file.metadata()?.is_file().then(|| ends_within_a_line(path).unwrap_or(false));
        Ok(Self { file: Box::new(file), is_torn })
    }
}

/// Whether a file has bytes after its last line break. It may be one that can only be written.
fn ends_within_a_line(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

/// The cause of an error, without the number that the system has for it.
fn cause(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// The lines of a file.
struct Lines {
    file: Box<dyn Write + Send>,
    /// The connections that no line has.
    missing: u64,
    /// Whether the last line was cut off.
    is_torn: bool,
    is_failing: bool,
}

impl Lines {
    fn new(opened: Opened) -> Self {
        let is_torn = opened.is_torn.unwrap_or(false);
        Self { file: opened.file, missing: 0, is_torn, is_failing: false }
    }

    fn go_on_in(&mut self, opened: Opened) {
        self.file = opened.file;
        self.is_torn = opened.is_torn.unwrap_or(self.is_torn);
    }

    /// Writes a line for each document, after one that says how many are missing.
    fn write(&mut self, documents: impl ExactSizeIterator<Item = Json>, missing: u64) -> io::Result<()> {
        self.missing += missing;
        let (count, mut written) = (documents.len() as u64, 0);
        let result = self.write_all(documents, &mut written);
        if result.is_err() {
            self.missing += count - written;
        }
        result
    }

    fn write_all(&mut self, documents: impl Iterator<Item = Json>, written: &mut u64) -> io::Result<()> {
        if self.missing > 0 {
            self.line(&Json::object([("missing", Json::from(self.missing))]))?;
            self.missing = 0;
        }
        for document in documents {
            self.line(&document)?;
            *written += 1;
        }
        Ok(())
    }

    fn line(&mut self, document: &Json) -> io::Result<()> {
        // Ends a line that was cut off.
        let text = format!("{}{}\n", if self.is_torn { "\n" } else { "" }, document.line());
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let written = match self.file.write(rest) {
                Ok(0) => return Err(too_slow()),
                Ok(written) => written,
                Err(error) if error.kind() == ErrorKind::Interrupted => 0,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(too_slow()),
                Err(error) => return Err(error),
            };
            self.is_torn |= written > 0;
            rest = rest.get(written..).unwrap_or_default();
        }
        (self.is_torn, self.is_failing) = (false, false);
        Ok(())
    }
}

fn too_slow() -> io::Error {
    io::Error::new(ErrorKind::WouldBlock, "its reader is too slow")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file whose disk has room for some bytes.
    struct Disk(Arc<Mutex<(Vec<u8>, usize)>>);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let (written, room) = &mut *self.0.lock();
            if *room == 0 {
                return Err(ErrorKind::StorageFull.into());
            }
            let taken = bytes.len().min(*room);
            written.extend_from_slice(&bytes[..taken]);
            *room -= taken;
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_that_was_cut_off_is_ended_and_what_is_missing_is_counted() {
        let disk = Arc::new(Mutex::new((Vec::new(), 10)));
        let mut lines = Lines::new(Opened { file: Box::new(Disk(Arc::clone(&disk))), is_torn: None });
        let some = |count: i32| {
            (0..count)
                .map(|n| Json::object([("a long name", n)].map(|(k, n)| (k, Json::from(n)))))
                .collect::<Vec<_>>()
        };
        assert!(lines.write(some(2).into_iter(), 0).is_err());
        assert!(lines.write(some(1).into_iter(), 4).is_err());
        disk.lock().1 = 1000;
        assert!(lines.write(some(1).into_iter(), 0).is_ok());
        let text = String::from_utf8_lossy(&disk.lock().0).into_owned();
        assert_eq!(text, "{\"a long n\n{\"missing\": 7}\n{\"a long name\": 0}\n");
    }
    #[test]
    fn a_line_that_another_process_left_unfinished_is_ended() -> io::Result<()> {
        let path = std::env::temp_dir().join(format!("ottla-access-log-{}", std::process::id()));
        for (before, after) in
            [("", "{}\n"), ("{\"a\": 1}\n", "{\"a\": 1}\n{}\n"), ("{\"a\"", "{\"a\"\n{}\n")]
        {
            std::fs::write(&path, before)?;
            let document = || [Json::Object(Vec::new())].into_iter();
            Lines::new(Opened::new(&path)?).write(document(), 0)?;
            assert_eq!(std::fs::read_to_string(&path)?, after);
            // The same after a reload, with the file that is there already.
            std::fs::write(&path, before)?;
            let disk = Disk(Arc::new(Mutex::new((Vec::new(), 1))));
            let mut lines = Lines::new(Opened { file: Box::new(disk), is_torn: None });
            assert!(lines.write(document(), 0).is_err());
            lines.go_on_in(Opened::new(&path)?);
            lines.write(document(), 0)?;
            assert_eq!(
                std::fs::read_to_string(&path)?,
                format!(
                    "{before}{}{{\"missing\": 1}}\n{}",
                    if before.ends_with('"') { "\n" } else { "" },
                    "{}\n"
                )
            );
        }
        std::fs::remove_file(&path)
    }
}
