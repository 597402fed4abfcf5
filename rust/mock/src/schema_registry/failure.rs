//! Refused requests, with Confluent's statuses and error codes.

/// A refused request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (status {status}, error {code})")]
pub struct RegistryFailure {
    /// The HTTP status.
    pub status: u16,
    /// Confluent's error code.
    pub code: i64,
    /// The message.
    pub message: String,
}

impl RegistryFailure {
    pub(super) fn new(status: u16, code: i64, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }

    pub(super) fn no_route() -> Self {
        Self::new(404, 404, "HTTP 404 Not Found")
    }

    pub(super) fn no_method() -> Self {
        Self::new(405, 405, "HTTP 405 Method Not Allowed")
    }

    pub(super) fn no_subject(subject: &str) -> Self {
        Self::new(404, 40401, format!("Subject '{subject}' not found."))
    }

    pub(super) fn no_version(version: i32) -> Self {
        Self::new(404, 40402, format!("Version {version} not found."))
    }

    pub(super) fn no_schema() -> Self {
        Self::new(404, 40403, "Schema not found")
    }

    pub(super) fn subject_deleted(subject: &str) -> Self {
        let message =
            format!("Subject '{subject}' was soft deleted. Set permanent=true to delete permanently");
        Self::new(404, 40404, message)
    }

    pub(super) fn subject_not_deleted(subject: &str) -> Self {
        let message = format!("Subject '{subject}' was not deleted first before being permanently deleted");
        Self::new(404, 40405, message)
    }

    pub(super) fn version_deleted(subject: &str, version: i32) -> Self {
        let message = format!(
            "Subject '{subject}' Version {version} was soft deleted. Set permanent=true to delete permanently"
        );
        Self::new(404, 40406, message)
    }

    pub(super) fn version_not_deleted(subject: &str, version: i32) -> Self {
        let message = format!(
            "Subject '{subject}' Version {version} was not deleted first before being permanently deleted"
        );
        Self::new(404, 40407, message)
    }

    pub(super) fn no_level(subject: &str) -> Self {
        let message = format!("Subject '{subject}' does not have subject-level compatibility configured");
        Self::new(404, 40408, message)
    }

    pub(super) fn no_mode(subject: &str) -> Self {
        let message = format!("Subject '{subject}' does not have subject-level mode configured");
        Self::new(404, 40409, message)
    }

    pub(super) fn incompatible(subject: &str, differences: &[String]) -> Self {
        let details = differences.join("; ");
        let message = format!(
            "Schema being registered is incompatible with an earlier schema for subject \"{subject}\", details: [{details}]"
        );
        Self::new(409, 409, message)
    }

    pub(super) fn invalid_schema(schema_type: &str, reason: &str) -> Self {
        Self::new(422, 42201, format!("Invalid schema of type {schema_type}, details: {reason}"))
    }

    pub(super) fn invalid_level() -> Self {
        let message = "Invalid compatibility level. Valid values are none, backward, forward, full, \
                       backward_transitive, forward_transitive, and full_transitive";
        Self::new(422, 42203, message)
    }

    pub(super) fn invalid_policy() -> Self {
        Self::new(422, 42203, "Invalid compatibility policy. Valid values are strict and lenient")
    }

    pub(super) fn invalid_mode() -> Self {
        let message =
            "Invalid mode. Valid values are READWRITE, READONLY, READONLY_OVERRIDE, IMPORT, and FORWARD";
        Self::new(422, 42204, message)
    }

    pub(super) fn not_permitted(message: &str) -> Self {
        Self::new(422, 42205, message)
    }

    pub(super) fn referenced(subject: &str, version: i32) -> Self {
        let message =
            format!("One or more references exist to the schema {{subject={subject}, version={version}}}.");
        Self::new(422, 42206, message)
    }
}
