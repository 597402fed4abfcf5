//! The hot paths of `ottla.compat.confluent_kafka`, whose other parts are Python: messages as that client has them,
//! how a consumer returns them, the offsets that are stored with them, and the queue of a producer's reports.
//!
//! Invariant: nothing here knows a configuration or an error of that client; the Python layer does.

mod message;
mod message_producer;
mod message_reader;
mod offset_store;
mod report_queue;

pub(crate) use message::Message;
pub(crate) use message_producer::MessageProducer;
pub(crate) use message_reader::MessageReader;
pub(crate) use offset_store::OffsetStore;
pub(crate) use report_queue::ReportQueue;
