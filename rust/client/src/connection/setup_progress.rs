//! The steps of an attempt to connect, with their times: written by the task that connects, read by
//! `connections()`.
//!
//! Several addresses of a host may be tried at the same time. The steps shown are those of one address:
//! while some are tried, of the one that is furthest; then, of the one that connected, or else of the one
//! that got furthest before it failed.
//!
//! Invariant: besides the addresses being tried, the steps of only one other address are kept.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

use crate::error::{Error, Kind, Phase};

/// The progress of one attempt to connect. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct SetupProgress(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    dns: Option<Step>,
    /// The addresses that are being tried, in the order in which they began.
    running: Vec<(u32, Vec<Step>)>,
    next_number: u32,
    /// The steps of the address that connected, or else of the one that got furthest.
    ended: Vec<Step>,
    connected: bool,
}

#[derive(Debug, Clone, Copy)]
struct Step {
    phase: Phase,
    began: Instant,
    /// `None` for the current step.
    took: Option<Duration>,
}

impl Step {
    fn begin(phase: Phase) -> Self {
        Self { phase, began: Instant::now(), took: None }
    }

    fn end(&mut self) {
        self.took.get_or_insert_with(|| self.began.elapsed());
    }
}

fn enter(steps: &mut Vec<Step>, phase: Phase) {
    if let Some(last) = steps.last_mut() {
        last.end();
    }
    steps.push(Step::begin(phase));
}

impl State {
    /// The steps after DNS.
    fn steps(&self) -> &[Step] {
        // Of several, the one that began first: it has waited for the longest.
        let furthest = self.running.iter().rev().max_by_key(|(_, steps)| steps.len());
        furthest.map_or(&self.ended, |(_, steps)| steps)
    }

    fn shown(&self) -> impl Iterator<Item = &Step> {
        self.dns.iter().chain(self.steps())
    }
}

impl SetupProgress {
    /// Records that the host name is being resolved, as the first step.
    pub(crate) fn resolve(&self) {
        self.0.lock().dns = Some(Step::begin(Phase::Dns));
    }

    /// Records that the host name was resolved, or cannot be.
    pub(crate) fn resolved(&self) {
        self.0.lock().dns.iter_mut().for_each(Step::end);
    }

    /// Begins with an address.
    pub(super) fn begin_address(&self) -> AddressProgress<'_> {
        let mut state = self.0.lock();
        let number = state.next_number;
        state.next_number = number.wrapping_add(1);
        state.running.push((number, Vec::new()));
        AddressProgress { progress: self, number }
    }

    /// Records the step after connecting to a bootstrap server: the request of the metadata.
    pub(crate) fn request_metadata(&self) {
        enter(&mut self.0.lock().ended, Phase::Metadata);
    }

    /// Ends the attempt.
    pub(crate) fn end(&self) {
        let mut state = self.0.lock();
        state.dns.iter_mut().for_each(Step::end);
        state.ended.iter_mut().for_each(Step::end);
    }

    /// The current step, or else the last one; `None` before the first one.
    pub(crate) fn phase(&self) -> Option<Phase> {
        self.0.lock().shown().last().map(|step| step.phase)
    }

    /// An error with the current step, for an attempt that has not ended.
    pub(crate) fn unended(&self, message: &str) -> Error {
        let error = Error::new(Kind::Connection, message);
        match self.phase() {
            Some(phase) => error.phase(phase),
            None => error,
        }
    }

    /// The steps and the time that each took, or has taken so far.
    pub(crate) fn phases(&self) -> Vec<(Phase, Duration)> {
        let took = |step: &Step| (step.phase, step.took.unwrap_or_else(|| step.began.elapsed()));
        self.0.lock().shown().map(took).collect()
    }
}

/// The progress of one address; dropping it gives the address up.
pub(super) struct AddressProgress<'a> {
    progress: &'a SetupProgress,
    number: u32,
}

