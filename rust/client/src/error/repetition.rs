//! When to repeat an administrative request for an item with an error code.
//!
//! Invariant: what is repeated although it may have been done is told apart by `proof.rs`, never by this table.

use ottla_protocol::ErrorCode;

use super::Error;

/// When to repeat a request for an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repetition {
    /// The result is final.
    Never,
    /// A few times: brokers learn of new topics and tokens one after the other.
    Propagation,
    /// Until the deadline.
    Always,
    /// For some seconds, if the request changes nothing: the broker met something that it did not expect, such as a
    /// topic that was just deleted.
    Passing,
}

impl Repetition {
    /// When to repeat a request for an item with this code.
    #[must_use]
    pub fn of(code: ErrorCode) -> Self {
        use ErrorCode as E;
        match code {
            E::UnknownTopicOrPartition | E::UnknownTopicId | E::DelegationTokenNotFound => Self::Propagation,
            E::UnknownServerError => Self::Passing,
            // No call waits for a broker to come back.
            E::PreferredLeaderNotAvailable | E::EligibleLeadersNotAvailable => Self::Never,
            code if Error::from_code(code).is_retriable() => Self::Always,
            _ => Self::Never,
        }
    }

    /// Its name, for other languages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Propagation => "propagation",
            Self::Always => "always",
            Self::Passing => "passing",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::proof::proves_no_change;

    #[test]
    fn what_proves_that_nothing_was_changed_is_repeated() {
        for code in ErrorCode::ALL.iter().copied().filter(|code| proves_no_change(*code)) {
            assert_eq!(Repetition::of(code), Repetition::Always, "{code}");
        }
    }

    #[test]
    fn unknown_items_are_repeated_for_as_long_as_brokers_take_to_learn_of_them() {
        assert_eq!(Repetition::of(ErrorCode::UnknownTopicOrPartition), Repetition::Propagation);
        assert_eq!(Repetition::of(ErrorCode::UnknownServerError), Repetition::Passing);
        assert_eq!(Repetition::of(ErrorCode::PreferredLeaderNotAvailable), Repetition::Never);
        assert_eq!(Repetition::of(ErrorCode::TopicAlreadyExists), Repetition::Never);
        assert_eq!(Repetition::of(ErrorCode::Unknown(9_999)), Repetition::Never);
    }
}
