//! [`ResponseStream`]: the bytes from a broker, in which addresses are replaced.

use bytes::{BufMut, Bytes, BytesMut};
use ottla_protocol::ApiKey;
use ottla_protocol::header::LENGTH_PREFIX;

use super::faulty::{meet_fault, send_own};
use super::tokens::begin_token;
use super::{InFlight, Output, PendingResponse, Progress, Source, Violation};
use crate::rewrite::{
    AddressBook, Endpoints, EndpointsWalk, RewriteError, Treatment, rewrite_brokers, rewrite_whole, treatment,
};

/// The length of a correlation id, which is the least length of a response.
const CORRELATION_ID: usize = 4;
/// The bytes in front of what is rewritten: length and correlation id.
pub(super) const PREAMBLE: usize = LENGTH_PREFIX + CORRELATION_ID;
/// The greatest response with endpoints that is rewritten exactly: it arrives with few reads.
const EXACT_MAX: usize = 64 * 1024;
/// The greatest response that is filtered: the metadata of some 200,000 partitions.
const FILTERED_MAX: usize = 32 * 1024 * 1024;
/// The greatest part of a response that is gathered. Thousands of brokers fit into it.
const GATHERED_MAX: usize = 1024 * 1024;

/// The bytes from a broker.
#[derive(Debug)]
pub(crate) struct ResponseStream {
    state: State,
    /// Whether the input is one response, after which nothing is sent.
    is_one: bool,
}

#[derive(Debug)]
enum State {
    /// Between two responses.
    Start,
    /// The bytes that are left of a response are passed on.
    Pass(u64),
    /// The bytes of a long response with endpoints, which are left out at its end.
    Walk { walk: EndpointsWalk, left: u64 },
}

/// What has become of the input at the start of a response.
pub(super) enum Begun {
    /// The bytes up to here were examined.
    Consumed(usize),
    /// More bytes are needed, counted from the start of the response.
    Wanted(usize),
}

impl ResponseStream {
    /// Starts at the first byte of a connection.
    pub(crate) fn new() -> Self {
        Self { state: State::Start, is_one: false }
    }

    /// For an input that is one whole response.
    pub(super) fn of_one() -> Self {
        Self { state: State::Start, is_one: true }
    }

    /// Whether the next byte begins a response.
    pub(crate) fn is_between_responses(&self) -> bool {
        matches!(self.state, State::Start)
    }

    /// Examines `input`, which begins where the last call ended. `answered` gets each request whose response begins,
    /// and what has arrived of the response after its correlation id.
    pub(crate) fn advance(
        &mut self,
        input: &[u8],
        output: &mut Output,
        in_flight: &mut InFlight,
        book: &mut dyn AddressBook,
        answered: &mut dyn FnMut(&PendingResponse, &[u8]),
    ) -> Result<Progress, Violation> {
        let mut at = 0;
        loop {
            match &mut self.state {
                State::Pass(left) => {
                    let taken = at_most(*left, input.len() - at);
                    output.pass(at..at + taken);
                    (at, *left) = (at + taken, *left - taken as u64);
                    if *left > 0 {
                        return Ok(Progress { consumed: at, wanted: 1 });
                    }
                    self.state = State::Start;
                }
                State::Walk { walk, left } if !walk.is_done() => {
                    let end = at + at_most(*left, input.len() - at);
                    let taken = walk.advance(&input[at..end])?;
                    output.pass(at..at + taken);
                    (at, *left) = (at + taken, *left - taken as u64);
                    match walk.is_done() {
                        true => {}
                        // The frame has ended before the endpoints.
                        false if *left == 0 => return Err(too_short(walk.endpoints())),
                        false => return Ok(Progress { consumed: at, wanted: 1 }),
                    }
                }
                State::Walk { walk, left } => {
                    let end = usize::try_from(*left).unwrap_or(usize::MAX);
                    if end > GATHERED_MAX {
                        return Err(too_long(walk.endpoints().api()));
                    }
                    if input.len() - at < end {
                        return Ok(Progress { consumed: at, wanted: end });
                    }
                    let range = at..at + end;
                    match walk.endpoints().leave_out(Bytes::copy_from_slice(&input[range.clone()]))? {
                        Some(without) => output.own(without),
                        None => output.pass(range),
                    }
                    at += end;
                    self.state = State::Start;
                }
                State::Start => {
                    while !self.is_one
                        && in_flight.gateway_is_next()
                        && let Some(pending) = in_flight.pop()
                    {
                        send_own(&pending, output, answered);
                        if output.closes() {
                            return Ok(Progress { consumed: at, wanted: 1 });
                        }
                    }
                    if at == input.len() {
                        return Ok(Progress { consumed: at, wanted: 1 });
                    }
                    match self.begin(&input[at..], at, output, in_flight, book, answered)? {
                        Begun::Consumed(consumed) if output.closes() => {
                            return Ok(Progress { consumed: at + consumed, wanted: 1 });
                        }
                        Begun::Consumed(consumed) => at += consumed,
                        Begun::Wanted(wanted) => return Ok(Progress { consumed: at, wanted }),
                    }
                }
            }
        }
    }

