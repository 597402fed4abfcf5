//! The body of the fuzz target `gateway`: both directions of a connection, from bytes that nobody has checked.
//!
//! Invariant: whatever the bytes are and in whatever pieces they arrive, the streams ask for bounded memory, consume no
//! more than there is, and send the same.

use std::time::Instant;

use ottla_client::Endpoint;
use ottla_protocol::ApiKey;
use ottla_protocol::header::LENGTH_PREFIX;

use super::{
    InFlight, Output, PendingResponse, Progress, RequestHead, RequestStream, ResponseStream, Segment, Source,
    Verdict, Violation,
};
use crate::rewrite::{AddressBook, Treatment, supported_versions, treatment};
use crate::session::unsupported_version;

/// The longest request.
const REQUEST_MAX: usize = 1 << 20;
/// The requests in flight.
const IN_FLIGHT_MAX: usize = 64;
/// The most that a stream may ask for: twice what it gathers, and the numbers in front of it.
const WANTED_MAX: usize = 2 * (1 << 20) + 64;
/// The first brokers have an address.
const WITH_ADDRESS: i32 = 100;

/// Sends bytes through both streams: the first byte says in which pieces, the next two how many are the client's.
///
/// # Panics
/// If an invariant is broken.
#[cfg_attr(not(feature = "fuzzing"), expect(unreachable_pub, reason = "public for the fuzz target"))]
pub fn rewriting(data: &[u8]) {
    let Some((&[piece, high, low], bytes)) = data.split_first_chunk::<3>() else { return };
    let split = usize::from(u16::from_be_bytes([high, low])).min(bytes.len());
    let (client, broker) = bytes.split_at(split);
    let whole = Connection::run(client, broker, usize::MAX);
    let pieces = Connection::run(client, broker, usize::from(piece).max(1));
    whole.check(client, broker);
    pieces.check(client, broker);
    whole.requests.assert_same(&pieces.requests);
    if whole.requests.violation.is_none() {
        whole.responses.assert_same(&pieces.responses);
    }
}

/// Whether a stream waits although it has bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pause {
    None,
    /// Until the response to a handshake, which has come when it goes on.
    Briefly,
    /// Until a response.
    ForGood,
}

/// What has come out of one direction.
#[derive(Debug, Default)]
struct Direction {
    sent: Vec<u8>,
    /// The bytes that are left.
    left: usize,
    violation: Option<String>,
}

impl Direction {
    /// Passes on all bytes in pieces.
    fn run(
        input: &[u8],
        piece: usize,
        mut advance: impl FnMut(&[u8], &mut Output) -> Result<(Progress, Pause), Violation>,
    ) -> Self {
        let mut direction = Self::default();
        let mut buffer = Vec::new();
        // An empty piece at the end: a response of the gateway's own may be due.
        for piece in input.chunks(piece).chain([&[][..]]) {
            buffer.extend_from_slice(piece);
            let mut pause = Pause::Briefly;
            while pause == Pause::Briefly {
                let mut output = Output::default();
                let progress = match advance(&buffer, &mut output) {
                    Ok((progress, found)) => {
                        pause = found;
                        progress
                    }
                    Err(violation) => {
                        direction.violation = Some(violation.to_string());
                        return direction;
                    }
                };
                let Progress { consumed, wanted } = progress;
                assert!(consumed <= buffer.len(), "{progress:?} of {}", buffer.len());
                assert!(wanted <= WANTED_MAX, "{progress:?}");
                let may_go_on = pause != Pause::None || wanted > buffer.len() - consumed;
                assert!(may_go_on, "{progress:?} of {}", buffer.len());
                for segment in output.segments() {
                    match segment {
                        Segment::Input(range) => {
                            assert!(range.end <= consumed, "{range:?} of {progress:?}");
                            direction.sent.extend_from_slice(&buffer[range.clone()]);
                        }
                        Segment::Owned(bytes) => direction.sent.extend_from_slice(bytes),
                    }
                }
                buffer.drain(..consumed);
                direction.left = buffer.len();
            }
            if pause == Pause::ForGood {
                break;
            }
        }
        direction
    }

    /// What was sent before a violation depends on the pieces, and nothing else does.
    fn assert_same(&self, other: &Self) {
        assert_eq!(self.violation, other.violation);
        let common = self.sent.len().min(other.sent.len());
        assert_eq!(self.sent[..common], other.sent[..common]);
        if self.violation.is_none() {
            assert_eq!(self.sent.len(), other.sent.len());
        }
    }
}

/// A request as the gateway has judged it.
#[derive(Debug)]
struct Judged {
    api: ApiKey,
    version: i16,
    correlation_id: i32,
    is_passed: bool,
    expects_response: bool,
}

