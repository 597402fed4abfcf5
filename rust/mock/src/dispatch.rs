//! From one request's bytes to its answer: versions, faults, the handler, and its waiting.
//!
//! Invariant: a request is handled under the state's lock in one piece, so that one that is cut off
//! by a stopping broker was applied whole or not at all.

use std::pin::Pin;

use bytes::Bytes;
use ottla_protocol::header::{RequestHeader, response_frame};
use ottla_protocol::wire::{Frame, Reader, Result as WireResult};
use ottla_protocol::{ApiKey, Request};
use tokio::time::Instant;

use crate::api::{self, Call, Pending, Serve, Served, served_versions, with_request_type};
use crate::fault::{Arrival, Plan, When};
use crate::log::{Checked, Refused};
use crate::session::Session;
use crate::shared::{Shared, now_ms};

/// A request as it came in.
pub(crate) struct Incoming<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) broker: i32,
    pub(crate) header: &'a RequestHeader,
    pub(crate) body: Reader,
    pub(crate) session: &'a mut Session,
    /// Ends when the client has hung up. Only a wait for something to happen is given up then: a
    /// request that was read is handled, as in Kafka.
    pub(crate) gone: Pin<&'a mut (dyn Future<Output = ()> + Send)>,
}

/// What goes back.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// A response.
    Answer(Frame),
    /// Bytes that are none.
    Raw(Bytes),
    /// Half of a response, and then the end.
    Half(Frame),
    /// Nothing, since none is wanted.
    Nothing,
    /// Nothing, ever again.
    Silence,
    /// The end of the connection.
    Close,
}

/// Answers one request. Like Kafka, it ends the connection on an unknown API or version.
pub(crate) async fn answer(incoming: Incoming<'_>) -> Verdict {
    let version = incoming.header.api_version;
    let Ok(api) = ApiKey::try_from(incoming.header.api_key) else { return Verdict::Close };
    let config = &incoming.shared.config;
    if !incoming.session.allows(config.sasl.as_ref(), api) {
        return Verdict::Close;
    }
    let Some((min, max)) = served_versions(config, api) else { return Verdict::Close };
    if !(min..=max).contains(&version) {
        if api != ApiKey::ApiVersions {
            return Verdict::Close;
        }
        let refusal = api::api_versions::unsupported(config);
        return response_frame(api, 0, incoming.header.correlation_id, &refusal)
            .map_or(Verdict::Close, Verdict::Answer);
    }
    with_request_type!(api, run, incoming).unwrap_or(Verdict::Close)
}

async fn run<R: Serve>(mut incoming: Incoming<'_>) -> Verdict {
    let request = match decode::<R>(&mut incoming.body, incoming.header.api_version) {
        Ok(request) => request,
        Err(error) => {
            tracing::debug!(broker = incoming.broker, request = R::NAME, %error, "unreadable request");
            return Verdict::Close;
        }
    };
    let arrived = Instant::now();
    let plan = meet_faults(&incoming, &request);
    if !plan.delay.is_zero() {
        tokio::time::sleep(plan.delay).await;
    }
    if plan.silence {
        return Verdict::Silence;
    }
    if plan.disconnect == Some(When::BeforeHandling) {
        return Verdict::Close;
    }
    if let Some(bytes) = plan.raw {
        return Verdict::Raw(bytes);
    }
    let (served, corrupted) = wait_for(&mut incoming, &request, &plan, arrived).await;
    if let Some((id, _)) = &plan.corrupt
        && !corrupted
    {
        incoming.shared.faults.lock().take_back(*id);
    }
    if plan.disconnect == Some(When::AfterHandling) {
        return Verdict::Close;
    }
    let mut response = match served {
        Served::Answer(response) => response,
        Served::Nothing => return Verdict::Nothing,
        Served::Close | Served::Until(_) => return Verdict::Close,
    };
    if let (Some(ms), Some(field)) = (plan.throttle, R::throttle_time(&mut response)) {
        *field = ms;
    }
    let header = incoming.header;
    match response_frame(R::API, header.api_version, header.correlation_id, &response) {
        Ok(frame) if plan.truncate => Verdict::Half(frame),
        Ok(frame) => Verdict::Answer(frame),
        Err(error) => {
            tracing::error!(broker = incoming.broker, request = R::NAME, %error, "unwritable response");
            Verdict::Close
        }
    }
}

