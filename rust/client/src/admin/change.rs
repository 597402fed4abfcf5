//! Changes of topics at the controller: the one loop behind each verb of this folder.
//!
//! Invariant: a topic is asked for again only until the controller has given it an outcome, and an error
//! says `maybe_done` unless the controller has surely changed nothing. A controller that resigns answers
//! NOT_CONTROLLER although the change may be in its log, and TOPIC_ALREADY_EXISTS after a lost response
//! may be about this call's own topic.

use std::collections::HashSet;

use ottla_protocol::{ErrorCode, Request};
use tokio::time::Duration;

use crate::cluster::{Client, Route};
use crate::error::{Error, Kind, Result};
use crate::printable::printable;

/// What the controller says of one topic: its name, a code and a message.
pub(super) struct Outcome {
    pub(super) topic: String,
    pub(super) code: ErrorCode,
    pub(super) message: Option<String>,
}

/// One verb: how it builds a request for some of the topics, in a version, and reads the response.
pub(super) struct Verb<'a, T, R: Request> {
    pub(super) what: &'static str,
    pub(super) name: fn(&T) -> &str,
    pub(super) build: &'a (dyn Fn(&[&T], i16) -> R + Sync),
    pub(super) outcomes: fn(R::Response) -> Vec<Outcome>,
}

/// Changes all `topics`. One that fails does not keep the others from being changed; the first error is
/// returned.
pub(super) async fn change<T: Sync, R: Request>(
    client: &Client,
    verb: &Verb<'_, T, R>,
    topics: &[T],
    timeout: Duration,
) -> Result<()> {
    let mut retry = client.retry(verb.what, timeout);
    let mut progress = Progress::new(topics, verb.name);
    while !progress.waiting.is_empty() {
        let generation = client.snapshot().generation;
        let mut sent = false;
        let attempt = async {
            let connection = client.connection(Route::Controller).await?;
            let version = connection.version::<R>(i16::MAX)?;
            let request = (verb.build)(&progress.waiting, version);
            sent = true;
            connection.request(&request, version).await
        };
        let again = match retry.attempt(attempt).await {
            Ok(response) => progress.process((verb.outcomes)(response)),
            Err(error) => Some(progress.lost(error, sent)?),
        };
        let Some(error) = again else { break };
        let doubtful = error.is_maybe_done();
        let marked = |error: Error| if doubtful { error.maybe_done() } else { error };
        client.pause_and_refresh(&mut retry, generation, error).await.map_err(marked)?;
    }
    progress.failed.map_or(Ok(()), Err)
}

/// How far one call has come.
struct Progress<'t, T> {
    name: fn(&T) -> &str,
    /// The topics without an outcome.
    waiting: Vec<&'t T>,
    /// Those of them that an earlier attempt may have changed.
    in_doubt: HashSet<&'t str>,
    /// The first error that is final.
    failed: Option<Error>,
}

impl<'t, T> Progress<'t, T> {
    fn new(topics: &'t [T], name: fn(&T) -> &str) -> Self {
        Self { name, waiting: topics.iter().collect(), in_doubt: HashSet::new(), failed: None }
    }

    /// Takes what a response says; returns why the topics that still wait have to be asked for again.
    fn process(&mut self, outcomes: Vec<Outcome>) -> Option<Error> {
        let mut again = None;
        for outcome in outcomes {
            let name = self.name;
            let Some(at) = self.waiting.iter().position(|topic| name(topic) == outcome.topic) else {
                continue;
            };
            let topic = self.waiting.swap_remove(at);
            let Err(error) = check(&outcome) else { continue };
            let refused = is_refusal(outcome.code);
            if !refused {
                self.in_doubt.insert(name(topic));
            }
            let error = if self.in_doubt.contains(name(topic)) { error.maybe_done() } else { error };
            if error.is_transient() && (!refused || outcome.code == ErrorCode::ThrottlingQuotaExceeded) {
                self.waiting.push(topic);
                again = Some(error);
            } else {
                self.failed.get_or_insert(error);
            }
        }
        let message = "the response leaves out some of the topics";
        let left_out = || Error::new(Kind::Protocol, message).maybe_done();
        again.or_else(|| (!self.waiting.is_empty()).then(left_out))
    }

    /// Takes note of a response that did not come; an error if it is of no use to try again.
    fn lost(&mut self, error: Error, sent: bool) -> Result<Error> {
        if sent {
            self.in_doubt.extend(self.waiting.iter().map(|topic| (self.name)(topic)));
        }
        let error = if self.in_doubt.is_empty() { error } else { error.maybe_done() };
        if error.is_transient() { Ok(error) } else { Err(error) }
    }
}

/// Whether a controller that answers this has surely changed nothing: it validates before it writes.
fn is_refusal(code: ErrorCode) -> bool {
    use ErrorCode as E;
    matches!(
        code,
        E::TopicAlreadyExists
            | E::UnknownTopicOrPartition
            | E::UnknownTopicId
            | E::InvalidTopicException
            | E::InvalidPartitions
            | E::InvalidReplicationFactor
            | E::InvalidReplicaAssignment
            | E::InvalidConfig
            | E::InvalidRequest
            | E::PolicyViolation
            | E::ThrottlingQuotaExceeded
            | E::TopicDeletionDisabled
            | E::UnsupportedVersion
            | E::TopicAuthorizationFailed
            | E::ClusterAuthorizationFailed
    )
}

/// A controller's verdict on one topic, with its message, which is made harmless for a terminal.
fn check(outcome: &Outcome) -> Result<()> {
    let Err(code) = outcome.code.ok() else { return Ok(()) };
    let error = Error::from_code(code).topic(&outcome.topic);
    let error = match outcome.message.as_deref() {
        None | Some("") => error,
        Some(message) => error.prefixed(printable(message)),
    };
    Err(match code {
        ErrorCode::InvalidPartitions | ErrorCode::InvalidReplicationFactor | ErrorCode::InvalidConfig => {
            error.as_kind(Kind::Config)
        }
        _ => error,
    })
}
