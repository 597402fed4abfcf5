//! Shared by the tests of messages: all message types ([`message_types`]), their schemas
//! ([`notation`]), random encodings ([`generate`]), memory limits ([`memory`]), and Java's data
//! ([`oracle`]).

pub(crate) mod generate;
pub(crate) mod memory;
pub(crate) mod message_types;
pub(crate) mod notation;
pub(crate) mod oracle;
