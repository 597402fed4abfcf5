//! The brokers in a response to Metadata. What follows them, which may be megabytes of topics, is not looked at.

use bytes::Bytes;
use ottla_protocol::messages::metadata::{MetadataResponse, MetadataResponseBroker};
use ottla_protocol::wire::{Context, Field, Reader, Writer};
use ottla_protocol::{ApiKey, Message, WireError};

use super::{AddressBook, RewriteError};

/// The first version that has a throttle time in front of the brokers.
const FIRST_WITH_THROTTLE: i16 = 3;

/// The rewritten brokers, and the place of those that they replace.
pub(crate) struct RewrittenBrokers {
    /// The position of the first byte to replace.
    pub(crate) start: usize,
    /// The position after the last byte to replace.
    pub(crate) end: usize,
    /// The bytes in place of them.
    pub(crate) brokers: Bytes,
}

/// Rewrites the brokers in the start of a response, from the end of its correlation id on. `None`: it needs more bytes.
pub(crate) fn rewrite_brokers(
    start_of_response: &Bytes,
    version: i16,
    book: &mut dyn AddressBook,
) -> Result<Option<RewrittenBrokers>, RewriteError> {
    let api = ApiKey::Metadata;
    match rewrite(start_of_response, version, book) {
        Ok(rewritten) => Ok(Some(rewritten)),
        Err(WireError::Short { .. }) => Ok(None),
        Err(error) => Err(RewriteError::Malformed { api, error }),
    }
}

fn rewrite(
    start_of_response: &Bytes,
    version: i16,
    book: &mut dyn AddressBook,
) -> Result<RewrittenBrokers, WireError> {
    let mut r = Reader::new(start_of_response.clone());
    if ApiKey::Metadata.response_header_version(version) >= 1 {
        r.tagged(|_, _| Ok(false))?;
    }
    if version >= FIRST_WITH_THROTTLE {
        r.i32()?;
    }
    let position = |r: &Reader| start_of_response.len() - r.remaining();
    let start = position(&r);
    let flexible = (MetadataResponse::FLEXIBLE)(version);
    let context = Context { version, flexible, nullable: false, name: "MetadataResponse.brokers" };
    let mut brokers = Vec::<MetadataResponseBroker>::read(&mut r, context)?;
    let end = position(&r);
    brokers.retain_mut(|broker| book.replace(broker.node_id, &mut broker.host, &mut broker.port));
    let mut w = Writer::new();
    brokers.write(&mut w, context)?;
    Ok(RewrittenBrokers { start, end, brokers: w.finish().to_bytes() })
}