impl AddressProgress<'_> {
    pub(super) fn enter(&self, phase: Phase) {
        let mut state = self.progress.0.lock();
        if let Some((_, steps)) = state.running.iter_mut().find(|(number, _)| *number == self.number) {
            enter(steps, phase);
        }
    }

    /// Records the end: connected or failed.
    pub(super) fn end(self, connected: bool) {
        let mut state = self.progress.0.lock();
        let Some(steps) = state.take(self.number) else { return };
        // Of failures that got as far, the latest is the one that the error of the attempt describes.
        if connected || (!state.connected && steps.len() >= state.ended.len()) {
            (state.ended, state.connected) = (steps, connected);
        }
    }
}

impl Drop for AddressProgress<'_> {
    fn drop(&mut self) {
        let mut state = self.progress.0.lock();
        let Some(steps) = state.take(self.number) else { return };
        if !state.connected && steps.len() > state.ended.len() {
            state.ended = steps;
        }
    }
}

impl State {
    /// The steps of an address that is not tried any more.
    fn take(&mut self, address: u32) -> Option<Vec<Step>> {
        let at = self.running.iter().position(|(number, _)| *number == address)?;
        let mut steps = self.running.remove(at).1;
        steps.iter_mut().for_each(Step::end);
        Some(steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    const SECOND: Duration = Duration::from_secs(1);

    fn seconds(progress: &SetupProgress) -> Vec<(String, u64)> {
        progress.phases().iter().map(|(phase, took)| (phase.to_string(), took.as_secs())).collect()
    }

    fn expected(steps: &[(&str, u64)]) -> Vec<(String, u64)> {
        steps.iter().map(|(phase, took)| ((*phase).to_owned(), *took)).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn the_furthest_address_is_shown_and_then_the_one_that_connected() {
        let progress = SetupProgress::default();
        assert_eq!((progress.phase(), seconds(&progress)), (None, Vec::new()));
        progress.resolve();
        advance(SECOND).await;
        assert_eq!(seconds(&progress), expected(&[("DNS", 1)]));
        progress.resolved();
        let first = progress.begin_address();
        first.enter(Phase::Tcp);
        advance(SECOND).await;
        // As far as the first, which has waited for longer.
        let second = progress.begin_address();
        second.enter(Phase::Tcp);
        assert_eq!(seconds(&progress), expected(&[("DNS", 1), ("TCP", 1)]));
        advance(2 * SECOND).await;
        second.enter(Phase::ApiVersions);
        advance(SECOND).await;
        assert_eq!(seconds(&progress), expected(&[("DNS", 1), ("TCP", 2), ("ApiVersions", 1)]));
        assert_eq!(progress.phase(), Some(Phase::ApiVersions));
        // While an address is tried, one that failed is not shown.
        second.end(false);
        assert_eq!(seconds(&progress), expected(&[("DNS", 1), ("TCP", 4)]));
        first.end(true);
        advance(SECOND).await;
        assert_eq!(seconds(&progress), expected(&[("DNS", 1), ("TCP", 4)]));
    }

    #[tokio::test(start_paused = true)]
    async fn of_failed_addresses_the_one_that_got_furthest_is_kept() {
        let progress = SetupProgress::default();
        progress.resolve();
        progress.resolved();
        for (phases, took) in
            [(&[Phase::Tcp, Phase::Tls][..], 1), (&[Phase::Tcp], 2), (&[Phase::Tcp, Phase::Tls], 3)]
        {
            let address = progress.begin_address();
            for phase in phases {
                address.enter(*phase);
                advance(took * SECOND).await;
            }
            address.end(false);
        }
        // One that is given up counts if it got further.
        let given_up = progress.begin_address();
        given_up.enter(Phase::Tcp);
        given_up.enter(Phase::Tls);
        drop(given_up);
        assert_eq!(seconds(&progress), expected(&[("DNS", 0), ("TCP", 3), ("TLS", 3)]));
        assert_eq!(progress.phase(), Some(Phase::Tls));
        let given_up = progress.begin_address();
        for phase in [Phase::Tcp, Phase::Tls, Phase::ApiVersions] {
            given_up.enter(phase);
        }
        drop(given_up);
        assert_eq!(progress.phase(), Some(Phase::ApiVersions));
    }
}
