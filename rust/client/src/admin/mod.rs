//! Changing the cluster: one file a operation. For now what a producer's or a test's set-up needs.

mod change;
mod create_topics;
mod delete_topics;

pub use create_topics::NewTopic;
