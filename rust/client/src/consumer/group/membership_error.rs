//! Errors that keep a member out of its group, with advice, and whether a retry can succeed.

use ottla_protocol::{ApiKey, ErrorCode};

use super::settings::{GroupSettings, millis};
use crate::config::GroupProtocol;
use crate::error::Error;
use crate::printable::printable;

/// The error that keeps a member out of its group.
#[derive(Debug)]
pub(super) struct MembershipError {
    pub(super) error: Error,
    /// Whether only a new subscription can help. Otherwise the next poll retries.
    pub(super) permanent: bool,
    /// Whether the application was notified.
    pub(super) reported: bool,
}

impl MembershipError {
    pub(super) fn new(error: Error) -> Self {
        let permanent = error.code().is_some_and(is_permanent);
        Self { error, permanent, reported: false }
    }
}

/// Whether neither time nor permissions can help: the program, its configuration or the cluster must
/// change.
fn is_permanent(code: ErrorCode) -> bool {
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

/// The error for a code, with advice; `message` comes from the coordinator.
pub(super) fn membership_error(settings: &GroupSettings, code: ErrorCode, message: Option<&str>) -> Error {
    use ErrorCode as E;
    let group = &settings.group_id;
    let instance = settings.instance_id.as_deref().unwrap_or_default();
    let advice = match code {
        E::FencedInstanceId => format!(
            "fenced by another member of group {group} with group.instance.id={instance}: each running member needs its own id"
        ),
        E::UnreleasedInstanceId => format!(
            "group.instance.id={instance} still belongs to another member of group {group}: if that one has stopped without closing, it is released when its session expires, after 45 s by default (group.consumer.session.timeout.ms of the brokers)"
        ),
        E::GroupAuthorizationFailed => {
            let error = Error::from_code(code).lacking(ApiKey::JoinGroup, group);
            let text = with_broker_message(error.message().to_owned(), message);
            return error.with_message(text);
        }
        E::InconsistentGroupProtocol => format!(
            "the members of group {group} do not share an assignor with {}, or it is not a group of consumers",
            settings.assignors.iter().map(|assignor| assignor.name()).collect::<Vec<_>>().join(", ")
        ),
        E::InvalidSessionTimeout => format!(
            "session.timeout.ms={} is outside the brokers' group.min.session.timeout.ms and group.max.session.timeout.ms",
            millis(settings.session_timeout)
        ),
        E::GroupMaxSizeReached => format!("group {group} is full: the brokers limit it with group.max.size"),
        E::UnsupportedAssignor => format!(
            "the brokers do not have the assignor group.remote.assignor={}",
            settings.remote_assignor.as_deref().unwrap_or_default()
        ),
        E::UnsupportedVersion if settings.protocol == GroupProtocol::Consumer => unsupported(group),
        E::InvalidRegularExpression => "the brokers reject the subscribed pattern".to_owned(),
        _ => format!("the coordinator of group {group} rejects this member: {}", code.meaning()),
    };
    Error::with_code(code, with_broker_message(advice, message))
}

/// The error for a code that a member of a share group receives, with advice.
pub(super) fn share_membership_error(
    settings: &GroupSettings,
    code: ErrorCode,
    message: Option<&str>,
) -> Error {
    use ErrorCode as E;
    let group = &settings.group_id;
    let advice = match code {
        E::UnsupportedVersion => share_groups_unsupported(group),
        E::InconsistentGroupProtocol | E::GroupIdNotFound => format!(
            "group {group} is not a share group: it has members or offsets of another kind; choose another group.id"
        ),
        _ => return membership_error(settings, code, message),
    };
    Error::with_code(code, with_broker_message(advice, message))
}

/// The error of brokers without share groups.
pub(super) fn share_groups_unsupported(group: &str) -> String {
    format!(
        "the brokers do not support share groups for group {group} (KIP-932: Kafka 4.2, with the feature share.version at 1 or above)"
    )
}

/// Adds what the coordinator said.
fn with_broker_message(advice: String, message: Option<&str>) -> String {
    match message.filter(|message| !message.is_empty()) {
        Some(message) => format!("{advice} ({})", printable(message)),
        None => advice,
    }
}

/// The error of brokers that do not support the protocol or have it disabled.
pub(super) fn unsupported(group: &str) -> String {
    format!(
        "the brokers do not support the consumer group protocol (KIP-848: Kafka 4.0, group.coordinator.rebalance.protocols) for group {group}: set group.protocol=classic"
    )
}
