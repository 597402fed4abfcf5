//! The hot paths of `ottla.compat`, whose other parts are Python.
//!
//! - confluent-kafka: `message`, messages as that client has them; `message_reader`: how a consumer returns them;
//!   `offset_store`: the offsets that are stored with them; `message_producer`, `report_queue`, `completed`: the messages
//!   of a producer until they are reported; `produced`: the arguments of `produce`.
//! - aiokafka: `consumer_record`, records as that client has them.
//!
//! Invariant: nothing here knows a configuration or an error of another client; the Python layers do.

mod completed;
mod consumer_record;
mod message;
mod message_producer;
mod message_reader;
mod offset_store;
mod produced;
mod report_queue;

pub(crate) use consumer_record::{ConsumerRecord, consumer_records};
pub(crate) use message::Message;
pub(crate) use message_producer::MessageProducer;
pub(crate) use message_reader::MessageReader;
pub(crate) use offset_store::OffsetStore;
pub(crate) use report_queue::ReportQueue;
