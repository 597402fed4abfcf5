//! The responses of a session: from the broker to the client.

use std::sync::atomic::Ordering;
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncWrite};

use super::buffers::Inlet;
use super::{Session, SessionEnd, send};
use crate::faults::Toward;
use crate::rewrite::AddressBook;
use crate::stream::{Output, ResponseStream};

/// Passes on responses until the broker closes the connection.
pub(super) async fn pump(
    session: &Session<'_>,
    from_broker: &mut (impl AsyncRead + Unpin),
    to_client: &mut (impl AsyncWrite + Unpin),
    book: &mut (dyn AddressBook + Send),
) -> SessionEnd {
    let mut stream = ResponseStream::new();
    let mut inlet = Inlet::new(session.pool);
    let mut output = Output::default();
    loop {
        if let Err(error) = session.link.thawed(session.status, session.events).await {
            return SessionEnd::Client(error);
        }
        let may_insert = stream.is_between_responses();
        session.responding.store(!may_insert || !inlet.bytes().is_empty(), Ordering::Relaxed);
        let is_due = || may_insert && session.in_flight.lock().gateway_is_next();
        match inlet.read(from_broker, || session.link.read_max(), is_due).await {
            Ok(None) => {}
            Ok(Some(0)) => return SessionEnd::BrokerClosed,
            Ok(Some(read)) => {
                session.status.sent(read);
                session.link.moved(read, Toward::Client).await;
            }
            Err(error) => return SessionEnd::Broker(error),
        }
        session.responding.store(true, Ordering::Relaxed);
        let progress = {
            let (mut in_flight, now) = (session.in_flight.lock(), Instant::now());
            stream.advance(inlet.bytes(), &mut output, &mut in_flight, book, &mut |pending, body| {
                session.handshake_answered(pending, body);
                let is_refused = session.status.responded(pending, body, now);
                if let Some(named) = pending.named.as_deref().filter(|_| !is_refused) {
                    session.events.coordinates(session.status, named);
                }
            })
        };
        session.room.notify_one();
        let progress = match progress {
            Ok(progress) => progress,
            Err(violation) => return SessionEnd::BrokerViolation(violation),
        };
        if let Err(error) = session.link.thawed(session.status, session.events).await {
            return SessionEnd::Client(error);
        }
        let length = output.length();
        output.truncate(session.link.before_cut(length));
        if let Err(error) = send(to_client, inlet.bytes(), &output).await {
            return SessionEnd::Client(error);
        }
        if output.closes() || session.link.is_cut() {
            return SessionEnd::Fault;
        }
        output.clear();
        inlet.consume(progress.consumed, progress.wanted);
    }
}
