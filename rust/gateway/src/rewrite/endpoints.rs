//! The endpoints of new leaders at the end of responses to Produce, Fetch, ShareFetch and ShareAcknowledge (KIP-951).
//!
//! A response that fits into the buffer is rewritten exactly. The length of a longer one has been sent before its end
//! arrives, so that it cannot change: its endpoints are left out, and an unknown tagged field takes up their room.
//! Clients ignore such a field and ask for the metadata, as they do where a leader is named without an endpoint.

use bytes::Bytes;
use ottla_protocol::messages::fetch::NodeEndpoint;
use ottla_protocol::wire::{Context, Field, Reader, Writer};
use ottla_protocol::{ApiKey, WireError};

use super::layout::Layout::{Array, Compact, Fixed, Tags};
use super::layout::{Layout, Walker};
use super::{AddressBook, RewriteError};

/// The number of the tagged field that takes up the room of endpoints. Kafka numbers its fields from 0.
const PADDING_TAG: u32 = 0x7f;
/// As `PADDING_TAG`, but one byte longer on the wire.
const LONGER_PADDING_TAG: u32 = 0x3fff;
/// The number of the tagged field that has the endpoints.
const ENDPOINTS_TAG: u32 = 0;

/// A response with endpoints at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Endpoints {
    api: ApiKey,
    version: i16,
}

/// Where the endpoints are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// In a tagged field of the message.
    Tagged,
    /// In an array in front of the tagged fields.
    Array,
}

impl Endpoints {
    /// The endpoints of the response, if the version has them.
    pub(super) fn of(api: ApiKey, version: i16) -> Option<Self> {
        let first = match api {
            ApiKey::Produce => 10,
            ApiKey::Fetch => 16,
            ApiKey::ShareFetch | ApiKey::ShareAcknowledge => 0,
            _ => return None,
        };
        (version >= first).then_some(Self { api, version })
    }

    /// The API.
    pub(crate) fn api(self) -> ApiKey {
        self.api
    }

    fn form(self) -> Form {
        match self.api {
            ApiKey::ShareFetch | ApiKey::ShareAcknowledge => Form::Array,
            _ => Form::Tagged,
        }
    }

