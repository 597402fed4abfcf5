//! The partitions in a request with records.
//!
//! Invariant: they are counted before they are decoded, since each takes far more memory then.

use bytes::Bytes;
use ottla_protocol::messages::produce::ProduceRequest;
use ottla_protocol::wire::Reader;
use ottla_protocol::{Message, WireError};

/// The first version of Produce that names topics by their ids.
pub(super) const FIRST_WITH_IDS: i16 = 13;
/// The partitions in a request with records. Producers send one batch for each partition of which a broker leads.
pub(super) const PARTITIONS_MAX: usize = 20_000;

/// The partitions in the body of Produce.
pub(super) fn partitions(body: Bytes, version: i16) -> Result<usize, WireError> {
    let flexible = (ProduceRequest::FLEXIBLE)(version);
    let mut r = Reader::new(body);
    r.string(flexible)?;
    r.i16()?;
    r.i32()?;
    let mut partitions = 0;
    let tags = |r: &mut Reader| if flexible { r.tagged(|_, _| Ok(false)) } else { Ok(()) };
    for _ in 0..r.count(flexible, 1)?.unwrap_or_default() {
        match version < FIRST_WITH_IDS {
            true => drop(r.string(flexible)?),
            false => drop(r.uuid()?),
        }
        for _ in 0..r.count(flexible, 1)?.unwrap_or_default() {
            r.i32()?;
            r.bytes(flexible)?;
            tags(&mut r)?;
            partitions += 1;
        }
        tags(&mut r)?;
    }
    Ok(partitions)
}
