//! `Event` and `Events`: changes of the cluster and of the connections to it.

use std::time::Duration;

use ottla_client::EventSubscription as CoreSubscription;
use ottla_client::metadata::{Event as Core, Pattern};
use parking_lot::Mutex;
use pyo3::prelude::*;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time;

use crate::convert::errors;
use crate::convert::number;
use crate::runtime::{ProcessLocal, seconds, wait};

/// A change of the cluster, or of a connection to it.
///
/// ``str(event)`` is its message. Properties that do not apply to its kind are None.
#[pyclass(frozen, get_all, module = "ottla")]
pub(crate) struct Event {
    /// The kind of change, such as ``leader_changed`` or ``connection_lost``.
    ///
    /// ``missed`` reports that events came faster than they were read: the oldest were dropped.
    kind: &'static str,
    /// The id of the broker that the event is about.
    broker: Option<i32>,
    /// The broker's address as ``host:port``.
    address: Option<String>,
    /// The topic that the event is about.
    topic: Option<String>,
    /// The number of the partition that the event is about.
    partition: Option<i32>,
    /// The previous leader (None: none or unknown), or the previous number of partitions.
    before: Option<i64>,
    /// The new leader (None: none or unknown), or the new number of partitions.
    after: Option<i64>,
    /// The leader epoch of the new leader, if it is known.
    leader_epoch: Option<i32>,
    /// Why a connection was lost.
    cause: Option<String>,
    /// A sentence that describes the event.
    message: String,
}

#[pymethods]
impl Event {
    fn __str__(&self) -> &str {
        &self.message
    }

    fn __repr__(&self) -> String {
        format!("Event(kind={:?}, message={:?})", self.kind, self.message)
    }
}

impl From<&Core> for Event {
    fn from(event: &Core) -> Self {
        let mut this = Self {
            kind: "",
            broker: None,
            address: None,
            topic: None,
            partition: None,
            before: None,
            after: None,
            leader_epoch: None,
            cause: None,
            message: event.to_string(),
        };
        // Kafka uses -1 for none.
        let id = |id: i32| (id >= 0).then_some(i64::from(id));
        let count = |count: usize| i64::try_from(count).ok();
        match event {
            Core::BrokerAdded(broker) | Core::BrokerLost(broker) | Core::BrokerMoved { to: broker, .. } => {
                this.broker = Some(broker.id);
                this.address = Some(broker.endpoint.to_string());
            }
            Core::TopicAppeared { topic, partitions } | Core::TopicRecreated { topic, partitions } => {
                this.topic = Some(topic.to_string());
                this.after = count(*partitions);
            }
            Core::TopicGone { topic } => this.topic = Some(topic.to_string()),
            Core::PartitionsAdded { topic, from, to } => {
                this.topic = Some(topic.to_string());
                (this.before, this.after) = (count(*from), count(*to));
            }
            Core::LeaderChanged { topic, partition, from, to, epoch } => {
                this.topic = Some(topic.to_string());
                this.partition = Some(*partition);
                (this.before, this.after) = (id(*from), id(*to));
                this.leader_epoch = (*epoch >= 0).then_some(*epoch);
            }
            Core::ConnectionOpened { broker, address } => {
                (this.broker, this.address) = (Some(*broker), Some(address.clone()));
            }
            Core::ConnectionLost { broker, address, cause } => {
                (this.broker, this.address) = (Some(*broker), Some(address.clone()));
                this.cause = Some(cause.to_string());
            }
            _ => {}
        }
        this.kind = match event {
            Core::BrokerAdded(_) => "broker_added",
            Core::BrokerLost(_) => "broker_lost",
            Core::BrokerMoved { .. } => "broker_moved",
            Core::TopicAppeared { .. } => "topic_appeared",
            Core::TopicGone { .. } => "topic_gone",
            Core::TopicRecreated { .. } => "topic_recreated",
            Core::PartitionsAdded { .. } => "partitions_added",
            Core::LeaderChanged { .. } => "leader_changed",
            Core::ConnectionOpened { .. } => "connection_opened",
            Core::ConnectionLost { .. } => "connection_lost",
            Core::Missed(_) => "missed",
            Core::Closed => "closed",
        };
        this
    }
}

/// Keeps the client's metadata fresh for as long as it exists.
pub(crate) struct EventSubscription {
    /// The topics to track besides those that the client uses.
    pub(crate) _topics: Option<Pattern>,
    pub(crate) _core: CoreSubscription,
}

/// Changes of the cluster and of the client's connections since the call of ``events()``.
///
/// Iterating waits for the next event and ends when the client is closed. At most 1,024 unread
/// events are buffered; then the oldest are dropped, and an event of kind ``missed`` reports it.
#[pyclass(frozen, module = "ottla")]
pub(crate) struct Events {
    receiver: Mutex<Option<ProcessLocal<Receiver<Core>>>>,
    _subscription: EventSubscription,
}

impl Events {
    pub(crate) fn new(receiver: Receiver<Core>, subscription: EventSubscription) -> Self {
        Self { receiver: Mutex::new(Some(ProcessLocal::new(receiver))), _subscription: subscription }
    }

    /// Receives the next event, or `None` if none comes in time; fails after the last event.
    fn recv(&self, py: Python<'_>, timeout: Duration) -> PyResult<Option<Core>> {
        let receiver = self.receiver.lock().take();
        let mut owned = receiver.ok_or_else(|| {
            errors::closed("the client was closed, or another thread is waiting for the next event")
        })?;
        let received = match owned.get_mut() {
            Ok(receiver) => wait(py, async { time::timeout(timeout, receiver.recv()).await }),
            Err(error) => Err(error),
        };
        let event = match &received {
            Ok(Ok(Ok(event))) => Some(event.clone()),
            Ok(Ok(Err(RecvError::Lagged(missed)))) => Some(Core::Missed(*missed)),
            Ok(Ok(Err(RecvError::Closed))) => Some(Core::Closed),
            Ok(Err(_)) | Err(_) => None,
        };
        if !matches!(event, Some(Core::Closed)) {
            *self.receiver.lock() = Some(owned);
        }
        received?.map_or(Ok(None), |_| Ok(event))
    }
}

#[pymethods]
impl Events {
    /// Return the next event.
    ///
    /// Args:
    ///     timeout: seconds to wait. Default: no limit.
    ///
    /// Returns:
    ///     The event, or None if none came in time.
    ///
    /// Raises:
    ///     ClosedError: the client was closed, or another thread waits for the next event.
    #[pyo3(signature = (*, timeout=None))]
    fn next(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Option<Event>> {
        let event = self.recv(py, seconds(timeout, Duration::MAX)?)?;
        if matches!(event, Some(Core::Closed)) {
            return Err(errors::closed("the client was closed: there are no more events"));
        }
        Ok(event.as_ref().map(Event::from))
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Event>> {
        if self.receiver.lock().is_none() {
            return Ok(None);
        }
        loop {
            match self.recv(py, seconds(None, Duration::MAX)?)? {
                Some(Core::Closed) => return Ok(None),
                Some(event) => return Ok(Some(Event::from(&event))),
                None => {}
            }
        }
    }
}
