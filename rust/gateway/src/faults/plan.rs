//! [`SessionFaults`]: what injected faults do to each request of a session.
//!
//! Invariants: a request meets its faults once, also if it has to wait. A delayed request holds up those behind it, and
//! nothing else. After a response that never comes, or the end of the connection, no request passes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use ottla_faults::{FaultId, Hit, Reaction, RequestInfo, When};
use ottla_protocol::{ApiKey, ErrorCode};

use super::refused::{is_set_in_response, respond};
use super::response::ResponseFault;
use super::targets::{Targets, has_sessions};
use super::{Faults, Link, record};
use crate::events::Events;
use crate::session::{SessionStatus, unsupported_version};
use crate::stream::{RequestHead, Source};

/// The longest request that is gathered for the names in it; of a longer one the beginning counts.
const GATHERED_MAX: usize = 16 * 1024 * 1024;

/// What becomes of a request.
#[derive(Debug)]
pub(crate) enum Injected {
    /// It goes to the broker, and this happens to its response.
    Pass(Option<Box<ResponseFault>>),
    /// It goes to the broker, and the connection closes then, since no response follows.
    PassAndClose,
    /// It must be whole.
    Gather,
    /// It must wait for [`SessionFaults::wait`].
    Wait,
    /// It goes nowhere, and the client gets this, to which this happens.
    Respond(Source, Option<Box<ResponseFault>>),
}

/// The faults of a session.
#[derive(Debug)]
pub(crate) struct SessionFaults {
    faults: Arc<Faults>,
    targets: Targets,
    /// The hits of the request that is next.
    planned: Option<Plan>,
}

#[derive(Debug)]
struct Plan {
    hits: Vec<Hit>,
    /// When the request has met them.
    since: Instant,
}

impl Plan {
    /// When the request may go on, as far as the delays were not removed.
    fn until(&self, faults: &Faults) -> Option<Instant> {
        let delays = self.hits.iter().filter_map(|hit| match hit.then {
            Reaction::Delay(delay) if faults.has(hit.id) => Some(delay),
            _ => None,
        });
        let delay = delays.fold(Duration::ZERO, Duration::saturating_add);
        (!delay.is_zero()).then(|| self.since.checked_add(delay)).flatten()
    }
}

impl SessionFaults {
    pub(crate) fn new(faults: &Arc<Faults>) -> Self {
        Self { faults: Arc::clone(faults), targets: Targets::default(), planned: None }
    }

    /// Decides what becomes of a request.
    pub(crate) fn judge(
        &mut self,
        head: &RequestHead<'_>,
        now: Instant,
        (status, link, events): (&SessionStatus, &Link, &Events),
    ) -> Injected {
        let plan = match self.planned.take() {
            Some(mut plan) => {
                plan.hits.retain(|hit| self.faults.has(hit.id));
                plan
            }
            None => {
                let is_active = self.faults.is_active();
                if !is_active && !has_sessions(head.api) && !names_ids(head.api) {
                    return Injected::Pass(None);
                }
                let asks = has_sessions(head.api) || is_active && self.faults.asks_for_targets(head.api);
                if asks && !head.is_whole && head.length <= GATHERED_MAX {
                    return Injected::Gather;
                }
                let targets = if asks { self.targets.of(head, &self.faults) } else { Vec::new() };
                let hits = if is_active { self.hit(head, &targets, status, link) } else { Vec::new() };
                hits.iter().for_each(|hit| record(hit, Some(head.api), status, events));
                Plan { hits, since: now }
            }
        };
        // An error of the gateway's own needs all names.
        let needs_whole =
            !head.is_whole && plan.hits.iter().any(|hit| matches!(hit.then, Reaction::Error(_)));
        if needs_whole && head.length <= GATHERED_MAX {
            self.planned = Some(plan);
            return Injected::Gather;
        }
        if !link.is_draining() && plan.until(&self.faults).is_some_and(|until| until > now) {
            self.planned = Some(plan);
            return Injected::Wait;
        }
        self.carry_out(plan.hits, head, link)
    }

    /// Waits until the next request may go on.
    pub(crate) async fn wait(&self, link: &Link) {
        let mut removals = self.faults.removals.subscribe();
        while let Some(until) = self.planned.as_ref().and_then(|plan| plan.until(&self.faults)) {
            tokio::select! {
                () = tokio::time::sleep_until(until.into()) => return,
                _ = removals.changed() => {}
                () = link.drained() => return,
            }
        }
    }

