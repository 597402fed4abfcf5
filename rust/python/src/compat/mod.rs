//! The hot paths of `ottla.compat.confluent_kafka`, whose other parts are Python: messages as that client has them,
//! how a consumer returns them, and the offsets that are stored with them.
//!
//! Invariant: nothing here knows a configuration or an error of that client; the Python layer does.

mod message;
mod message_reader;
mod offset_store;

pub(crate) use message::Message;
pub(crate) use message_reader::MessageReader;
pub(crate) use offset_store::OffsetStore;
