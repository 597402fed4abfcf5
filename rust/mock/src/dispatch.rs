//! From one request's bytes to its response: API versions, faults, the handler, and waiting.
//!
//! Invariant: a request is handled in one piece under the state's lock, so that a request cut off by a
//! stopping broker was applied completely or not at all.

use std::pin::Pin;

use bytes::Bytes;
use ottla_protocol::header::{RequestHeader, response_frame};
use ottla_protocol::wire::{Frame, Reader, Result as WireResult};
use ottla_protocol::{ApiKey, Request};
use tokio::time::Instant;

use crate::api::{
    self, HandlerResult, Pending, RequestContext, RequestHandler, supported_versions, with_request_type,
};
use crate::clock::now_ms;
use crate::fault::{FaultPlan, FaultTarget, RequestInfo, When};
use crate::log::{AppendError, ValidatedBatch};
use crate::session::Session;
use crate::shared::SharedCluster;
use crate::state::ClusterState;

/// A request that arrived on a connection.
pub(crate) struct IncomingRequest<'a> {
    pub(crate) shared: &'a SharedCluster,
    pub(crate) broker: i32,
    /// The number of the connection.
    pub(crate) connection: u64,
    pub(crate) header: &'a RequestHeader,
    pub(crate) body: Reader,
    pub(crate) session: &'a mut Session,
    /// Completes when the client has disconnected. Only waiting ends then: a request that was read is
    /// handled, as in Kafka.
    pub(crate) disconnected: Pin<&'a mut (dyn Future<Output = ()> + Send)>,
}

/// What the connection does after a request.
#[derive(Debug)]
pub(crate) enum ResponseAction {
    /// Send a response.
    Respond(Frame),
    /// Send these bytes instead of a response.
    Raw(Bytes),
    /// Send half of a response and close the connection.
    Truncated(Frame),
    /// Send nothing, as for `acks=0`.
    NoResponse,
    /// Send nothing more, and keep the connection open.
    Silence,
    /// Close the connection.
    Close,
}

/// Handles one request. Like Kafka, closes the connection on an unknown API or version.
pub(crate) async fn handle_request(incoming: IncomingRequest<'_>) -> ResponseAction {
    let version = incoming.header.api_version;
    let Ok(api) = ApiKey::try_from(incoming.header.api_key) else { return ResponseAction::Close };
    let config = &incoming.shared.config;
    if !incoming.session.allows(config.sasl.as_ref(), api) {
        return ResponseAction::Close;
    }
    let Some((min, max)) = supported_versions(config, api) else { return ResponseAction::Close };
    if !(min..=max).contains(&version) {
        if api != ApiKey::ApiVersions {
            return ResponseAction::Close;
        }
        let response = api::api_versions::unsupported(config);
        return response_frame(api, 0, incoming.header.correlation_id, &response)
            .map_or(ResponseAction::Close, ResponseAction::Respond);
    }
    let mut incoming = incoming;
    match with_request_type!(api, decode, (&mut incoming.body, version)) {
        Some(Ok(request)) => run(incoming, api, &*request).await,
        Some(Err(error)) => {
            tracing::debug!(broker = incoming.broker, request = api.name(), %error, "malformed request");
            ResponseAction::Close
        }
        None => ResponseAction::Close,
    }
}

/// A request of any type, so that waiting for one is compiled once.
trait AnyRequest: Send + Sync {
    fn targets(&self, version: i16, state: &ClusterState) -> Vec<FaultTarget>;
    fn validate_records(&self, version: i16) -> Vec<Result<ValidatedBatch, AppendError>>;
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<Box<dyn AnyResponse>>;
}

/// A response of any type.
trait AnyResponse: Send {
    /// Encodes the response, with a throttle time if it has one.
    fn encode(self: Box<Self>, header: &RequestHeader, throttle: Option<i32>) -> WireResult<Frame>;
}

struct Typed<R>(R);

struct TypedResponse<R: Request>(R::Response);

impl<R: RequestHandler + 'static> AnyRequest for Typed<R>
where
    R::Response: Send,
{
    fn targets(&self, version: i16, state: &ClusterState) -> Vec<FaultTarget> {
        self.0.targets(version, state)
    }

    fn validate_records(&self, version: i16) -> Vec<Result<ValidatedBatch, AppendError>> {
        self.0.validate_records(version)
    }

    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<Box<dyn AnyResponse>> {
        match self.0.handle(context) {
            HandlerResult::Response(response) => {
                HandlerResult::Response(Box::new(TypedResponse::<R>(response)))
            }
            HandlerResult::NoResponse => HandlerResult::NoResponse,
            HandlerResult::Close => HandlerResult::Close,
            HandlerResult::WaitUntil(moment) => HandlerResult::WaitUntil(moment),
        }
    }
}

impl<R: RequestHandler> AnyResponse for TypedResponse<R>
where
    R::Response: Send,
{
    fn encode(mut self: Box<Self>, header: &RequestHeader, throttle: Option<i32>) -> WireResult<Frame> {
        if let (Some(ms), Some(field)) = (throttle, R::throttle_time(&mut self.0)) {
            *field = ms;
        }
        response_frame(R::API, header.api_version, header.correlation_id, &self.0)
    }
}

