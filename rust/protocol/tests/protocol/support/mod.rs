//! What the tests of messages share: every message behind one table ([`known`]), its schema taken
//! apart ([`notation`]), random encodings of it ([`generate`]), what reading may
//! cost ([`memory`]), and what Java says ([`oracle`]).

pub(crate) mod generate;
pub(crate) mod known;
pub(crate) mod memory;
pub(crate) mod notation;
pub(crate) mod oracle;