    fn hit(
        &self,
        head: &RequestHead<'_>,
        targets: &[ottla_faults::FaultTarget],
        status: &SessionStatus,
        link: &Link,
    ) -> Vec<Hit> {
        self.faults.hit(&RequestInfo {
            // No broker has this id: the bootstrap address leads to any.
            broker: status.broker().unwrap_or(-1),
            api: head.api,
            version: head.version,
            client_id: head.client_id.and_then(|name| std::str::from_utf8(name).ok()),
            targets,
            link_faults: &link.faults(),
        })
    }

    fn carry_out(&self, hits: Vec<Hit>, head: &RequestHead<'_>, link: &Link) -> Injected {
        let mut response = ResponseFault::new(&self.faults);
        response.learns = names_ids(head.api);
        let (mut silences, mut closes) = (None::<FaultId>, None::<FaultId>);
        let (mut raw, mut unsupported) = (None::<(FaultId, Bytes)>, None::<FaultId>);
        let (mut errors, mut error_ids) = (Vec::new(), Vec::<FaultId>::new());
        for Hit { id, on, then } in hits {
            match then {
                Reaction::Error(code) | Reaction::ErrorAfterHandling(code)
                    if is_unsupported(head.api, code) =>
                {
                    unsupported = unsupported.or(Some(id));
                }
                Reaction::Error(code) if is_set_in_response(head.api) => response.errors.push((id, on, code)),
                Reaction::Error(code) => {
                    errors.push((on, code));
                    error_ids.push(id);
                }
                Reaction::ErrorAfterHandling(code) => response.errors.push((id, on, code)),
                Reaction::Disconnect(When::BeforeHandling) => closes = closes.or(Some(id)),
                Reaction::Disconnect(When::AfterHandling) => {
                    response.disconnect = response.disconnect.or(Some(id));
                }
                Reaction::Throttle(ms) => response.throttle = response.throttle.or(Some((id, ms))),
                Reaction::Silence => silences = silences.or(Some(id)),
                Reaction::Bytes(bytes) => raw = raw.or(Some((id, bytes))),
                Reaction::CorruptRecords => response.corrupt = response.corrupt.take().or(Some((id, on))),
                Reaction::TruncateFrame => response.truncate = response.truncate.or(Some(id)),
                Reaction::Cut(bytes) => link.cut_after(id, bytes),
                Reaction::Slow(rate) => link.slow_down(id, rate),
                // In the plan, refused when it was injected, or of connections.
                Reaction::Delay(_)
                | Reaction::MoveLeader { .. }
                | Reaction::OmitPartition(_)
                | Reaction::Freeze => {}
            }
        }
        let undo = |ids: &[FaultId]| ids.iter().for_each(|id| self.faults.undo_hit(*id));
        let own = if silences.is_some() {
            undo(closes.as_slice());
            Some(Source::Silence)
        } else if closes.is_some() {
            Some(Source::Close)
        } else {
            None
        };
        let raw_id = raw.as_ref().map(|(id, _)| *id);
        let own = match (own, raw) {
            (Some(own), _) => {
                undo(raw_id.as_slice());
                Some(own)
            }
            (None, raw) => raw.map(|(_, bytes)| Source::Raw(bytes)),
        };
        let own = if own.is_some() {
            undo(unsupported.as_slice());
            undo(&error_ids);
            own
        } else if unsupported.is_some() {
            unsupported_version(head.correlation_id).ok().map(Source::Gateway)
        } else if errors.is_empty() {
            None
        } else if !head.expects_response {
            // A broker closes the connection, since it cannot say otherwise that it has failed.
            Some(Source::Close)
        } else {
            let frame = respond(head, &errors, &self.faults);
            if frame.is_none() {
                undo(&error_ids);
            }
            frame.map(Source::Gateway)
        };
        match own {
            // Nothing follows to which something could happen.
            Some(source @ (Source::Silence | Source::Close)) => {
                response.undo();
                Injected::Respond(source, None)
            }
            Some(source) => {
                if matches!(source, Source::Raw(_)) || unsupported.is_some() {
                    response.undo_fields();
                    response.forget_fields();
                }
                Injected::Respond(source, response.is_needed().then(|| Box::new(response)))
            }
            None if head.expects_response => Injected::Pass(response.is_needed().then(|| Box::new(response))),
            None if response.disconnects() => {
                response.undo_changes();
                Injected::PassAndClose
            }
            None => {
                response.undo();
                Injected::Pass(None)
            }
        }
    }
}

/// Whether the error is the one of ApiVersions that has a response of its own: in the version that every client reads.
fn is_unsupported(api: ApiKey, code: ErrorCode) -> bool {
    api == ApiKey::ApiVersions && code == ErrorCode::UnsupportedVersion
}

/// Whether the responses of the API name topics with their ids.
fn names_ids(api: ApiKey) -> bool {
    matches!(api, ApiKey::Metadata | ApiKey::CreateTopics | ApiKey::DescribeTopicPartitions)
}
