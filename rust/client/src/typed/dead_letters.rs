//! Dead letters: records that cannot be decoded, written to a topic with the reason before their batch is
//! delivered without them.
//!
//! Invariants: a batch is delivered only when each of its dead letters was acknowledged; a reader that stops
//! waiting does not write them again; if they cannot be written, that is an error of the read, and the records
//! are kept. They are written at least once: a batch that is read again writes its dead letters again.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;

use bytes::Bytes;
use ottla_protocol::records::Header;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::environment::BoxFuture;
use crate::error::{Error, Kind, Result};
use crate::producer::{Producer, Record};

/// The headers that a dead letter has besides those of its record: the message, and where the record is.
pub const DEAD_LETTER_HEADERS: [&str; 4] =
    ["__ottla.errors.message", "__ottla.errors.topic", "__ottla.errors.partition", "__ottla.errors.offset"];

/// Records of batches that were dropped before they were delivered are forgotten beyond this number.
const MAX_REMEMBERED: usize = 1_000_000;

/// A record that cannot be decoded.
#[derive(Debug, Clone)]
pub struct DeadLetter {
    /// The topic that it was read from.
    pub topic: Arc<str>,
    /// The partition.
    pub partition: i32,
    /// The offset.
    pub offset: i64,
    /// Milliseconds since 1970.
    pub timestamp: i64,
    /// The key.
    pub key: Option<Bytes>,
    /// The value.
    pub value: Option<Bytes>,
    /// The headers.
    pub headers: Vec<(Bytes, Option<Bytes>)>,
    /// Why it cannot be decoded.
    pub reason: String,
}

/// The topic, the partition and the offset of a record.
pub(crate) type RecordId = (Arc<str>, i32, i64);

impl DeadLetter {
    fn id(&self) -> RecordId {
        (Arc::clone(&self.topic), self.partition, self.offset)
    }
}

/// Writes dead letters.
pub trait DeadLetterSink: Debug + Send + Sync {
    /// Writes all, and returns when each is acknowledged. After an error, it is called with them again.
    fn write(&self, letters: Vec<DeadLetter>) -> BoxFuture<'_, Result<()>>;
}

/// A topic for dead letters.
#[derive(Debug)]
pub struct DeadLetterTopic {
    producer: Producer,
    topic: String,
}

impl DeadLetterTopic {
    /// A topic to which this producer writes.
    #[must_use]
    pub fn new(producer: Producer, topic: impl Into<String>) -> Self {
        Self { producer, topic: topic.into() }
    }

    async fn write_all(&self, letters: Vec<DeadLetter>) -> Result<()> {
        let mut deliveries = Vec::with_capacity(letters.len());
        for letter in &letters {
            if *letter.topic == *self.topic {
                let message = format!(
                    "topic {} cannot be the topic of its own dead letters: they would be read again without an end",
                    self.topic
                );
                return Err(Error::new(Kind::Config, message).topic(&self.topic));
            }
            let place = [letter.partition.to_string(), letter.offset.to_string()];
            let [partition, offset] = &place;
            let added =
                DEAD_LETTER_HEADERS.into_iter().zip([&letter.reason, &*letter.topic, partition, offset]);
            let own = letter.headers.iter().map(|(key, value)| Header { key, value: value.as_deref() });
            let added =
                added.map(|(key, value)| Header { key: key.as_bytes(), value: Some(value.as_bytes()) });
            let headers: Vec<Header<'_>> = own.chain(added).collect();
            let record = Record {
                timestamp: letter.timestamp.max(0),
                key: letter.key.as_deref(),
                value: letter.value.as_deref(),
                headers: &headers,
            };
            deliveries.push(self.producer.send(&self.topic, None, &record).await?);
        }
        for delivery in deliveries {
            delivery.wait().await?;
        }
        Ok(())
    }
}

impl DeadLetterSink for DeadLetterTopic {
    fn write(&self, letters: Vec<DeadLetter>) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let count = letters.len();
            let first = letters.first().map(|letter| (letter.id(), letter.reason.clone()));
            self.write_all(letters).await.map_err(|error| error.prefixed("writing dead letters"))?;
            if let Some(((topic, partition, offset), reason)) = first {
                tracing::warn!(
                    target: "ottla.schema",
                    "{count} records that cannot be decoded were written to topic {}, the first from {topic}-{partition} at offset {offset}: {reason}",
                    self.topic
                );
            }
            Ok(())
        })
    }
}

/// What became of a dead letter.
#[derive(Debug)]
enum State {
    Writing(watch::Receiver<Option<Result<()>>>),
    Written,
}

/// The dead letters of readers, and those that were written.
#[derive(Debug)]
pub struct DeadLetters {
    sink: Arc<dyn DeadLetterSink>,
    states: Arc<Mutex<HashMap<RecordId, State>>>,
}

impl DeadLetters {
    /// Dead letters that `sink` writes.
    #[must_use]
    pub fn new(sink: Arc<dyn DeadLetterSink>) -> Self {
        Self { sink, states: Arc::default() }
    }

    /// Whether the dead letter of a record was written.
    pub(crate) fn is_written(&self, id: &RecordId) -> bool {
        matches!(self.states.lock().get(id), Some(State::Written))
    }

    /// Forgets records whose batch is delivered.
    pub(crate) fn forget<'a>(&self, ids: impl IntoIterator<Item = &'a RecordId>) {
        let mut states = self.states.lock();
        for id in ids {
            states.remove(id);
        }
    }

    /// Writes dead letters, unless that is done or in progress. Cancel-safe: the writing goes on.
    pub(crate) async fn write(&self, letters: Vec<DeadLetter>) -> Result<()> {
        for mut writing in self.start(letters) {
            match writing.wait_for(Option::is_some).await.map(|result| result.clone()) {
                Ok(Some(result)) => result?,
                _ => {
                    let message = "the task that writes dead letters ended without a result";
                    return Err(Error::new(Kind::Internal, message));
                }
            }
        }
        Ok(())
    }

    /// Starts a task for the new letters; returns the tasks of all.
    fn start(&self, letters: Vec<DeadLetter>) -> Vec<watch::Receiver<Option<Result<()>>>> {
        let mut states = self.states.lock();
        if states.len() > MAX_REMEMBERED {
            states.retain(|_, state| matches!(state, State::Writing(_)));
        }
        let (mut tasks, mut new) = (Vec::new(), Vec::new());
        for letter in letters {
            match states.get(&letter.id()) {
                // A task that died leaves its channel closed.
                Some(State::Writing(task)) if task.has_changed().is_ok() || task.borrow().is_some() => {
                    if !tasks.iter().any(|known: &watch::Receiver<_>| known.same_channel(task)) {
                        tasks.push(task.clone());
                    }
                }
                Some(State::Written) => {}
                Some(State::Writing(_)) | None => new.push(letter),
            }
        }
        if !new.is_empty() {
            let ids: Vec<RecordId> = new.iter().map(DeadLetter::id).collect();
            let (sender, task) = watch::channel(None);
            for id in &ids {
                states.insert(id.clone(), State::Writing(task.clone()));
            }
            tasks.push(task);
            let (sink, states) = (Arc::clone(&self.sink), Arc::clone(&self.states));
            tokio::spawn(async move {
                let result = sink.write(new).await;
                {
                    let mut states = states.lock();
                    for id in ids {
                        match &result {
                            Ok(()) => states.insert(id, State::Written),
                            Err(_) => states.remove(&id),
                        };
                    }
                }
                sender.send_replace(Some(result));
            });
        }
        tasks
    }
}