async fn run(mut incoming: IncomingRequest<'_>, api: ApiKey, request: &dyn AnyRequest) -> ResponseAction {
    let arrived = Instant::now();
    let plan = plan_faults(&incoming, api, request);
    if !plan.delay.is_zero() {
        tokio::time::sleep(plan.delay).await;
    }
    if plan.silence {
        return ResponseAction::Silence;
    }
    if plan.disconnect == Some(When::BeforeHandling) {
        return ResponseAction::Close;
    }
    if let Some(bytes) = plan.raw {
        return ResponseAction::Raw(bytes);
    }
    let (result, corrupted) = handle_until_done(&mut incoming, request, &plan, arrived).await;
    if let Some((id, _)) = &plan.corrupt
        && !corrupted
    {
        incoming.shared.faults.lock().undo_hit(*id);
    }
    if plan.disconnect == Some(When::AfterHandling) {
        return ResponseAction::Close;
    }
    let response = match result {
        HandlerResult::Response(response) => response,
        HandlerResult::NoResponse => return ResponseAction::NoResponse,
        HandlerResult::Close | HandlerResult::WaitUntil(_) => return ResponseAction::Close,
    };
    match response.encode(incoming.header, plan.throttle) {
        Ok(frame) if plan.truncate => ResponseAction::Truncated(frame),
        Ok(frame) => ResponseAction::Respond(frame),
        Err(error) => {
            tracing::error!(broker = incoming.broker, request = api.name(), %error, "unencodable response");
            ResponseAction::Close
        }
    }
}

/// Decodes a request. Like Kafka, ignores trailing bytes: librdkafka sends some after a Metadata request for
/// all topics.
fn decode<R: RequestHandler + 'static>((body, version): (&mut Reader, i16)) -> WireResult<Box<dyn AnyRequest>>
where
    R::Response: Send,
{
    let request = R::decode(body, version)?;
    if body.remaining() > 0 {
        tracing::warn!(request = R::NAME, version, left = body.remaining(), "trailing bytes after a request");
    }
    Ok(Box::new(Typed(request)))
}

fn plan_faults(incoming: &IncomingRequest<'_>, api: ApiKey, request: &dyn AnyRequest) -> FaultPlan {
    let shared = incoming.shared;
    if shared.faults.lock().is_empty() {
        return FaultPlan::default();
    }
    let version = incoming.header.api_version;
    let targets = request.targets(version, &shared.state.lock());
    let hits = shared.faults.lock().hit(&RequestInfo {
        broker: incoming.broker,
        api,
        version,
        client_id: incoming.header.client_id.as_deref(),
        targets: &targets,
        link_faults: &[],
    });
    let plan = FaultPlan::new(api, hits);
    for (on, to) in &plan.moves {
        for target in targets.iter().filter(|target| on.covers(&target.topic, target.partition)) {
            let partition = target.partition.or(on.partition).unwrap_or(0);
            let moved = shared.change(|state| state.move_leader(&target.topic, partition, *to));
            if let Err(error) = moved {
                tracing::warn!(refusal = %error, "a fault could not move a leader");
            }
        }
    }
    plan
}

/// Calls the handler until it returns a response. Also returns whether the response's records were
/// corrupted.
async fn handle_until_done(
    incoming: &mut IncomingRequest<'_>,
    request: &dyn AnyRequest,
    plan: &FaultPlan,
    arrived: Instant,
) -> (HandlerResult<Box<dyn AnyResponse>>, bool) {
    let shared = incoming.shared;
    // Subscribed before the first look at the state, so that no change is missed.
    let mut changes = shared.subscribe();
    let validated = request.validate_records(incoming.header.api_version);
    let mut pending = Pending::default();
    loop {
        let handler_state = HandlerState { validated: &validated, pending: &mut pending, arrived };
        let (result, corrupted) = handle_once(incoming, request, plan, handler_state);
        let HandlerResult::WaitUntil(moment) = result else { return (result, corrupted) };
        tokio::select! {
            // The deadline first: on a busy cluster, changes never stop.
            biased;
            () = tokio::time::sleep_until(moment) => {}
            changed = changes.changed() => if changed.is_err() {
                return (HandlerResult::Close, corrupted);
            },
            () = incoming.disconnected.as_mut() => return (HandlerResult::Close, corrupted),
        }
    }
}

/// What is kept between the calls of a handler.
struct HandlerState<'a> {
    validated: &'a [Result<ValidatedBatch, AppendError>],
    pending: &'a mut Pending,
    arrived: Instant,
}

fn handle_once(
    incoming: &mut IncomingRequest<'_>,
    request: &dyn AnyRequest,
    plan: &FaultPlan,
    handler_state: HandlerState<'_>,
) -> (HandlerResult<Box<dyn AnyResponse>>, bool) {
    let shared = incoming.shared;
    let (result, changed, corrupted) = {
        let mut state = shared.state.lock();
        let clock = Instant::now();
        let expired = state.expire_transactions(clock);
        let mut context = RequestContext {
            state: &mut state,
            session: &mut *incoming.session,
            broker: incoming.broker,
            connection: incoming.connection,
            version: incoming.header.api_version,
            client_id: incoming.header.client_id.as_deref(),
            now: now_ms(),
            clock,
            arrived: handler_state.arrived,
            pending: handler_state.pending,
            validated: handler_state.validated,
            errors: &plan.errors,
            errors_after_handling: &plan.errors_after_handling,
            omitted: &plan.omitted,
            corrupt: plan.corrupt.as_ref().map(|(_, on)| on),
            corrupted: false,
            changed: expired,
        };
        (request.handle(&mut context), context.changed, context.corrupted)
    };
    if changed {
        shared.notify_waiters();
    }
    (result, corrupted)
}
