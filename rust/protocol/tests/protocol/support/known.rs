//! Every message that the crate knows, as one table that hides the messages' types.

use bytes::Bytes;
use ottla_protocol::describe::{Describe, Value};
use ottla_protocol::messages::consumer_protocol_assignment::ConsumerProtocolAssignment;
use ottla_protocol::messages::consumer_protocol_subscription::ConsumerProtocolSubscription;
use ottla_protocol::messages::end_txn_marker::EndTxnMarker;
use ottla_protocol::{Message, WireError, for_each_message};

use super::notation::Schema;

/// One message.
#[derive(Clone)]
pub(crate) struct Known {
    pub(crate) name: &'static str,
    pub(crate) versions: std::ops::RangeInclusive<i16>,
    pub(crate) schema: Schema,
    /// Reads bytes that hold the message and nothing else.
    pub(crate) read: fn(Bytes, i16) -> Result<Read, WireError>,
    /// Reads and forgets.
    pub(crate) probe: fn(Bytes, i16) -> Result<(), WireError>,
}

/// A message that was read.
pub(crate) struct Read {
    pub(crate) value: Value,
    /// Its bytes, written again.
    pub(crate) written: Result<Bytes, WireError>,
}

/// All messages, each once.
pub(crate) fn messages() -> Vec<Known> {
    let mut all = Vec::new();
    macro_rules! add {
        ($message:path) => {
            all.push(known::<$message>());
        };
    }
    for_each_message!(add);
    // These go with no API: they are values inside other messages and records.
    add!(ConsumerProtocolAssignment);
    add!(ConsumerProtocolSubscription);
    add!(EndTxnMarker);
    all
}

/// Every message in every version.
pub(crate) fn messages_and_versions() -> Vec<(Known, i16)> {
    messages().into_iter().flat_map(each_version).collect()
}

fn each_version(known: Known) -> impl Iterator<Item = (Known, i16)> {
    known.versions.clone().map(move |version| (known.clone(), version))
}

fn known<M: Message + Describe>() -> Known {
    Known {
        name: M::NAME,
        versions: M::MIN_VERSION..=M::MAX_VERSION,
        schema: Schema::parse(&M::SCHEMA),
        read: |bytes, version| {
            let message = M::from_bytes(bytes, version)?;
            let written = message.to_frame(version).map(|frame| frame.to_bytes());
            Ok(Read { value: message.describe(version), written })
        },
        probe: |bytes, version| M::from_bytes(bytes, version).map(drop),
    }
}
