//! EndTxn: commits or aborts the transaction.
//!
//! Invariants: a commit is sent only after every record is acknowledged, and an end only while no request of
//! the transaction is in flight. A request whose response was lost is repeated until the coordinator confirms
//! the end, and the producer takes a new epoch after that, so that neither a late marker nor a late request
//! can touch the next transaction.

use std::sync::Arc;

use ottla_protocol::messages::end_txn::EndTxnRequest;
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::sleep;

use super::error_class::{ErrorClass, TransactionRequest};
use super::fencing::{Standing, explain, is_ambiguous, is_epoch_refusal, with_advice_if_clear};
use super::init_producer_id::{init_producer_id, with_advice};
use super::request_attempts::{Attempts, MIN_PAUSE, RequestFailure};
use super::{TransactionManager, TransactionProtocol, TransactionResult};
use crate::cluster::{Client, Coordinator, CoordinatorKind};
use crate::connection::api_versions_request;
use crate::error::{Error, Result};
use crate::producer::idempotence::ProducerIdAndEpoch;
use crate::producer::inner::ProducerInner;

/// How often an end is repeated that a broker refused although the coordinator knows the epoch.
const MOST_REFUSALS: u32 = 8;

/// Ends the transaction: waits for its records, and for the coordinator.
pub(super) async fn end(
    inner: Arc<ProducerInner>,
    manager: Arc<TransactionManager>,
    result: TransactionResult,
) -> Result<()> {
    {
        let _flushing = (result == TransactionResult::Commit).then(|| inner.accumulator.begin_flush());
        inner.wake.notify_one();
        // The sender fails the queued records of a transaction that is aborted.
        inner.accumulator.wait_until_empty().await;
    }
    let ended = end_at_coordinator(&inner, &manager, result).await;
    refresh_features(&inner.client, &manager);
    inner.wake.notify_one();
    match ended {
        Ok(()) => {}
        Err(RequestFailure { class, error }) => {
            manager.request_failed(class, &error);
            return Err(manager.shared.lock().state.failure().unwrap_or(error));
        }
    }
    if result == TransactionResult::Abort {
        // The application has dealt with them by aborting.
        inner.accumulator.failures.forget();
    }
    Ok(())
}

async fn end_at_coordinator(
    inner: &ProducerInner,
    manager: &TransactionManager,
    result: TransactionResult,
) -> Result<(), RequestFailure> {
    let client = &inner.client;
    let next = end_if_started(client, manager, result).await?;
    let supported = manager.supported_protocol(client);
    let new_epoch_for = {
        let mut shared = manager.shared.lock();
        if shared.state.has_epoch_of_v1() && supported == TransactionProtocol::V2 {
            shared.state.require_new_epoch();
        }
        shared.state.ended(next);
        shared.state.needs_new_epoch().then(|| shared.state.producer())
    };
    if let Some(current) = new_epoch_for {
        match init_producer_id(client, manager, current).await {
            Ok(producer) => manager.shared.lock().state.initialized(producer),
            // The transaction has ended as requested; the next call reports the error.
            Err(RequestFailure { class, error }) => {
                tracing::warn!(target: "ottla.transaction", %error, "the transaction has ended, but the producer cannot begin another one");
                manager.request_failed(class, &error);
            }
        }
    }
    Ok(())
}

/// Asks for the finalized features if they are old, so that the next transactions use the protocol of a
/// cluster that was upgraded. A failure has no effect: the brokers still support the current one.
fn refresh_features(client: &Client, manager: &Arc<TransactionManager>) {
    let features = &client.inner.settings.features;
    if !features.is_older_than(client.config().metadata_max_age) {
        return;
    }
    let (client, manager) = (client.clone(), Arc::clone(manager));
    tokio::spawn(async move {
        let id = manager.transactional_id();
        let request = api_versions_request();
        // Versions from 5 on also name the cluster.
        let sent = client.send_to_coordinator(CoordinatorKind::Transaction, id, &request, 4).await;
        match sent {
            Ok((_, response)) => client.inner.settings.features.update(&response),
            Err(error) => {
                tracing::debug!(target: "ottla.transaction", %error, "cannot ask for the cluster's features");
            }
        }
    });
}

