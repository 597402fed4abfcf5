//! The attempts to connect to bootstrap servers, for `connections()`, until the cluster is found.
//!
//! Invariant: there is one entry per server at most, and none once the cluster is found.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::connection::{ConnectionRole, ConnectionState, Owner, SetupProgress, Status, UNKNOWN_BROKER};
use crate::endpoint::Endpoint;
use crate::error::{Error, Kind};
use crate::retry::FAILURES_FORGOTTEN_AFTER;
use crate::retry::warning_pace::WarningPace;

/// The latest attempts of a client.
#[derive(Debug, Default)]
pub(crate) struct BootstrapAttempts {
    servers: Mutex<Vec<ServerAttempt>>,
    searches: Mutex<Searches>,
}

/// The callers that try the servers again after a failure.
#[derive(Debug, Default)]
struct Searches {
    running: usize,
    /// When the first of them began that has not found the cluster.
    since: Option<Instant>,
    /// When the last of them ended.
    ended: Option<Instant>,
}

#[derive(Debug)]
struct ServerAttempt {
    server: Endpoint,
    running: bool,
    progress: SetupProgress,
    last_error: Option<Error>,
    /// How often its failures are logged.
    pace: WarningPace,
}

/// An attempt that is running; dropping it gives the attempt up.
pub(super) struct RunningAttempt {
    attempts: Arc<BootstrapAttempts>,
    server: Endpoint,
    pub(super) progress: SetupProgress,
    /// Whether the attempt has succeeded or failed.
    ended: bool,
}

/// A caller that tries the servers again after a failure.
pub(super) struct Search(Arc<BootstrapAttempts>);

impl Drop for Search {
    fn drop(&mut self) {
        let mut searches = self.0.searches.lock();
        searches.running = searches.running.saturating_sub(1);
        searches.ended = Some(Instant::now());
    }
}

impl BootstrapAttempts {
    /// Marks a search, which tries servers that have failed again.
    pub(super) fn search(self: &Arc<Self>) -> Search {
        let (mut searches, now) = (self.searches.lock(), Instant::now());
        let is_old = |ended| now.saturating_duration_since(ended) > FAILURES_FORGOTTEN_AFTER;
        if searches.running == 0 && searches.ended.is_none_or(is_old) {
            searches.since = None;
        }
        searches.running = searches.running.saturating_add(1);
        searches.since.get_or_insert(now);
        Search(Arc::clone(self))
    }

    /// Since when the cluster is searched for; now if it is not.
    pub(super) fn searching_since(&self) -> Instant {
        self.searches.lock().since.unwrap_or_else(Instant::now)
    }

    /// Drops the entries of servers that are not tried any more.
    pub(super) fn retain(&self, is_tried: impl Fn(&Endpoint) -> bool) {
        self.servers.lock().retain(|entry| is_tried(&entry.server));
    }

    /// Begins an attempt.
    pub(super) fn begin(self: &Arc<Self>, server: &Endpoint) -> RunningAttempt {
        let progress = SetupProgress::default();
        let mut servers = self.servers.lock();
        match servers.iter_mut().find(|entry| entry.server == *server) {
            Some(entry) => (entry.running, entry.progress) = (true, progress.clone()),
            None => servers.push(ServerAttempt {
                server: server.clone(),
                running: true,
                progress: progress.clone(),
                last_error: None,
                pace: WarningPace::new(Instant::now()),
            }),
        }
        RunningAttempt { attempts: Arc::clone(self), server: server.clone(), progress, ended: false }
    }

    /// Drops all entries: the cluster is found.
    pub(super) fn found(&self) {
        self.servers.lock().clear();
        self.searches.lock().since = None;
    }

    /// The error of an attempt that has not ended, if there is one.
    pub(super) fn unended(&self) -> Option<Error> {
        let servers = self.servers.lock();
        let running = servers.iter().find(|entry| entry.running)?;
        Some(unended(&running.server, &running.progress))
    }

    /// The state of each server that has been tried. `retrying` is whether the servers will be tried again.
    pub(crate) fn status(&self, retrying: bool) -> Vec<Status> {
        let retrying = retrying || self.searches.lock().running > 0;
        let servers = self.servers.lock();
        let mut all: Vec<Status> = servers.iter().map(|entry| entry.status(retrying)).collect();
        all.sort_by(|one, other| one.address.cmp(&other.address));
        all
    }
}

/// Appends a hint to run the doctor, unless the credentials were refused: the network is fine then.
pub(super) fn with_doctor_hint(message: &str, kind: Kind, server: Option<&str>) -> String {
    match server {
        // The address may have an IP address behind it in parentheses, which the command does not
        // accept.
        Some(server) if kind == Kind::Bootstrap => {
            let server = server.split_whitespace().next().unwrap_or(server);
            format!("{message}; `ottla doctor {server}` checks each step")
        }
        _ => message.to_owned(),
    }
}

/// The error of an attempt that has not ended.
fn unended(server: &Endpoint, progress: &SetupProgress) -> Error {
    let (error, address) = (progress.unended("the bootstrap server does not respond"), server.to_string());
    let message = with_doctor_hint(error.message(), Kind::Bootstrap, Some(&address));
    error.with_message(message).address(address)
}

impl ServerAttempt {
    fn status(&self, retrying: bool) -> Status {
        let state = match (self.running, retrying) {
            (true, _) => ConnectionState::Connecting,
            (false, true) => ConnectionState::BackingOff,
            (false, false) => ConnectionState::Disconnected,
        };
        Status {
            broker: UNKNOWN_BROKER,
            role: ConnectionRole::Bootstrap,
            owner: Owner::CLIENT,
            address: self.server.to_string(),
            state,
            phase: if self.running { self.progress.phase() } else { None },
            phases: self.progress.phases(),
            connected_for: None,
            api_versions: Vec::new(),
            in_flight: 0,
            round_trip: None,
            throttled_for: None,
            last_error: self.last_error.clone(),
        }
    }
}

impl RunningAttempt {
    /// The error while the attempt has not ended.
    pub(super) fn unended(&self) -> Error {
        unended(&self.server, &self.progress)
    }

    /// Drops the entry: the server works.
    pub(super) fn succeed(mut self) {
        self.ended = true;
        self.attempts.servers.lock().retain(|entry| entry.server != self.server);
    }

    /// Records that the attempt failed, and logs that: at once, then at growing intervals.
    pub(super) fn fail(mut self, error: &Error) {
        self.end(error.clone());
        let mut servers = self.attempts.servers.lock();
        let entry = servers.iter_mut().find(|entry| entry.server == self.server);
        if entry.is_some_and(|entry| entry.pace.is_next(Instant::now())) {
            tracing::info!(target: "ottla.connection", server = %self.server, %error, "bootstrap server failed");
        }
    }

    fn end(&mut self, error: Error) {
        self.ended = true;
        self.progress.end();
        let mut servers = self.attempts.servers.lock();
        if let Some(entry) = servers.iter_mut().find(|entry| entry.server == self.server) {
            (entry.running, entry.last_error) = (false, Some(error));
        }
    }
}

impl Drop for RunningAttempt {
    fn drop(&mut self) {
        if !self.ended {
            let error = self.progress.unended("not connected before the call that needed it ended");
            self.end(error.address(self.server.to_string()));
        }
    }
}
