//! Administrative operations, one per file: so far what producers and tests need for their setup.

mod change;
mod create_topics;
mod delete_topics;

pub use create_topics::NewTopic;
