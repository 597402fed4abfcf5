//! What the error code of one item of an administrative request says: whether to repeat the request for this
//! item, and whether the broker has certainly changed nothing.
//!
//! Invariant: a code counts as a proof only if brokers check it before they write. A controller that resigns
//! returns NOT_CONTROLLER although the change may be in its log.

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

/// Whether a broker that returns this code for a change has certainly changed nothing, so that the change may be
/// repeated without doubt about the first attempt.
#[must_use]
pub fn proves_no_change(code: ErrorCode) -> bool {
    use ErrorCode as E;
    matches!(
        code,
        E::LeaderNotAvailable
            | E::NotLeaderOrFollower
            | E::CoordinatorLoadInProgress
            | E::CoordinatorNotAvailable
            | E::NotCoordinator
            | E::ThrottlingQuotaExceeded
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_repeated_without_a_proof_leaves_doubt() {
        for code in [ErrorCode::NotController, ErrorCode::RequestTimedOut] {
            assert_eq!((Repetition::of(code), proves_no_change(code)), (Repetition::Always, false), "{code}");
        }
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
