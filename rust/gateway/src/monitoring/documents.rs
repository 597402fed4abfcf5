//! What a gateway knows, as JSON. `ottla.gateway` and the console read these documents.
//!
//! Invariant: a document has the fields of the Python classes of the same names, in their order.

use std::time::SystemTime;

use chrono::{DateTime, SecondsFormat, Utc};
use ottla_protocol::ErrorCode;

use super::json::Json;
use crate::events::{Event, EventKind};
use crate::gateway::Gateway;
use crate::session::{Coordinated, Counts, Role, SessionInfo};
use crate::sessions::EndedSession;
use crate::shared::Shared;

/// The open connections.
#[must_use]
pub fn open_connections(gateway: &Gateway) -> Json {
    connections(gateway.shared())
}

/// What all connections did.
#[must_use]
pub fn totals(gateway: &Gateway) -> Json {
    all_totals(gateway.shared())
}

/// What happened after the event with this number.
#[must_use]
pub fn events(gateway: &Gateway, after: u64) -> Json {
    events_after(gateway.shared(), after)
}

/// The addresses of the gateway.
#[must_use]
pub fn addresses(gateway: &Gateway) -> Json {
    own_addresses(gateway.shared())
}

/// The connections that have ended since the last call, and how many are missing.
#[must_use]
pub fn ended_connections(gateway: &Gateway) -> (Json, u64) {
    let (ended, missing) = gateway.take_ended();
    let ended = ended.iter().map(|session| Json::Object(ended_connection(session)));
    (Json::List(ended.collect()), missing)
}

pub(super) fn connections(shared: &Shared) -> Json {
    let open = shared.sessions.open();
    Json::List(open.iter().map(|session| Json::Object(connection(session, None))).collect())
}

pub(super) fn all_totals(shared: &Shared) -> Json {
    let totals = shared.sessions.totals();
    let [requests, responses, waited, errors] = by_api(&totals.counts);
    Json::object([
        ("open", totals.open.into()),
        ("accepted", totals.accepted.into()),
        ("refused", totals.refused.into()),
        ("received", totals.counts.received.into()),
        ("sent", totals.counts.sent.into()),
        ("requests", requests),
        ("responses", responses),
        ("waited", waited),
        ("errors", errors),
        ("faults", faults(&totals.counts)),
        ("throttled", totals.counts.throttled.as_secs_f64().into()),
    ])
}

pub(super) fn own_addresses(shared: &Shared) -> Json {
    let brokers = shared.addresses_of_brokers().into_iter();
    let brokers = brokers
        .map(|(id, address)| Json::object([("id", id.into()), ("address", Json::from(address.to_string()))]));
    Json::object([
        ("bootstrap", shared.addresses.bootstrap().to_string().into()),
        ("brokers", Json::List(brokers.collect())),
    ])
}

pub(super) fn events_after(shared: &Shared, number: u64) -> Json {
    Json::List(shared.events.after(number).iter().map(event).collect())
}

/// A connection that has ended, by field.
pub(super) fn ended_connection(session: &EndedSession) -> Vec<(String, Json)> {
    connection(&session.info, Some(&session.end))
}

fn connection(session: &SessionInfo, end: Option<&str>) -> Vec<(String, Json)> {
    let named = |is_id: bool| {
        let of_kind = |each: &&Coordinated| (each.role == Role::Transaction) == is_id;
        Json::list(session.coordinated.iter().filter(of_kind).map(|each| each.name.as_str()))
    };
    let [requests, responses, waited, errors] = by_api(&session.counts);
    let last_error = session.last_error.map(|last| {
        Json::object([
            ("api", Json::from(last.api.name())),
            ("code", code_name(last.code).into()),
            ("age", last.age.as_secs_f64().into()),
        ])
    });
    let fields = [
        ("id", session.id.into()),
        ("peer", session.peer.to_string().into()),
        ("broker", session.broker.into()),
        ("roles", Json::list(session.roles.iter().map(|role| role.name()))),
        ("groups", named(false)),
        ("transactional_ids", named(true)),
        ("client_id", session.client_id.as_str().into()),
        ("software", session.software.as_deref().into()),
        ("user", session.user.as_deref().into()),
        ("received", session.counts.received.into()),
        ("sent", session.counts.sent.into()),
        ("requests", requests),
        ("responses", responses),
        ("waited", waited),
        ("in_flight", session.in_flight.into()),
        ("errors", errors),
        ("last_error", last_error.into()),
        ("faults", faults(&session.counts)),
        ("throttled", session.counts.throttled.as_secs_f64().into()),
        ("age", session.age.as_secs_f64().into()),
        ("idle", session.idle.map(|idle| idle.as_secs_f64()).into()),
        ("end", end.into()),
    ];
    fields.map(|(name, value)| (name.to_owned(), value)).into()
}