    /// Begins with a response; `at` is the position of `input` in the whole input.
    fn begin(
        &mut self,
        input: &[u8],
        at: usize,
        output: &mut Output,
        in_flight: &mut InFlight,
        book: &mut dyn AddressBook,
        answered: &mut dyn FnMut(&PendingResponse, &[u8]),
    ) -> Result<Begun, Violation> {
        let Some((prefix, frame)) = input.split_first_chunk::<LENGTH_PREFIX>() else {
            return Ok(Begun::Wanted(LENGTH_PREFIX));
        };
        let announced = i32::from_be_bytes(*prefix);
        if in_flight.token_is_next() {
            self.state = State::Pass(begin_token(announced, in_flight, answered)?);
            return Ok(Begun::Consumed(0));
        }
        let length = match usize::try_from(announced) {
            Ok(length) if length >= CORRELATION_ID => length,
            _ => {
                let max = i32::MAX as usize;
                return Err(Violation::FrameLength { length: announced, min: CORRELATION_ID, max });
            }
        };
        let Some((correlation_id, body)) = frame.split_first_chunk::<CORRELATION_ID>() else {
            return Ok(Begun::Wanted(PREAMBLE));
        };
        let found = i32::from_be_bytes(*correlation_id);
        let Some(pending) = in_flight.front() else { return Err(Violation::UnexpectedResponse(found)) };
        let (api, version, expected) = (pending.api, pending.version, pending.correlation_id);
        let filter = pending.filter;
        if found != expected {
            return Err(Violation::CorrelationId { found, expected });
        }
        let whole = LENGTH_PREFIX + length;
        let body = &body[..body.len().min(length - CORRELATION_ID)];
        let is_whole = input.len() >= whole;
        if matches!(pending.source, Source::Own(_)) {
            if length > GATHERED_MAX {
                return Err(too_long(api));
            }
            if !is_whole {
                return Ok(Begun::Wanted(whole));
            }
            if let Some(PendingResponse { source: Source::Own(own), .. }) = in_flight.pop() {
                // The request was given up if nobody waits.
                _ = own.send(Bytes::copy_from_slice(&input[LENGTH_PREFIX..whole]));
            }
            return Ok(Begun::Consumed(whole));
        }
        if let Some(begun) = meet_fault(input, whole, output, in_flight, book, answered)? {
            return Ok(begun);
        }
        let (treatment, max) = match filter {
            None => (treatment(api, version), GATHERED_MAX),
            Some(_) => (Treatment::Whole, FILTERED_MAX),
        };
        if treatment == Treatment::Whole && length > max {
            return Err(Violation::TooLongToRewrite { api: api.name(), max });
        }
        // What a response says of itself is in its first bytes, which fit into the buffer.
        let first = whole.min(EXACT_MAX);
        if input.len() < first {
            return Ok(Begun::Wanted(first));
        }
        let begun = match treatment {
            Treatment::Pass => {
                self.state = State::Pass(whole as u64);
                Begun::Consumed(0)
            }
            Treatment::Whole if !is_whole => Begun::Wanted(whole.min(2 * input.len())),
            Treatment::Whole => {
                let response = Bytes::copy_from_slice(&input[LENGTH_PREFIX..whole]);
                output.own(rewrite_whole(api, version, response, filter, book)?.to_bytes());
                Begun::Consumed(whole)
            }
            Treatment::Brokers => match rewrite_brokers(&Bytes::copy_from_slice(body), version, book)? {
                Some(rewritten) => {
                    let (start, end) = (PREAMBLE + rewritten.start, PREAMBLE + rewritten.end);
                    let new_length = length - (end - start) + rewritten.brokers.len();
                    output.own(length_prefix(new_length, api)?);
                    output.pass(at + LENGTH_PREFIX..at + start);
                    output.own(rewritten.brokers);
                    self.state = State::Pass((whole - end) as u64);
                    Begun::Consumed(end)
                }
                None if is_whole => return Err(too_short_for(api)),
                None if body.len() >= GATHERED_MAX => return Err(too_long(api)),
                None => Begun::Wanted(whole.min(2 * input.len())),
            },
            Treatment::Endpoints(endpoints) if length > EXACT_MAX => {
                output.pass(at..at + PREAMBLE);
                let left = (length - CORRELATION_ID) as u64;
                self.state = State::Walk { walk: endpoints.walk(), left };
                Begun::Consumed(PREAMBLE)
            }
            Treatment::Endpoints(endpoints) => {
                rewrite_endpoints(endpoints, body, length, at, output, book)?;
                Begun::Consumed(whole)
            }
        };
        if !matches!(begun, Begun::Wanted(_))
            && let Some(pending) = in_flight.pop()
        {
            answered(&pending, body);
        }
        Ok(begun)
    }
}

