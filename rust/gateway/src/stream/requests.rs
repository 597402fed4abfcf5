//! [`RequestStream`]: the bytes from a client, of which the headers are read.

use bytes::Bytes;
use ottla_protocol::ApiKey;
use ottla_protocol::header::LENGTH_PREFIX;

use super::tokens::{Next, Tokens};
use super::{Output, Progress, Violation};
use crate::rewrite::supported_versions;

/// The least length of a request: key, version, correlation id and the length of the client id.
pub(crate) const LENGTH_MIN: usize = 2 + 2 + 4 + 2;
/// The bytes of a request that are read at most: two strings of the greatest length, and the numbers around them.
const HEAD_MAX: usize = 128 * 1024;

/// The start of a request.
#[derive(Debug)]
pub(crate) struct RequestHead<'a> {
    /// The API.
    pub(crate) api: ApiKey,
    /// The version; of ApiVersions alone it may be one that the gateway does not support.
    pub(crate) version: i16,
    /// The client's number of the request.
    pub(crate) correlation_id: i32,
    /// The client's name.
    pub(crate) client_id: Option<&'a [u8]>,
    /// Whether a response follows: not to Produce with acks=0.
    pub(crate) expects_response: bool,
    /// The bytes after the header that are in the input.
    pub(crate) body: &'a [u8],
    /// Whether `body` is the whole body.
    pub(crate) is_whole: bool,
    /// The length of the whole request, without its prefix.
    pub(crate) length: usize,
    /// Whether it is a message of a login without a header, and not a request.
    pub(crate) is_token: bool,
    /// Whether the version is flexible (KIP-482).
    pub(super) flexible: bool,
}

impl<'a> RequestHead<'a> {
    /// The body's first field, for requests in which this is a string; `None` if it is null or has not arrived.
    pub(crate) fn first_string(&self) -> Option<&'a [u8]> {
        let mut r = Start(self.body);
        if self.flexible { r.compact()? } else { r.string()? }
    }
}

/// What becomes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It goes to the broker.
    Pass,
    /// It goes nowhere.
    Discard,
    /// This frame goes to the broker in its place.
    Replace(Bytes),
    /// It must be whole, and not longer than this, before it is judged.
    Gather(usize),
    /// It must wait, and is judged again then.
    Wait,
}

/// The bytes from a client.
#[derive(Debug)]
pub(crate) struct RequestStream {
    frame_max: usize,
    /// The bytes that are left of the current request, and what becomes of them.
    rest: u64,
    verdict: Verdict,
    tokens: Tokens,
    is_waiting: bool,
    has_request: bool,
}

impl RequestStream {
    /// Accepts requests of up to `frame_max` bytes.
    pub(crate) fn new(frame_max: usize) -> Self {
        let (verdict, tokens) = (Verdict::Pass, Tokens::None);
        Self { frame_max, rest: 0, verdict, tokens, is_waiting: false, has_request: false }
    }

    /// Whether the next byte begins a request.
    pub(crate) fn is_between_requests(&self) -> bool {
        self.rest == 0
    }

    /// Whether the next bytes belong to a request that goes to the broker.
    pub(crate) fn is_passing(&self) -> bool {
        self.rest > 0 && self.verdict == Verdict::Pass
    }

    /// Whether a request was whole.
    pub(crate) fn has_request(&self) -> bool {
        self.has_request
    }

    /// Whether the next bytes are a request that has to wait.
    pub(crate) fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// Whether the next bytes have to wait for the response to SaslHandshake version 0.
    pub(crate) fn awaits_handshake(&self) -> bool {
        self.tokens == Tokens::Asked
    }

    /// The broker has responded to SaslHandshake version 0.
    pub(crate) fn handshake_answered(&mut self, is_accepted: bool) {
        self.tokens = if is_accepted { Tokens::First } else { Tokens::None };
    }

