//! [`AccessLog`]: a line of JSON for each connection that has ended.
//!
//! Invariants: no connection is left out in silence: a line says how many are missing. A file that cannot be written ends
//! nothing but the log.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use chrono::SecondsFormat;

use super::documents::{ended_connection, timestamp};
use super::json::Json;
use crate::gateway::Gateway;
use crate::shared::Shared;

/// The path that stands for standard error.
const STANDARD_ERROR: &str = "-";

/// Writes the connections of a gateway that have ended.
pub struct AccessLog {
    shared: Arc<Shared>,
    path: PathBuf,
    lines: Lines,
}

impl fmt::Debug for AccessLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessLog").field("path", &self.path).finish_non_exhaustive()
    }
}

impl AccessLog {
    /// Opens the file to append to, `-` for standard error. From now on ended connections are kept for it.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn open(gateway: &Gateway, path: &Path) -> io::Result<Self> {
        let lines = Lines::new(open(path)?);
        let shared = Arc::clone(gateway.shared());
        _ = shared.sessions.take_ended();
        Ok(Self { shared, path: path.to_owned(), lines })
    }

    /// Writes the connections that have ended since the last call. Those that cannot be written are counted, and a
    /// warning is logged if the line before could be.
    pub fn write(&mut self) {
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
            let name = match self.is_standard_error() {
                true => "standard error".to_owned(),
                false => self.path.display().to_string(),
            };
            let cause = cause(&error);
            tracing::warn!(target: "ottla.gateway", "the access log cannot be written, and connections will be missing in it: {name}: {cause}");
        }
    }

    /// Opens the file again, as after another program has renamed it.
    ///
    /// # Errors
    /// If it cannot be opened; the one that is open stays in use.
    pub fn reopen(&mut self) -> io::Result<()> {
        self.write();
        self.lines.file = open(&self.path)?;
        self.lines.is_torn = false;
        Ok(())
    }

    fn is_standard_error(&self) -> bool {
        self.path.as_os_str() == STANDARD_ERROR
    }
}

fn open(path: &Path) -> io::Result<Box<dyn Write + Send>> {
    if path.as_os_str() == STANDARD_ERROR {
        return Ok(Box::new(io::stderr()));
    }
    let file: File = OpenOptions::new().append(true).create(true).open(path)?;
    Ok(Box::new(file))
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
    fn new(file: Box<dyn Write + Send>) -> Self {
        Self { file, missing: 0, is_torn: false, is_failing: false }
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
    use parking_lot::Mutex;

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
        let mut lines = Lines::new(Box::new(Disk(Arc::clone(&disk))));
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
}
