//! Administrative operations, one per file: topics, and [`transactions`].

mod change;
mod create_topics;
mod delete_topics;
pub mod transactions;

pub use create_topics::NewTopic;
