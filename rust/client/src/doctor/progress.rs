//! The progress of a diagnosis: an event as each check starts, and another one as it ends.
//!
//! Invariants: a check that starts also ends, unless the diagnosis itself is dropped; sending never waits,
//! and the number of events is proportional to the number of steps in the facts.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use super::ProbeContext;
use super::check::{Check, Phase};
use super::facts::Step;
use crate::endpoint::Endpoint;
use crate::printable::printable;

/// Whether a check runs, or how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgressState {
    /// It runs.
    Started,
    /// It passed.
    Passed,
    /// It failed, with the cause, for people.
    Failed(String),
}

/// A check that starts or ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The phase of a client to which the check belongs.
    pub phase: Phase,
    /// The check.
    pub check: Check,
    /// What is checked, for people: a server, a broker, a partition, a group.
    pub target: String,
    /// Whether it runs, or how it ended.
    pub state: ProgressState,
    /// Its duration; zero as it starts.
    pub duration: Duration,
}

/// The subject of a check.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    /// `None` for bootstrap servers, where each check has a phase of its own.
    phase: Option<Phase>,
    target: String,
}

impl Subject {
    pub(super) fn new(phase: Phase, target: impl Into<String>) -> Self {
        Self { phase: Some(phase), target: target.into() }
    }

    /// A bootstrap server, or a broker at its advertised address.
    pub(super) fn server(endpoint: &Endpoint, broker: Option<i32>) -> Self {
        match broker {
            Some(id) => Self::new(Phase::Advertised, format!("broker {id} at {endpoint}")),
            None => Self { phase: None, target: format!("bootstrap server {endpoint}") },
        }
    }

    /// One address of a server; its name alone says which, if it is that address.
    pub(super) fn at(mut self, endpoint: &Endpoint, address: SocketAddr) -> Self {
        let is_literal = endpoint.host.parse::<IpAddr>().is_ok_and(|host| host == address.ip());
        if !is_literal {
            self.target = format!("{} ({})", self.target, address.ip());
        }
        self
    }

    pub(super) fn topics(name: Option<&str>) -> Self {
        let target = name.map_or("all topics".to_owned(), |name| format!("topic {}", printable(name)));
        Self::new(Phase::Metadata, target)
    }

    pub(super) fn partition(topic: &str, partition: i32) -> Self {
        Self::new(Phase::Leaders, format!("{}-{partition}", printable(topic)))
    }

    pub(super) fn group(group: &str) -> Self {
        Self::new(Phase::Coordinators, format!("group {}", printable(group)))
    }

    pub(super) fn controllers() -> Self {
        Self::new(Phase::Controllers, "KRaft controllers")
    }

    fn progress(&self, check: Check, state: ProgressState, duration: Duration) -> Progress {
        let phase = self.phase.unwrap_or_else(|| check.phase());
        Progress { phase, check, target: self.target.clone(), state, duration }
    }
}

impl ProbeContext {
    pub(super) fn report_start(&self, subject: &Subject, check: Check) {
        if let Some(progress) = &self.progress {
            send(progress, subject.progress(check, ProgressState::Started, Duration::ZERO));
        }
    }

    pub(super) fn report_end(&self, subject: &Subject, step: &Step) {
        if let Some(progress) = &self.progress {
            let failed = step.failure.as_ref().map(|failure| ProgressState::Failed(failure.message.clone()));
            let state = failed.unwrap_or(ProgressState::Passed);
            send(progress, subject.progress(step.check, state, step.duration));
        }
    }
}

fn send(progress: &UnboundedSender<Progress>, event: Progress) {
    // Without a receiver, nobody wants to know.
    let _ = progress.send(event);
}