/// The requests, the responses, the time between them and the errors, by API.
fn by_api(counts: &Counts) -> [Json; 4] {
    let apis = || counts.apis.iter().map(|(api, count)| (api.name(), count));
    let mut errors: Vec<(String, Json)> = Vec::new();
    for ((api, code), count) in &counts.errors {
        let code = (code_name(*code).to_owned(), Json::from(*count));
        match errors.last_mut() {
            Some((last, Json::Object(codes))) if last == api.name() => codes.push(code),
            _ => errors.push((api.name().to_owned(), Json::Object(vec![code]))),
        }
    }
    [
        Json::object(apis().map(|(api, count)| (api, Json::from(count.requests)))),
        Json::object(apis().map(|(api, count)| (api, Json::from(count.responses)))),
        Json::object(apis().map(|(api, count)| (api, Json::from(count.waited.as_secs_f64())))),
        Json::Object(errors),
    ]
}

/// The hits of injected faults, by the kind of the fault.
fn faults(counts: &Counts) -> Json {
    Json::object(counts.faults.iter().map(|(kind, count)| (*kind, Json::from(*count))))
}

/// Kafka's name of an error code.
pub(super) fn code_name(code: i16) -> &'static str {
    ErrorCode::from(code).name()
}

fn event(event: &Event) -> Json {
    Json::object([
        ("number", event.number.into()),
        ("time", timestamp(event.time, SecondsFormat::Micros).into()),
        ("kind", event.kind.name().into()),
        ("count", event.count.into()),
        ("broker", event.broker.into()),
        ("name", event.name.as_deref().into()),
        ("client_id", event.client_id.as_deref().into()),
        ("peer", event.peer.map(|peer| peer.to_string()).into()),
        ("detail", event.detail.as_deref().into()),
        ("text", line(event).into()),
    ])
}

/// An event as one line without its time.
fn line(event: &Event) -> String {
    let detail = event.detail.as_deref().unwrap_or_default();
    let broker = event.broker.map(|id| format!("broker {id}"));
    let at = broker.as_deref().unwrap_or("the bootstrap address");
    let mut client =
        event.client_id.as_ref().map_or("a client".to_owned(), |id| format!("client {}", quoted(id)));
    if let Some(peer) = event.peer {
        client += &format!(" at {peer}");
    }
    let text = match event.kind {
        EventKind::BrokerJoined => format!("{at} joined the cluster, at {detail}"),
        EventKind::BrokerMoved => format!("{at} has another address: {detail}"),
        EventKind::BrokerLeft => format!("{at} left the cluster"),
        EventKind::ClusterLost => format!("the cluster cannot be asked for its brokers: {detail}"),
        EventKind::ClusterFound => "the cluster answers again".to_owned(),
        EventKind::CoordinatorMoved => {
            let name = quoted(event.name.as_deref().unwrap_or_default());
            let now = event.broker.unwrap_or_default();
            format!("{name} moved its coordinator from broker {detail} to {now} ({client})")
        }
        EventKind::Refused => format!("{client} was refused: too many connections"),
        EventKind::Denied => format!("{client} may not use {detail} here"),
        EventKind::ConnectionFailed => format!("the connection of {client} to {at} failed: {detail}"),
        EventKind::FaultInjected => format!("a fault was injected: {detail}"),
        EventKind::FaultRemoved => format!("a fault was removed: {detail}"),
        EventKind::FaultHit => format!("an injected fault hit {client} at {at}: {detail}"),
    };
    match event.count {
        1 => text,
        count => format!("{text} ({count} times)"),
    }
}

/// A name that a client chose, in quotes and without control characters.
fn quoted(name: &str) -> String {
    let escaped = name.chars().map(|character| match character {
        '\'' => "\\'".to_owned(),
        '"' => "\"".to_owned(),
        _ => character.escape_debug().to_string(),
    });
    format!("'{}'", escaped.collect::<String>())
}

/// A time as ISO 8601 in UTC.
pub(super) fn timestamp(time: SystemTime, precision: SecondsFormat) -> String {
    DateTime::<Utc>::from(time).to_rfc3339_opts(precision, false)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn events_as_lines() {
        let moved = Event {
            name: Some("bill'\"ing\u{1b}".to_owned()),
            client_id: Some("c".to_owned()),
            peer: Some(([127, 0, 0, 1], 9).into()),
            count: 2,
            ..Event::new(EventKind::CoordinatorMoved).broker(1).detail(2)
        };
        let text = "'bill\\'\"ing\\u{1b}' moved its coordinator from broker 2 to 1 (client 'c' at 127.0.0.1:9) (2 times)";
        assert_eq!(line(&moved), text);
        let failed = Event::new(EventKind::ConnectionFailed).detail("reset");
        assert_eq!(line(&failed), "the connection of a client to the bootstrap address failed: reset");
        assert_eq!(line(&Event::new(EventKind::BrokerLeft).broker(3)), "broker 3 left the cluster");
    }

    #[test]
    fn times_in_utc() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_micros(1_795_816_437_026_001);
        assert_eq!(timestamp(time, SecondsFormat::Micros), "2026-11-27T21:53:57.026001+00:00");
        assert_eq!(timestamp(time, SecondsFormat::Millis), "2026-11-27T21:53:57.026+00:00");
    }
}