    /// Examines `input`, which begins where the last call ended. `judge` gets the start of each request.
    pub(crate) fn advance(
        &mut self,
        input: &[u8],
        output: &mut Output,
        mut judge: impl FnMut(&RequestHead<'_>) -> Result<Verdict, Violation>,
    ) -> Result<Progress, Violation> {
        let mut at = 0;
        self.is_waiting = false;
        loop {
            let left = &input[at..];
            if self.rest > 0 {
                let taken = usize::try_from(self.rest).unwrap_or(usize::MAX).min(left.len());
                if self.verdict == Verdict::Pass {
                    output.pass(at..at + taken);
                }
                (at, self.rest) = (at + taken, self.rest - taken as u64);
                self.has_request |= self.rest == 0;
            }
            if self.rest > 0 || at == input.len() {
                return Ok(Progress { consumed: at, wanted: 1 });
            }
            if self.awaits_handshake() {
                self.is_waiting = true;
                return Ok(Progress { consumed: at, wanted: 1 });
            }
            let wanted = match self.begin(&input[at..], output, &mut judge)? {
                None => continue,
                Some(wanted) => wanted,
            };
            return Ok(Progress { consumed: at, wanted });
        }
    }

    /// Reads the start of a request; returns how many bytes it must have if there are not enough.
    fn begin(
        &mut self,
        input: &[u8],
        output: &mut Output,
        judge: &mut impl FnMut(&RequestHead<'_>) -> Result<Verdict, Violation>,
    ) -> Result<Option<usize>, Violation> {
        let Some((prefix, frame)) = input.split_first_chunk::<LENGTH_PREFIX>() else {
            return Ok(Some(LENGTH_PREFIX + LENGTH_MIN));
        };
        let announced = i32::from_be_bytes(*prefix);
        let (length, token) = match self.tokens.next(announced, frame)? {
            Next::Wanted(wanted) => return Ok(Some(wanted)),
            Next::Token(length) => {
                (length, Some(RequestHead::token(&frame[..frame.len().min(length)], length)))
            }
            Next::Request => (usize::try_from(announced).unwrap_or(0), None),
        };
        if token.is_none() && !(LENGTH_MIN..=self.frame_max).contains(&length) {
            return Err(Violation::FrameLength { length: announced, min: LENGTH_MIN, max: self.frame_max });
        }
        let frame = &frame[..frame.len().min(length)];
        let is_whole = frame.len() == length;
        let head = match token {
            Some(token) => Some(token),
            None => read_head(frame, is_whole)?,
        };
        match head {
            Some(head) => {
                let head = RequestHead { length, ..head };
                let verdict = judge(&head)?;
                match verdict {
                    Verdict::Gather(max) if is_whole || length > max => {
                        Err(Violation::FrameLength { length: announced, min: LENGTH_MIN, max })
                    }
                    // Not at once, since the length is only announced.
                    Verdict::Gather(_) => Ok(Some(LENGTH_PREFIX + length.min((2 * frame.len()).max(512)))),
                    Verdict::Wait => {
                        self.is_waiting = true;
                        Ok(Some(1))
                    }
                    Verdict::Replace(frame) => {
                        output.own(frame);
                        (self.verdict, self.tokens) = (Verdict::Discard, Tokens::None);
                        self.rest = (LENGTH_PREFIX + length) as u64;
                        Ok(None)
                    }
                    Verdict::Pass | Verdict::Discard => {
                        self.tokens = Tokens::after(&head, &verdict);
                        self.verdict = verdict;
                        self.rest = (LENGTH_PREFIX + length) as u64;
                        Ok(None)
                    }
                }
            }
            None if is_whole || frame.len() >= HEAD_MAX => Err(Violation::RequestHeader),
            None => Ok(Some(LENGTH_PREFIX + length.min((2 * frame.len()).max(512)))),
        }
    }
}

/// Reads the start of a request; `None` if it needs more bytes.
pub(crate) fn read_head(frame: &[u8], is_whole: bool) -> Result<Option<RequestHead<'_>>, Violation> {
    let mut r = Start(frame);
    let (Some(api_key), Some(version), Some(correlation_id)) = (r.i16(), r.i16(), r.i32()) else {
        return Ok(None);
    };
    let unsupported = Violation::UnsupportedRequest { api_key, version };
    let Ok(api) = ApiKey::try_from(api_key) else { return Err(unsupported) };
    let (min, max) = supported_versions(api);
    // To ApiVersions in an unknown version the gateway responds as a broker does.
    if version < min || (version > max && api != ApiKey::ApiVersions) {
        return Err(unsupported);
    }
    let Some(client_id) = r.string() else { return Ok(None) };
    let flexible = version <= max && api.request_header_version(version) >= 2;
    if flexible && r.tags().is_none() {
        return Ok(None);
    }
    let body = r.0;
    let expects_response = match api {
        ApiKey::Produce => match read_acks(r, version, flexible) {
            Some(acks) => acks != 0,
            None => return Ok(None),
        },
        _ => true,
    };
    Ok(Some(RequestHead {
        api,
        version,
        correlation_id,
        client_id,
        expects_response,
        body,
        is_whole,
        length: frame.len(),
        is_token: false,
        flexible,
    }))
}

/// The first version of Produce that has a transactional id.
const FIRST_WITH_TRANSACTIONAL_ID: i16 = 3;

fn read_acks(mut r: Start<'_>, version: i16, flexible: bool) -> Option<i16> {
    if version >= FIRST_WITH_TRANSACTIONAL_ID {
        match flexible {
            true => _ = r.compact()?,
            false => _ = r.string()?,
        }
    }
    r.i16()
}

/// Reads from the start of a request; `None` where it has too few bytes.
#[derive(Clone, Copy)]
struct Start<'a>(&'a [u8]);

impl<'a> Start<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn chunk<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (chunk, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*chunk)
    }

    fn i16(&mut self) -> Option<i16> {
        self.chunk().map(i16::from_be_bytes)
    }

    fn i32(&mut self) -> Option<i32> {
        self.chunk().map(i32::from_be_bytes)
    }

    fn uvarint(&mut self) -> Option<usize> {
        let mut value = 0_u64;
        for shift in (0..35).step_by(7) {
            let [byte] = self.chunk()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return usize::try_from(value).ok();
            }
        }
        None
    }

    /// A string with a length of 2 bytes, or null.
    fn string(&mut self) -> Option<Option<&'a [u8]>> {
        match usize::try_from(self.i16()?) {
            Ok(length) => self.take(length).map(Some),
            Err(_) => Some(None),
        }
    }

    /// A compact string, or null.
    fn compact(&mut self) -> Option<Option<&'a [u8]>> {
        match self.uvarint()?.checked_sub(1) {
            Some(length) => self.take(length).map(Some),
            None => Some(None),
        }
    }

    fn tags(&mut self) -> Option<()> {
        for _ in 0..self.uvarint()? {
            self.uvarint()?;
            let size = self.uvarint()?;
            self.take(size)?;
        }
        Some(())
    }
}
