//! The subscription of an application.

use std::sync::Arc;

use crate::metadata::Pattern;

/// The subscription of an application.
#[derive(Debug, Clone)]
pub enum Subscription {
    /// These topics, which need not exist yet.
    Topics(Vec<Arc<str>>),
    /// The topics that match on the client ([`Pattern::java`]). Metadata refreshes discover new ones.
    Matching(Pattern),
    /// The topics that match on the brokers (RE2J). Only with `group.protocol=consumer`, since Kafka 4.0.
    Regex(String),
}