/// Rewrites a whole response with endpoints; `at` is the position of its length prefix.
fn rewrite_endpoints(
    endpoints: Endpoints,
    body: &[u8],
    length: usize,
    at: usize,
    output: &mut Output,
    book: &mut dyn AddressBook,
) -> Result<(), Violation> {
    let mut walk = endpoints.walk();
    let before = walk.advance(body)?;
    if !walk.is_done() {
        return Err(too_short(endpoints));
    }
    let end = &body[before..];
    match endpoints.rewrite(Bytes::copy_from_slice(end), book)? {
        None => output.pass(at..at + LENGTH_PREFIX + length),
        Some(rewritten) => {
            output.own(length_prefix(length - end.len() + rewritten.len(), endpoints.api())?);
            output.pass(at + LENGTH_PREFIX..at + PREAMBLE + before);
            output.own(rewritten);
        }
    }
    Ok(())
}

fn at_most(left: u64, available: usize) -> usize {
    usize::try_from(left).unwrap_or(usize::MAX).min(available)
}

fn length_prefix(length: usize, api: ApiKey) -> Result<Bytes, Violation> {
    let length = i32::try_from(length).map_err(|_| too_long(api))?;
    let mut prefix = BytesMut::with_capacity(LENGTH_PREFIX);
    prefix.put_i32(length);
    Ok(prefix.freeze())
}

fn too_long(api: ApiKey) -> Violation {
    Violation::TooLongToRewrite { api: api.name(), max: GATHERED_MAX }
}

fn too_short(endpoints: Endpoints) -> Violation {
    too_short_for(endpoints.api())
}

fn too_short_for(api: ApiKey) -> Violation {
    let error = ottla_protocol::WireError::Short { what: "response", needed: 1, left: 0 };
    RewriteError::Malformed { api, error }.into()
}
