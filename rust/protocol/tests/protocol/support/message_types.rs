//! All messages of the crate as one table, independent of their Rust types.

use bytes::Bytes;
use ottla_protocol::messages::consumer_protocol_assignment::ConsumerProtocolAssignment;
use ottla_protocol::messages::consumer_protocol_subscription::ConsumerProtocolSubscription;
use ottla_protocol::messages::end_txn_marker::EndTxnMarker;
use ottla_protocol::value::{FromValue, ToValue, Value, ValueError};
use ottla_protocol::{Message, WireError, for_each_message};

use super::notation::Schema;

/// One message type.
#[derive(Clone)]
pub(crate) struct MessageType {
    pub(crate) name: &'static str,
    pub(crate) versions: std::ops::RangeInclusive<i16>,
    pub(crate) schema: Schema,
    /// Reads the message from bytes that contain nothing else, and writes it again.
    pub(crate) read: fn(Bytes, i16) -> Result<RoundTrip, WireError>,
    /// Reads the message and drops it.
    pub(crate) probe: fn(Bytes, i16) -> Result<(), WireError>,
}

/// A message that was read and written.
pub(crate) struct RoundTrip {
    pub(crate) value: Value,
    /// The encoding of the message read.
    pub(crate) written: Result<Bytes, WireError>,
    /// The encoding of the message that its tree converts to.
    pub(crate) rebuilt: Result<Result<Bytes, WireError>, ValueError>,
}

/// All messages, each once.
pub(crate) fn messages() -> Vec<MessageType> {
    let mut all = Vec::new();
    macro_rules! add {
        ($message:path) => {
            all.push(message_type::<$message>());
        };
    }
    for_each_message!(add);
    // These belong to no API: they are values inside other messages and records.
    add!(ConsumerProtocolAssignment);
    add!(ConsumerProtocolSubscription);
    add!(EndTxnMarker);
    all
}

/// Every message in every version.
pub(crate) fn messages_and_versions() -> Vec<(MessageType, i16)> {
    messages().into_iter().flat_map(each_version).collect()
}

fn each_version(message_type: MessageType) -> impl Iterator<Item = (MessageType, i16)> {
    message_type.versions.clone().map(move |version| (message_type.clone(), version))
}

fn message_type<M: Message + ToValue + FromValue>() -> MessageType {
    MessageType {
        name: M::NAME,
        versions: M::MIN_VERSION..=M::MAX_VERSION,
        schema: Schema::parse(&M::SCHEMA),
        read: |bytes, version| {
            let message = M::from_bytes(bytes, version)?;
            let written = message.to_frame(version).map(|frame| frame.to_bytes());
            let rebuilt = M::from_value(message.to_value(version));
            let rebuilt = rebuilt.map(|message| message.to_frame(version).map(|frame| frame.to_bytes()));
            Ok(RoundTrip { value: message.to_value(version), written, rebuilt })
        },
        probe: |bytes, version| M::from_bytes(bytes, version).map(drop),
    }
}