/// A connection whose client has sent everything before the broker sends anything.
#[derive(Debug)]
struct Connection {
    judged: Vec<Judged>,
    requests: Direction,
    responses: Direction,
}

impl Connection {
    fn run(client: &[u8], broker: &[u8], piece: usize) -> Self {
        let mut in_flight = InFlight::new(IN_FLIGHT_MAX);
        let mut judged = Vec::new();
        let mut stream = RequestStream::new(REQUEST_MAX);
        let requests = Direction::run(client, piece, |input, output| {
            if stream.awaits_handshake() {
                // Some brokers refuse it.
                let asked = judged.last().map_or(0, |judged: &Judged| judged.correlation_id);
                stream.handshake_answered(asked % 2 == 0);
            }
            let progress = stream.advance(input, output, |head| judge(head, &mut in_flight, &mut judged))?;
            let pause = match (stream.is_waiting(), stream.awaits_handshake()) {
                (false, _) => Pause::None,
                (true, true) => Pause::Briefly,
                (true, false) => Pause::ForGood,
            };
            Ok((progress, pause))
        });
        let mut stream = ResponseStream::new();
        let mut answered = 0;
        let responses = Direction::run(broker, piece, |input, output| {
            let mut count = |_: &PendingResponse, _: &[u8]| answered += 1;
            stream
                .advance(input, output, &mut in_flight, &mut Book, &mut count)
                .map(|progress| (progress, Pause::None))
        });
        assert!(answered <= judged.len(), "{answered} responses to {} requests", judged.len());
        Self { judged, requests, responses }
    }

    /// Compares what was sent with what was received.
    fn check(&self, client: &[u8], broker: &[u8]) {
        let passed = frames(client).zip(&self.judged).filter(|(_, judged)| judged.is_passed);
        let passed: Vec<u8> = passed.flat_map(|(frame, _)| frame).copied().collect();
        assert!(passed.starts_with(&self.requests.sent), "a request was changed");
        if self.requests.violation.is_none() {
            assert_eq!(passed.len(), self.requests.sent.len());
        }
        let mut received = frames(broker);
        let awaited = self.judged.iter().filter(|judged| judged.expects_response || !judged.is_passed);
        for (judged, sent) in awaited.zip(frames(&self.responses.sent)) {
            let Judged { api, version, is_passed, .. } = judged;
            // The gateway's own.
            if !is_passed {
                continue;
            }
            let received = received.next().unwrap_or_default();
            assert!(!received.is_empty(), "a response from nowhere");
            let common = sent.len().min(received.len()).min(2 * LENGTH_PREFIX);
            assert_eq!(sent.get(LENGTH_PREFIX..common), received.get(LENGTH_PREFIX..common));
            if treatment(*api, *version) == Treatment::Pass {
                assert!(received.starts_with(sent), "a response without addresses was changed");
            }
        }
    }
}

/// The frames, the last of which may be incomplete.
fn frames(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let length = match bytes.first_chunk() {
            Some(prefix) => usize::try_from(i32::from_be_bytes(*prefix)).ok()?.checked_add(LENGTH_PREFIX)?,
            None if bytes.is_empty() => return None,
            None => bytes.len(),
        };
        let (frame, rest) = bytes.split_at(length.min(bytes.len()));
        bytes = rest;
        Some(frame)
    })
}

fn judge(
    head: &RequestHead<'_>,
    in_flight: &mut InFlight,
    judged: &mut Vec<Judged>,
) -> Result<Verdict, Violation> {
    if in_flight.is_full() {
        return Ok(Verdict::Wait);
    }
    let RequestHead { api, version, correlation_id, expects_response, .. } = *head;
    let is_passed = version <= supported_versions(api).1;
    _ = head.first_string();
    judged.push(Judged { api, version, correlation_id, is_passed, expects_response });
    let source = match is_passed {
        true if head.is_token => Source::Token,
        true => Source::Broker,
        false => Source::Gateway(unsupported_version(correlation_id)?),
    };
    if expects_response || !is_passed {
        in_flight.push(PendingResponse::new(api, version, correlation_id, Instant::now(), source));
    }
    Ok(if is_passed { Verdict::Pass } else { Verdict::Discard })
}

/// Some brokers have an address.
struct Book;

impl AddressBook for Book {
    fn translate(&mut self, broker: i32, _: &str, _: i32) -> Option<Endpoint> {
        let port = u16::try_from(broker).ok().filter(|_| broker < WITH_ADDRESS)?;
        Some(Endpoint { host: "gw".to_owned(), port: port + 1 })
    }
}
