//! What coordinators refuse members for, in words for the application, and whether trying again can
//! help.

use ottla_protocol::ErrorCode;

use super::settings::{GroupSettings, millis};
use crate::config::GroupProtocol;
use crate::error::Error;
use crate::printable::printable;

/// Why the member is not in the group, and what the application knows of it.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: Error,
    /// Whether only another subscription, or none, is a way out. Otherwise the next poll tries again.
    pub(super) lasting: bool,
    /// Whether it lies on the desk, or did.
    pub(super) told: bool,
}

impl Failure {
    pub(super) fn new(error: Error) -> Self {
        let lasting = error.code().is_some_and(is_lasting);
        Self { error, lasting, told: false }
    }
}

/// Whether neither time nor permissions change the answer: somebody has to change the program, its
/// configuration or the cluster.
fn is_lasting(code: ErrorCode) -> bool {
    use ErrorCode as E;
    matches!(
        code,
        E::FencedInstanceId
            | E::InvalidSessionTimeout
            | E::InvalidGroupId
            | E::InvalidRequest
            | E::UnsupportedAssignor
            | E::UnsupportedVersion
            | E::InvalidRegularExpression
    )
}

/// What `code` means to the application. `message` is what the coordinator said about it.
pub(super) fn refusal(settings: &GroupSettings, code: ErrorCode, message: Option<&str>) -> Error {
    use ErrorCode as E;
    let group = &settings.group_id;
    let instance = settings.instance_id.as_deref().unwrap_or_default();
    let words = match code {
        E::FencedInstanceId => format!(
            "another member of the group {group} has taken over group.instance.id={instance}: each running member needs its own"
        ),
        E::UnreleasedInstanceId => format!(
            "group.instance.id={instance} still belongs to another member of the group {group}: if it is not running any more, it is gone when its session ends"
        ),
        E::GroupAuthorizationFailed => format!("not allowed to use the group {group}: READ on it is needed"),
        E::InconsistentGroupProtocol => format!(
            "the members of the group {group} have no assignor in common with {}, or it is a group of another kind",
            settings.assignors.iter().map(|assignor| assignor.name()).collect::<Vec<_>>().join(", ")
        ),
        E::InvalidSessionTimeout => format!(
            "session.timeout.ms={} is outside the brokers' group.min.session.timeout.ms and group.max.session.timeout.ms",
            millis(settings.session_timeout)
        ),
        E::GroupMaxSizeReached => format!("the group {group} is full: the brokers' limit is group.max.size"),
        E::UnsupportedAssignor => format!(
            "the brokers have no assignor of the name group.remote.assignor={}",
            settings.remote_assignor.as_deref().unwrap_or_default()
        ),
        E::UnsupportedVersion if settings.protocol == GroupProtocol::Consumer => unsupported(group),
        E::InvalidRegularExpression => "the brokers cannot use the pattern that was subscribed to".to_owned(),
        _ => format!("the coordinator of the group {group} refuses this member: {}", code.meaning()),
    };
    let words = match message.filter(|message| !message.is_empty()) {
        Some(message) => format!("{words} ({})", printable(message)),
        None => words,
    };
    Error::with_code(code, words)
}

/// For brokers that do not know the protocol, or do not want to.
pub(super) fn unsupported(group: &str) -> String {
    format!(
        "the brokers do not offer the consumer group protocol of KIP-848 (Kafka 4.0, or group.coordinator.rebalance.protocols) to the group {group}: set group.protocol=classic"
    )
}