    /// The elements in front of the endpoints, from the end of the correlation id on.
    fn before(self) -> &'static [Layout] {
        match (self.api, self.version) {
            (ApiKey::Produce, ..=12) => PRODUCE_BY_NAME,
            (ApiKey::Produce, _) => PRODUCE,
            (ApiKey::Fetch, _) => FETCH,
            (ApiKey::ShareFetch, _) => SHARE_FETCH,
            (_, ..=1) => SHARE_ACKNOWLEDGE_WITHOUT_TIMEOUT,
            _ => SHARE_ACKNOWLEDGE,
        }
    }

    /// Starts to pass over the elements in front of the endpoints.
    pub(crate) fn walk(self) -> EndpointsWalk {
        EndpointsWalk { endpoints: self, walker: Walker::new(self.before()) }
    }

    fn context(self) -> Context {
        Context { version: FIRST_OF_ENDPOINTS, flexible: true, nullable: false, name: "NodeEndpoint" }
    }

    /// Rewrites the end of a response, from the endpoints on; `None` if it has none.
    pub(crate) fn rewrite(
        self,
        end: Bytes,
        book: &mut dyn AddressBook,
    ) -> Result<Option<Bytes>, RewriteError> {
        let rewritten = self.translate(end, book);
        rewritten.map_err(|error| RewriteError::Malformed { api: self.api, error })
    }

    fn translate(self, end: Bytes, book: &mut dyn AddressBook) -> Result<Option<Bytes>, WireError> {
        let parts = Parts::split(self, end)?;
        let Some(endpoints) = parts.endpoints else { return Ok(None) };
        let mut r = Reader::new(endpoints);
        let mut endpoints = Vec::<NodeEndpoint>::read(&mut r, self.context())?;
        endpoints
            .retain_mut(|endpoint| book.replace(endpoint.node_id, &mut endpoint.host, &mut endpoint.port));
        let mut list = Writer::new();
        endpoints.write(&mut list, self.context())?;
        let mut w = Writer::new();
        let mut tags = parts.others;
        match self.form() {
            Form::Array => push(&mut w, &list.finish().to_bytes()),
            Form::Tagged => tags.insert(0, (ENDPOINTS_TAG, list.finish().to_bytes())),
        }
        write_tags(&mut w, &tags)?;
        Ok(Some(w.finish().to_bytes()))
    }

    /// The end of a response without endpoints, in as many bytes; `None` if it has none.
    pub(crate) fn leave_out(self, end: Bytes) -> Result<Option<Bytes>, RewriteError> {
        let length = end.len();
        self.pad(end, length).map_err(|error| RewriteError::Malformed { api: self.api, error })
    }

    fn pad(self, end: Bytes, length: usize) -> Result<Option<Bytes>, WireError> {
        let parts = Parts::split(self, end)?;
        let has_endpoints = parts.endpoints.as_ref().is_some_and(|endpoints| endpoints[..] != EMPTY_ARRAY);
        if !has_endpoints {
            return Ok(None);
        }
        for tag in [PADDING_TAG, LONGER_PADDING_TAG] {
            let mut tags = parts.others.clone();
            tags.push((tag, Bytes::new()));
            let unpadded = self.without_endpoints(&tags)?;
            // The length of the padding may itself take more bytes.
            for extra in 0..4 {
                let Some(room) = length.checked_sub(unpadded.len() + extra) else { break };
                if let Some(padding) = tags.last_mut() {
                    padding.1 = Bytes::from(vec![0; room]);
                }
                let padded = self.without_endpoints(&tags)?;
                if padded.len() == length {
                    return Ok(Some(padded));
                }
            }
        }
        // No endpoint is as short as the padding's own number and length.
        Err(WireError::Short { what: "endpoints", needed: MIN_PADDING, left: length })
    }

    fn without_endpoints(self, tags: &[(u32, Bytes)]) -> Result<Bytes, WireError> {
        let mut w = Writer::new();
        if self.form() == Form::Array {
            w.count(Some(0), true)?;
        }
        write_tags(&mut w, tags)?;
        Ok(w.finish().to_bytes())
    }
}

/// A compact array without items.
const EMPTY_ARRAY: [u8; 1] = [1];
/// The bytes of a padding field of no length.
const MIN_PADDING: usize = 2;
/// The first version of `FetchResponse` that has endpoints: they are the same in all messages.
const FIRST_OF_ENDPOINTS: i16 = 16;

/// The end of a response, taken apart.
struct Parts {
    /// The array of endpoints; `None` if there is none.
    endpoints: Option<Bytes>,
    /// The other tagged fields, by number.
    others: Vec<(u32, Bytes)>,
}

impl Parts {
    fn split(endpoints: Endpoints, end: Bytes) -> Result<Self, WireError> {
        let mut r = Reader::new(end.clone());
        let mut found = None;
        if endpoints.form() == Form::Array {
            Vec::<NodeEndpoint>::read(&mut r, endpoints.context())?;
            found = Some(end.slice(..end.len() - r.remaining()));
        }
        let mut others = Vec::new();
        r.tagged(|tag, r| {
            let bytes = r.rest().clone();
            match tag {
                ENDPOINTS_TAG if endpoints.form() == Form::Tagged => found = Some(bytes),
                _ => others.push((tag, bytes)),
            }
            Ok(false)
        })?;
        match r.remaining() {
            0 => Ok(Self { endpoints: found, others }),
            left => Err(WireError::Trailing { message: "a response", left }),
        }
    }
}

fn push(w: &mut Writer, bytes: &Bytes) {
    bytes.iter().for_each(|byte| w.u8(*byte));
}

