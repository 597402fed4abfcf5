//! What an application subscribes to.

use std::sync::Arc;

use crate::metadata::Pattern;

/// What an application subscribes to.
#[derive(Debug, Clone)]
pub enum Subscription {
    /// These topics, those that do not exist yet included.
    Topics(Vec<Arc<str>>),
    /// The topics that match, as this client sees it ([`Pattern::java`]). New ones are found when the
    /// metadata is refreshed.
    Matching(Pattern),
    /// The topics that match, as the brokers see it (RE2J). Only with `group.protocol=consumer`, since
    /// Kafka 4.0.
    Regex(String),
}
