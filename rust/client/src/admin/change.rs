//! Changes of topics at the controller: the loop that all operations share.
//!
//! Invariant: a topic is sent again only until the controller has returned its result, and an error says
//! `maybe_done` unless the controller has certainly changed nothing. A controller that resigns returns
//! NOT_CONTROLLER although the change may be in its log, and TOPIC_ALREADY_EXISTS after a lost response
//! may be about this call's own topic.

use std::collections::HashSet;

use ottla_protocol::{ErrorCode, Request};
use tokio::time::Duration;

use crate::cluster::{Client, Route};
use crate::error::{Error, Kind, Result};
use crate::printable::printable;

/// The controller's result for one topic.
pub(super) struct TopicResult {
    pub(super) topic: String,
    pub(super) code: ErrorCode,
    pub(super) message: Option<String>,
}

/// An operation: how to build a request for some of the topics, and how to read the response.
pub(super) struct TopicOperation<'a, T, R: Request> {
    pub(super) what: &'static str,
    pub(super) name: fn(&T) -> &str,
    pub(super) build: &'a (dyn Fn(&[&T], i16) -> R + Sync),
    pub(super) results: fn(R::Response) -> Vec<TopicResult>,
}

/// Changes all `topics`. A failure does not prevent the others from being changed; the first error is
/// returned.
pub(super) async fn change<T: Sync, R: Request>(
    client: &Client,
    operation: &TopicOperation<'_, T, R>,
    topics: &[T],
    timeout: Duration,
) -> Result<()> {
    let mut retry = client.retry(operation.what, timeout);
    let mut progress = ChangeProgress::new(topics, operation.name);
    while !progress.pending.is_empty() {
        let generation = client.snapshot().generation;
        let mut sent = false;
        let attempt = async {
            let connection = client.connection(Route::Controller).await?;
            let version = connection.version::<R>(i16::MAX)?;
            let request = (operation.build)(&progress.pending, version);
            sent = true;
            connection.request(&request, version).await
        };
        let retry_cause = match retry.attempt(attempt).await {
            Ok(response) => progress.process((operation.results)(response)),
            Err(error) => Some(progress.lost(error, sent)?),
        };
        let Some(error) = retry_cause else { break };
        let doubtful = error.is_maybe_done();
        let marked = |error: Error| if doubtful { error.maybe_done() } else { error };
        client.pause_and_refresh(&mut retry, generation, error).await.map_err(marked)?;
    }
    progress.failed.map_or(Ok(()), Err)
}

/// The progress of one call.
struct ChangeProgress<'t, T> {
    name: fn(&T) -> &str,
    /// The topics without a result.
    pending: Vec<&'t T>,
    /// Pending topics that an earlier attempt may have changed.
    in_doubt: HashSet<&'t str>,
    /// The first final error.
    failed: Option<Error>,
}

impl<'t, T> ChangeProgress<'t, T> {
    fn new(topics: &'t [T], name: fn(&T) -> &str) -> Self {
        Self { name, pending: topics.iter().collect(), in_doubt: HashSet::new(), failed: None }
    }

    /// Processes a response. Returns why the pending topics must be retried, if any are left.
    fn process(&mut self, results: Vec<TopicResult>) -> Option<Error> {
        let mut retry_cause = None;
        for result in results {
            let name = self.name;
            let Some(at) = self.pending.iter().position(|topic| name(topic) == result.topic) else {
                continue;
            };
            let topic = self.pending.swap_remove(at);
            let Err(error) = check(&result) else { continue };
            let refused = is_refusal(result.code);
            if !refused {
                self.in_doubt.insert(name(topic));
            }
            let error = if self.in_doubt.contains(name(topic)) { error.maybe_done() } else { error };
            if error.is_transient() && (!refused || result.code == ErrorCode::ThrottlingQuotaExceeded) {
                self.pending.push(topic);
                retry_cause = Some(error);
            } else {
                self.failed.get_or_insert(error);
            }
        }
        let message = "the response lacks some of the topics";
        let left_out = || Error::new(Kind::Protocol, message).maybe_done();
        retry_cause.or_else(|| (!self.pending.is_empty()).then(left_out))
    }

    /// Processes a failed attempt. Returns the cause of the retry, or an error if a retry would not
    /// help.
    fn lost(&mut self, error: Error, sent: bool) -> Result<Error> {
        if sent {
            self.in_doubt.extend(self.pending.iter().map(|topic| (self.name)(topic)));
        }
        let error = if self.in_doubt.is_empty() { error } else { error.maybe_done() };
        if error.is_transient() { Ok(error) } else { Err(error) }
    }
}

/// Whether a controller that returns this code has certainly changed nothing: it validates before it
/// writes.
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

/// Converts the controller's result for one topic. Its message is escaped for terminals.
fn check(result: &TopicResult) -> Result<()> {
    let Err(code) = result.code.ok() else { return Ok(()) };
    let error = Error::from_code(code).topic(&result.topic);
    let error = match result.message.as_deref() {
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
