//! Faults on demand: the gateway misbehaves towards the requests and connections that a test or an operator chooses.
//!
//! - `plan.rs`: [`SessionFaults`], what happens to each request of a session; `targets.rs`: what a request names.
//! - `refused.rs`: the responses with errors that the gateway gives itself.
//! - `response.rs`: [`ResponseFault`], what happens to a response; `items.rs`: the topics, partitions and error codes in it.
//! - `link.rs`: [`Link`], a connection that is slow, frozen or cut; `pace.rs`: how slow; `presence.rs`: whether
//!   the client of a frozen one is still there.
//!
//! Invariants: without an injected fault, a request costs one look at an atomic, and without `allow_faults` there is no
//! [`Faults`]. A fault that found nothing to act on has not hit. What an operator injects is in the log, in the events
//! and in the counts.

mod items;
mod link;
mod pace;
mod plan;
mod presence;
mod refused;
mod response;
mod targets;

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};

use ottla_faults::document;
use ottla_faults::{Fault, FaultId, FaultRegistry, Hit, InjectedFault, Match, Reaction, RequestInfo};
use ottla_protocol::{ApiKey, ErrorCode};
use parking_lot::Mutex;
use tokio::sync::watch;

pub(crate) use link::{Link, Toward};
pub(crate) use plan::{Injected, SessionFaults};
pub(crate) use presence::Presence;
pub(crate) use response::{CHANGED_MAX, ResponseFault};

use crate::events::{Event, EventKind, Events};
use crate::session::SessionStatus;
use crate::topic_ids::TopicIds;