/// Writes tagged fields in the given order.
fn write_tags(w: &mut Writer, tags: &[(u32, Bytes)]) -> Result<(), WireError> {
    let fields = tags.iter().map(|(tag, bytes)| {
        let mut field = Writer::new();
        push(&mut field, bytes);
        (*tag, field)
    });
    w.tagged(fields.collect())
}

/// Passes over the elements in front of the endpoints.
#[derive(Debug)]
pub(crate) struct EndpointsWalk {
    endpoints: Endpoints,
    walker: Walker,
}

impl EndpointsWalk {
    /// What is looked for.
    pub(crate) fn endpoints(&self) -> Endpoints {
        self.endpoints
    }

    /// Passes over `input`, and returns the number of bytes that belong to the elements in front of the endpoints.
    pub(crate) fn advance(&mut self, input: &[u8]) -> Result<usize, RewriteError> {
        self.walker.advance(input).map_err(|_| RewriteError::Varint(self.endpoints.api))
    }

    /// Whether the endpoints follow.
    pub(crate) fn is_done(&self) -> bool {
        self.walker.is_done()
    }
}

const ID: Layout = Fixed(16);
const LEADER: Layout = Fixed(4 + 4);

const PRODUCE_PARTITION: &[Layout] = &[
    // Index, error code, base offset, time of append, start of the log.
    Fixed(4 + 2 + 8 + 8 + 8),
    // Errors of records.
    Array(&[Fixed(4), Compact, Tags]),
    // Error message.
    Compact,
    Tags,
];
const PRODUCE: &[Layout] = &[Tags, Array(&[ID, Array(PRODUCE_PARTITION), Tags]), Fixed(4)];
const PRODUCE_BY_NAME: &[Layout] = &[Tags, Array(&[Compact, Array(PRODUCE_PARTITION), Tags]), Fixed(4)];

const FETCH: &[Layout] = &[
    Tags,
    // Throttle time, error code, session.
    Fixed(4 + 2 + 4),
    Array(&[ID, Array(FETCH_PARTITION), Tags]),
];
const FETCH_PARTITION: &[Layout] = &[
    // Index, error code, high watermark, last stable offset, start of the log.
    Fixed(4 + 2 + 8 + 8 + 8),
    // Aborted transactions.
    Array(&[Fixed(8 + 8), Tags]),
    // Preferred read replica.
    Fixed(4),
    // Records.
    Compact,
    Tags,
];

const SHARE_FETCH: &[Layout] = &[
    Tags,
    // Throttle time, error code.
    Fixed(4 + 2),
    // Error message.
    Compact,
    // Timeout of the locks.
    Fixed(4),
    Array(&[ID, Array(SHARE_FETCH_PARTITION), Tags]),
];
const SHARE_FETCH_PARTITION: &[Layout] = &[
    // Index, error code.
    Fixed(4 + 2),
    Compact,
    // Error code of the acknowledgement.
    Fixed(2),
    Compact,
    LEADER,
    Tags,
    // Records.
    Compact,
    // Acquired records.
    Array(&[Fixed(8 + 8 + 2), Tags]),
    Tags,
];

const SHARE_ACKNOWLEDGE_PARTITION: &[Layout] = &[Fixed(4 + 2), Compact, LEADER, Tags, Tags];
const SHARE_ACKNOWLEDGE_TOPICS: Layout = Array(&[ID, Array(SHARE_ACKNOWLEDGE_PARTITION), Tags]);
const SHARE_ACKNOWLEDGE: &[Layout] = &[Tags, Fixed(4 + 2), Compact, Fixed(4), SHARE_ACKNOWLEDGE_TOPICS];
const SHARE_ACKNOWLEDGE_WITHOUT_TIMEOUT: &[Layout] = &[Tags, Fixed(4 + 2), Compact, SHARE_ACKNOWLEDGE_TOPICS];
