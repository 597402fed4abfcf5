//! What the tests of messages share: every message behind one table ([`known`]), its schema taken
//! apart ([`notation`]), random encodings of it ([`generate`]), what reading may
//! cost ([`memory`]), and what Java says ([`oracle`]).

#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]

pub mod generate;
pub mod known;
pub mod memory;
pub mod notation;
pub mod oracle;