/// Sends the end, if the coordinator may know of the transaction. Returns the next id and epoch, if the
/// coordinator assigned them.
async fn end_if_started(
    client: &Client,
    manager: &TransactionManager,
    result: TransactionResult,
) -> Result<Option<ProducerIdAndEpoch>, RequestFailure> {
    // First, because a registration in flight may start the transaction.
    let _request = manager.request_lock.lock().await;
    let (is_started, protocol, producer) = {
        let shared = manager.shared.lock();
        if let Some(error) = shared.state.failure() {
            let class = if error.is_fatal() { ErrorClass::Fatal } else { ErrorClass::Abortable };
            return Err(RequestFailure { class, error });
        }
        (shared.state.is_started(), shared.state.protocol(), shared.state.producer())
    };
    let Some(producer) = producer.filter(|_| is_started) else { return Ok(None) };
    let id = manager.transactional_id();
    let request = EndTxnRequest {
        transactional_id: id.to_owned(),
        producer_id: producer.id,
        producer_epoch: producer.epoch,
        committed: result == TransactionResult::Commit,
    };
    let mut refusals = 0;
    let ended = loop {
        let what = format!("{} of {id}", result.call());
        let ended = Attempts::new(client, manager, TransactionRequest::End(result), what)
            .run((CoordinatorKind::Transaction, id), |coordinator| send(coordinator, &request, protocol))
            .await;
        let Err(failure) = ended else { break ended };
        let is_refused = failure.error.code().is_some_and(is_epoch_refusal);
        if !is_ambiguous(&failure.error, protocol) || !(request.committed || is_refused) {
            break Err(failure);
        }
        let (standing, explained) = explain(client, manager, producer, failure.error.clone(), None).await;
        refusals += 1;
        if !(is_refused && refusals <= MOST_REFUSALS && may_still_end(result, standing)) {
            break Err(if request.committed { explained } else { failure });
        }
        sleep(client.backoff(refusals).max(MIN_PAUSE)).await;
    };
    ended
        .or_else(|failure| not_started(manager, result, failure))
        .map_err(|failure| in_doubt(manager, failure))
}

/// Whether a coordinator that refused the epoch contradicts what the coordinator knows: it was not the coordinator
/// any more, or not yet. A refusal had no effect, so that the end can be repeated.
fn may_still_end(result: TransactionResult, standing: Option<Standing>) -> bool {
    match standing {
        Some(Standing::Current) => true,
        Some(Standing::Aborted) => result == TransactionResult::Abort,
        // A response was lost, and the coordinator confirms the commit when it is repeated.
        Some(Standing::Committed) => result == TransactionResult::Commit,
        Some(Standing::Outdated | Standing::Fenced) | None => false,
    }
}

async fn send(
    coordinator: Coordinator,
    request: &EndTxnRequest,
    protocol: TransactionProtocol,
) -> Result<Option<ProducerIdAndEpoch>> {
    let is_v2 = protocol == TransactionProtocol::V2;
    let Some(version) = end_txn_version(is_v2, |max| coordinator.version::<EndTxnRequest>(max))? else {
        // Another coordinator may support it; the transaction cannot end under protocol 1.
        coordinator.forget();
        return Err(lacks_v2());
    };
    let response = coordinator.request(request, version).await?;
    coordinator.throttle(response.throttle_time_ms);
    match ErrorCode::from(response.error_code) {
        ErrorCode::None if version >= EndTxnRequest::FIRST_OF_PROTOCOL_2 && response.producer_id >= 0 => {
            Ok(Some(ProducerIdAndEpoch { id: response.producer_id, epoch: response.producer_epoch }))
        }
        ErrorCode::None => Ok(None),
        code => {
            if is_epoch_refusal(code) {
                // Its successor may know better.
                coordinator.forget();
            }
            let error = coordinator.refusal(code).lacking(ApiKey::EndTxn, &request.transactional_id);
            Err(match request.committed {
                true => with_advice_if_clear(error, code, protocol),
                false => with_advice(error, code),
            })
        }
    }
}

/// The version of EndTxn that ends a transaction of protocol 1 or 2, negotiated with its coordinator; `None`
/// if that one does not support protocol 2.
pub(crate) fn end_txn_version(
    is_v2: bool,
    negotiate: impl FnOnce(i16) -> Result<i16>,
) -> Result<Option<i16>> {
    let version = negotiate(if is_v2 {
        EndTxnRequest::FIRST_OF_PROTOCOL_2
    } else {
        EndTxnRequest::FIRST_OF_PROTOCOL_2 - 1
    })?;
    Ok((!is_v2 || version >= EndTxnRequest::FIRST_OF_PROTOCOL_2).then_some(version))
}

/// The error of a coordinator that cannot end a transaction of protocol 2; another one may.
pub(crate) fn lacks_v2() -> Error {
    let message = "the coordinator does not support version 2 of the transaction protocol, under which the transaction began";
    Error::with_code(ErrorCode::CoordinatorNotAvailable, message)
}

/// Accepts INVALID_TXN_STATE for an abort if it is not known whether anything reached the coordinator: there
/// is nothing to abort, and a new epoch follows.
fn not_started(
    manager: &TransactionManager,
    result: TransactionResult,
    failure: RequestFailure,
) -> Result<Option<ProducerIdAndEpoch>, RequestFailure> {
    let nothing = failure.error.code() == Some(ErrorCode::InvalidTxnState);
    let is_unsure = manager.shared.lock().state.needs_new_epoch();
    if nothing && is_unsure && result == TransactionResult::Abort { Ok(None) } else { Err(failure) }
}

/// Marks the failure if an earlier attempt may have ended the transaction.
fn in_doubt(manager: &TransactionManager, failure: RequestFailure) -> RequestFailure {
    let is_unsure = manager.shared.lock().state.needs_new_epoch();
    let RequestFailure { class, error } = failure;
    let is_final = class == ErrorClass::Fatal;
    RequestFailure { class, error: if is_unsure && is_final { error.maybe_done() } else { error } }
}