/// Reads a request. Bytes after it are ignored, as in Kafka: librdkafka sends some (after a Metadata
/// request for all topics).
fn decode<R: Request>(body: &mut Reader, version: i16) -> WireResult<R> {
    let request = R::decode(body, version)?;
    if body.remaining() > 0 {
        tracing::warn!(request = R::NAME, version, left = body.remaining(), "bytes after a request");
    }
    Ok(request)
}

fn meet_faults<R: Serve>(incoming: &Incoming<'_>, request: &R) -> Plan {
    let shared = incoming.shared;
    if shared.faults.lock().is_empty() {
        return Plan::default();
    }
    let version = incoming.header.api_version;
    let targets = request.targets(version, &shared.state.lock());
    let plan = shared.faults.lock().plan(&Arrival {
        broker: incoming.broker,
        api: R::API,
        version,
        client_id: incoming.header.client_id.as_deref(),
        targets: &targets,
    });
    for (on, to) in &plan.moves {
        for target in targets.iter().filter(|target| on.covers(&target.topic, target.partition)) {
            let partition = target.partition.or(on.partition).unwrap_or(0);
            let moved = shared.change(|state| state.move_leader(&target.topic, partition, *to));
            if let Err(refusal) = moved {
                tracing::warn!(%refusal, "a fault could not move a leader");
            }
        }
    }
    plan
}

/// Calls the handler until it has an answer or its time is over. Also says whether the answer's
/// records were damaged.
async fn wait_for<R: Serve>(
    incoming: &mut Incoming<'_>,
    request: &R,
    plan: &Plan,
    arrived: Instant,
) -> (Served<R::Response>, bool) {
    let shared = incoming.shared;
    // Heard from before the first look at the state, so that no change is missed.
    let mut changes = shared.listen();
    let checked = request.check_records(incoming.header.api_version);
    let mut pending = Pending::default();
    loop {
        let waiting = Waiting { checked: &checked, pending: &mut pending, arrived };
        let (served, corrupted) = serve_once(incoming, request, plan, waiting);
        let Served::Until(moment) = served else { return (served, corrupted) };
        tokio::select! {
            // The deadline first: on a busy cluster something changes all the time.
            biased;
            () = tokio::time::sleep_until(moment) => {}
            changed = changes.changed() => if changed.is_err() {
                return (Served::Close, corrupted);
            },
            () = incoming.gone.as_mut() => return (Served::Close, corrupted),
        }
    }
}

/// What is kept between the calls of one handler.
struct Waiting<'a> {
    checked: &'a [Result<Checked, Refused>],
    pending: &'a mut Pending,
    arrived: Instant,
}

fn serve_once<R: Serve>(
    incoming: &mut Incoming<'_>,
    request: &R,
    plan: &Plan,
    waiting: Waiting<'_>,
) -> (Served<R::Response>, bool) {
    let shared = incoming.shared;
    let (served, changed, corrupted) = {
        let mut state = shared.state.lock();
        let mut call = Call {
            state: &mut state,
            session: &mut *incoming.session,
            broker: incoming.broker,
            version: incoming.header.api_version,
            client_id: incoming.header.client_id.as_deref(),
            now: now_ms(),
            clock: Instant::now(),
            arrived: waiting.arrived,
            pending: waiting.pending,
            checked: waiting.checked,
            errors: &plan.errors,
            late_errors: &plan.late_errors,
            omitted: &plan.omitted,
            corrupt: plan.corrupt.as_ref().map(|(_, on)| on),
            corrupted: false,
            changed: false,
        };
        (request.serve(&mut call), call.changed, call.corrupted)
    };
    if changed {
        shared.ring();
    }
    (served, corrupted)
}