/// Why a fault cannot be injected into a gateway.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// The gateway was started without faults.
    #[error("this gateway does not allow faults: start it with --allow-faults")]
    NotAllowed,
    /// A fault of the cluster's own state.
    #[error("a gateway has no fault {0}, which changes the cluster: only ottla.testing.MockCluster has it")]
    OfACluster(&'static str),
    /// A condition on requests, for a fault of all connections of a broker.
    #[error("freeze concerns all connections of a broker: its only condition is broker")]
    FreezeWithCondition,
    /// An error that is none.
    #[error("the fault {0} has no error: expected an error code other than NONE")]
    WithoutError(&'static str),
    /// As many faults as there may be.
    #[error("there are {0} faults already: remove some")]
    TooMany(usize),
    /// A document that is no fault.
    #[error(transparent)]
    Document(#[from] document::DocumentError),
}

/// The faults that there may be at one time.
const FAULTS_MAX: usize = 1_000;

/// The faults of a gateway.
#[derive(Debug)]
pub(crate) struct Faults {
    registry: Mutex<FaultRegistry>,
    /// Whether there is any fault.
    active: AtomicBool,
    /// Changes when a fault is removed.
    removals: watch::Sender<u64>,
    /// The faults that freeze connections, and the broker of each; `None` for all brokers.
    frozen: watch::Sender<Vec<(FaultId, Option<i32>)>>,
    /// The names of topics, since conditions name topics and many requests only their ids.
    names: TopicIds<String>,
}

impl Faults {
    pub(crate) fn new() -> Self {
        Self {
            registry: Mutex::default(),
            active: AtomicBool::new(false),
            removals: watch::Sender::new(0),
            frozen: watch::Sender::new(Vec::new()),
            names: TopicIds::default(),
        }
    }

    /// Whether there is any fault.
    pub(crate) fn is_active(&self) -> bool {
        self.active.load(Ordering::Relaxed)
    }

    /// Adds a fault.
    pub(crate) fn inject(&self, fault: Fault, events: &Events) -> Result<FaultId, FaultError> {
        if fault.then.is_of_a_cluster() {
            return Err(FaultError::OfACluster(fault.then.name()));
        }
        if let Reaction::Error(ErrorCode::None) | Reaction::ErrorAfterHandling(ErrorCode::None) = fault.then {
            return Err(FaultError::WithoutError(fault.then.name()));
        }
        let Match { broker, api, versions, client_id, topic, partition, skip } = &fault.on;
        let has_conditions = api.is_some()
            || versions.is_some()
            || client_id.is_some()
            || topic.is_some()
            || partition.is_some()
            || *skip > 0
            || fault.times.is_some();
        let freezes = matches!(fault.then, Reaction::Freeze);
        if freezes && has_conditions {
            return Err(FaultError::FreezeWithCondition);
        }
        let (broker, text) = (*broker, text(&fault));
        let mut registry = self.registry.lock();
        if registry.all().len() >= FAULTS_MAX {
            return Err(FaultError::TooMany(FAULTS_MAX));
        }
        let id = registry.inject(fault);
        self.active.store(true, Ordering::Relaxed);
        if freezes {
            // Under the lock: it cannot be removed before it is here.
            self.frozen.send_modify(|frozen| frozen.push((id, broker)));
        }
        drop(registry);
        tracing::warn!(target: "ottla.gateway", fault = id.0, "a fault was injected: {text}");
        events.push(Event::new(EventKind::FaultInjected).detail(&text));
        Ok(id)
    }

    /// Removes a fault; returns whether it was there.
    pub(crate) fn remove(&self, id: FaultId, events: &Events) -> bool {
        let removed = self.registry.lock().remove(id);
        self.removed(removed.as_slice(), events);
        removed.is_some()
    }

    /// Removes all faults; returns how many there were.
    pub(crate) fn clear(&self, events: &Events) -> usize {
        let removed = self.registry.lock().clear();
        self.removed(&removed, events);
        removed.len()
    }

    fn removed(&self, removed: &[InjectedFault], events: &Events) {
        self.active.store(!self.registry.lock().is_empty(), Ordering::Relaxed);
        self.frozen.send_modify(|frozen| {
            frozen.retain(|(id, _)| !removed.iter().any(|injected| injected.id == *id));
        });
        self.removals.send_modify(|removals| *removals = removals.wrapping_add(1));
        for injected in removed {
            let (text, hits) = (text(&injected.fault), injected.hits);
            let fault = injected.id.0;
            tracing::warn!(target: "ottla.gateway", fault, hits, "a fault was removed: {text}");
            events.push(Event::new(EventKind::FaultRemoved).detail(&text));
        }
    }

    /// The faults, in the order of their injection.
    pub(crate) fn all(&self) -> Vec<InjectedFault> {
        self.registry.lock().all().to_vec()
    }

    /// Injects a fault that is given as a JSON object; returns it as one, with its id.
    pub(crate) fn inject_document(&self, text: &[u8], events: &Events) -> Result<String, FaultError> {
        let id = self.inject(document::parse(text)?, events)?;
        let registry = self.registry.lock();
        let fields = registry.get(id).map(document::render_injected).unwrap_or_default();
        Ok(serde_json::Value::Object(fields).to_string())
    }

    /// The faults as a JSON array, in the order of their injection, with their hits.
    pub(crate) fn documents(&self) -> String {
        let registry = self.registry.lock();
        let documents = registry.all().iter().map(|injected| document::render_injected(injected).into());
        serde_json::Value::Array(documents.collect()).to_string()
    }

    /// How many requests or connections a fault has hit.
    pub(crate) fn hits(&self, id: FaultId) -> u64 {
        self.registry.lock().hits(id)
    }

    /// Whether a fault could hit requests of the API only because of what they name.
    fn asks_for_targets(&self, api: ApiKey) -> bool {
        let registry = self.registry.lock();
        let mut left = registry.all().iter().filter(|injected| !injected.is_exhausted());
        left.any(|injected| {
            let on = &injected.fault.on;
            on.has_target() && on.api.is_none_or(|wanted| wanted == api)
        })
    }

    /// The topics in the conditions of faults.
    fn topics(&self) -> Vec<String> {
        self.registry.lock().all().iter().filter_map(|injected| injected.fault.on.topic.clone()).collect()
    }

    /// The faults that hit a request.
    fn hit(&self, request: &RequestInfo<'_>) -> Vec<Hit> {
        let mut registry = self.registry.lock();
        let hits = registry.hit(request);
        for hit in &hits {
            if let Some(injected) = registry.get(hit.id).filter(|injected| injected.is_exhausted()) {
                let (fault, hits) = (hit.id.0, injected.hits);
                tracing::warn!(target: "ottla.gateway", fault, hits, "a fault is used up: {}", text(&injected.fault));
            }
        }
        hits
    }

    /// Whether a fault was not removed.
    fn has(&self, id: FaultId) -> bool {
        self.registry.lock().get(id).is_some()
    }

    /// Takes back a hit of a fault that found nothing to act on.
    fn undo_hit(&self, id: FaultId) {
        self.registry.lock().undo_hit(id);
    }
}

/// Shows a hit: in the events, and in the state and the counts of the session.
fn record(hit: &Hit, api: Option<ApiKey>, status: &SessionStatus, events: &Events) {
    let code = match &hit.then {
        Reaction::Disconnect(_) | Reaction::TruncateFrame | Reaction::Cut(_) | Reaction::Bytes(_) => {
            Some(ErrorCode::NetworkException)
        }
        Reaction::Silence => Some(ErrorCode::RequestTimedOut),
        // The code is in the response.
        _ => None,
    };
    status.faulted(hit.then.name(), api.zip(code));
    let of = api.map_or_else(String::new, |api| format!(" in {}", api.name()));
    events.push(Event::of(EventKind::FaultHit, status).detail(format_args!("{}{of}", hit.then.name())));
}

/// A fault for humans: its document, of which long bytes are cut.
fn text(fault: &Fault) -> String {
    let mut text = serde_json::Value::Object(document::render(fault)).to_string();
    if let Some((end, _)) = text.char_indices().nth(300) {
        text.truncate(end);
        text.push_str("...");
    }
    text
}
