//! `SubscriptionArg`: the argument of `subscribe`, which `subscription()` returns.

use std::sync::Arc;

/// The topics or the pattern passed to `subscribe`.
#[derive(Clone)]
pub(super) enum SubscriptionArg {
    Topics(Vec<Arc<str>>),
    Pattern(String),
}
