//! OAUTHBEARER tokens from the application: the token and the trait that supplies it.

use std::any::Any;
use std::fmt;
use std::time::SystemTime;

use super::BoxFuture;
use crate::error::Result;
use crate::secret::Secret;

/// An OAUTHBEARER token.
#[derive(Debug, Clone)]
pub struct Token {
    /// The token as it is sent to the broker.
    pub value: Secret,
    /// When the token expires; `None` if unknown, and then it is used only once.
    pub expires: Option<SystemTime>,
    /// SASL extensions (KIP-342).
    pub extensions: Vec<(String, String)>,
}

/// The application's source of tokens.
pub trait TokenProvider: Any + Send + Sync + fmt::Debug {
    /// Returns a fresh token. One call serves all connections that need a token at the time; the
    /// future is dropped at the deadline of the connection that waits for it.
    fn token(&self) -> BoxFuture<'_, Result<Token>>;
}
