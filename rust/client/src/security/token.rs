//! Tokens for OAUTHBEARER, and the interface by which an application provides them.

use std::fmt;
use std::pin::Pin;
use std::time::SystemTime;

use super::Secret;
use crate::error::Result;

/// What to do instead of using a login module or callback handler that gets tokens in Java, such as AWS's.
pub(super) const NAME_A_PROVIDER: &str = "name a Python callable that returns a token in sasl.oauthbearer.token.provider, as package.module:function, with sasl.mechanism=OAUTHBEARER (AWS MSK IAM and others: docs/security.md)";

/// A token.
#[derive(Debug, Clone)]
pub struct Token {
    /// The token as it is sent to the broker.
    pub value: Secret,
    /// When it expires; `None` if unknown, in which case it is used once.
    pub expires: Option<SystemTime>,
    /// SASL extensions (KIP-342).
    pub extensions: Vec<(String, String)>,
}

/// An application's source of tokens.
pub trait TokenProvider: Send + Sync + fmt::Debug {
    /// Gets a new token. One call serves all connections that need a token; the future is dropped at
    /// the deadline of the connection that waits for it.
    fn token(&self) -> Pin<Box<dyn Future<Output = Result<Token>> + Send + '_>>;
}
