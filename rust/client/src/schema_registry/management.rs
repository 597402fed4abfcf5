//! The calls that administer a registry: versions, deletion, levels of compatibility, and modes.
//!
//! Invariants: a deletion that is repeated after a lost response succeeds; what is cached of a subject is forgotten
//! with each change of it, refusals included.

use hyper::Method;
use serde_json::json;
use tokio::time::{Duration, Instant};

use super::call::Call;
use super::document;
use super::failure::{is_deleted, is_unset};
use super::{Key, SchemaRegistry, SubjectFilter, left};
use crate::error::{Error, Kind, Result};
use crate::http::encode::{form, segment};
use crate::printable::printable;
use crate::retry::deadline;

/// A setting of a registry or a subject, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistrySetting {
    /// The value, as the registry names it.
    pub value: String,
    /// Whether the subject has none of its own, so that the value is that of its context or of the registry.
    pub is_global: bool,
}

/// A setting that subjects have, or the registry for all others.
#[derive(Debug, Clone, Copy)]
struct Setting {
    /// The first segment of its path.
    path: &'static str,
    /// Its field in requests, and those of which one is in responses.
    field: &'static str,
    shown: &'static [&'static str],
    name: &'static str,
    values: &'static [&'static str],
}

const LEVEL: Setting = Setting {
    path: "/config",
    field: "compatibility",
    shown: &["compatibilityLevel", "compatibility"],
    name: "compatibility level",
    values: &[
        "NONE",
        "BACKWARD",
        "BACKWARD_TRANSITIVE",
        "FORWARD",
        "FORWARD_TRANSITIVE",
        "FULL",
        "FULL_TRANSITIVE",
    ],
};

const MODE: Setting = Setting {
    path: "/mode",
    field: "mode",
    shown: &["mode"],
    name: "mode",
    values: &["READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT", "FORWARD"],
};

impl Setting {
    fn call(self, method: Method, subject: Option<&str>, query: &str, verb: &str) -> Call {
        let (owner, place) = match subject {
            Some(subject) => {
                (format!("/{}", segment(subject)), format!("subject \"{}\"", printable(subject)))
            }
            None => (String::new(), "the registry".to_owned()),
        };
        let what = format!("{verb} the {} of {place}", self.name);
        let call = Call { method, ..Call::get(format!("{}{owner}{query}", self.path), what) };
        match subject {
            Some(subject) => call.subject(subject),
            None => call,
        }
    }

    /// The registry's name of a value.
    fn checked(self, value: &str) -> Result<&'static str> {
        let found = self.values.iter().find(|known| known.eq_ignore_ascii_case(value));
        found.copied().ok_or_else(|| {
            let message = format!(
                "\"{}\" is no {} of a schema registry: expected one of {}",
                printable(value),
                self.name,
                self.values.join(", ")
            );
            Error::new(Kind::Config, message)
        })
    }
}

impl SchemaRegistry {
    /// Returns the numbers of a subject's versions, in order.
    ///
    /// # Errors
    /// The subject does not exist, or the registry did not respond within `timeout`.
    pub async fn versions(&self, subject: &str, with_deleted: bool, timeout: Duration) -> Result<Vec<i32>> {
        self.check_open()?;
        let query = if with_deleted { "?deleted=true" } else { "" };
        let path = format!("/subjects/{}/versions{query}", segment(subject));
        let what = format!("listing the versions of subject \"{}\"", printable(subject));
        let call = Call::get(path, what).subject(subject);
        let mut found = self.transport.call(&call, deadline(timeout), document::numbers).await?;
        found.sort_unstable();
        Ok(found)
    }

    /// Returns the names of the subjects.
    ///
    /// # Errors
    /// The registry did not respond within `timeout`.
    pub async fn subjects(&self, filter: &SubjectFilter, timeout: Duration) -> Result<Vec<String>> {
        self.check_open()?;
        let mut query = Vec::new();
        if filter.with_deleted {
            query.push("deleted=true".to_owned());
        }
        if !filter.prefix.is_empty() {
            query.push(format!("subjectPrefix={}", form(&filter.prefix)));
        }
        let mark = if query.is_empty() { "" } else { "?" };
        let path = format!("/subjects{mark}{}", query.join("&"));
        let call = Call::get(path, "listing the subjects".to_owned());
        let mut found = self.transport.call(&call, deadline(timeout), document::names).await?;
        // Registries that do not know the parameter return all.
        found.retain(|subject| filter.has(subject));
        Ok(found)
    }

    /// Deletes a version softly: it remains available by id, and as a reference. With `permanent` it is forgotten,
    /// even if it was not deleted softly before.
    ///
    /// # Errors
    /// The subject or the version does not exist, another schema refers to it, or the registry did not respond
    /// within `timeout`; it may have deleted the version then (`is_maybe_done`).
    pub async fn delete_version(
        &self,
        subject: &str,
        version: i32,
        permanent: bool,
        timeout: Duration,
    ) -> Result<()> {
        let path = format!("/subjects/{}/versions/{version}", segment(subject));
        let what = format!("deleting version {version} of subject \"{}\"", printable(subject));
        self.delete(subject, &path, &what, permanent, deadline(timeout), document::any).await?;
        Ok(())
    }

    /// Deletes all versions of a subject softly, and with `permanent` for good. Returns their numbers, or none if
    /// the response to the deletion was lost.
    ///
    /// # Errors
    /// As [`delete_version`](Self::delete_version).
    pub async fn delete_subject(
        &self,
        subject: &str,
        permanent: bool,
        timeout: Duration,
    ) -> Result<Vec<i32>> {
        let path = format!("/subjects/{}", segment(subject));
        let what = format!("deleting subject \"{}\"", printable(subject));
        let deadline = deadline(timeout);
        let found = self.delete(subject, &path, &what, permanent, deadline, document::numbers).await?;
        Ok(found.unwrap_or_default())
    }

    /// Deletes softly, and then permanently if wanted. `None` means that only a lost response had the result.
    async fn delete<T>(
        &self,
        subject: &str,
        path: &str,
        what: &str,
        permanent: bool,
        deadline: Instant,
        read: impl Fn(&serde_json::Value) -> Result<T, String>,
    ) -> Result<Option<T>> {
        self.check_open()?;
        let call = |query: &str| {
            let path = format!("{path}{query}");
            let call = Call { method: Method::DELETE, ..Call::get(path, what.to_owned()) };
            call.subject(subject).write()
        };
        let deleted = self.transport.call(&call(""), deadline, &read).await;
        let result = match (permanent, deleted) {
            (true, Err(error)) if !is_deleted(&error) => Err(error),
            (true, _) => self.transport.call(&call("?permanent=true"), deadline, &read).await,
            (false, deleted) => deleted,
        };
        self.forget(Some(subject));
        if permanent {
            self.referenced.forget(|(of, _)| **of == *subject);
        }
        match result {
            Ok(result) => Ok(Some(result)),
            Err(error) if error.is_maybe_done() && is_deleted(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the level of compatibility that applies to a subject, or the registry's own.
    ///
    /// # Errors
    /// The registry did not respond within `timeout`.
    pub async fn compatibility_level(
        &self,
        subject: Option<&str>,
        timeout: Duration,
    ) -> Result<RegistrySetting> {
        self.setting(LEVEL, subject, deadline(timeout)).await
    }

    /// Sets the level of compatibility of a subject, or of all subjects that have none of their own.
    ///
    /// # Errors
    /// There is no such level, or the registry did not respond within `timeout`; it may have set the level then.
    pub async fn set_compatibility_level(
        &self,
        level: &str,
        subject: Option<&str>,
        timeout: Duration,
    ) -> Result<()> {
        self.set(LEVEL, level, subject, "", deadline(timeout)).await
    }

    /// Removes the level of compatibility of a subject, or resets the registry's own to its default.
    ///
    /// # Errors
    /// The subject has none of its own, or the registry did not respond within `timeout`.
    pub async fn delete_compatibility_level(&self, subject: Option<&str>, timeout: Duration) -> Result<()> {
        self.unset(LEVEL, subject, deadline(timeout)).await
    }

    /// Returns the mode that applies to a subject, or the registry's own.
    ///
    /// # Errors
    /// The registry did not respond within `timeout`.
    pub async fn mode(&self, subject: Option<&str>, timeout: Duration) -> Result<RegistrySetting> {
        self.setting(MODE, subject, deadline(timeout)).await
    }

    /// Sets the mode of a subject, or of all subjects that have none of their own. `force` sets `IMPORT` even if
    /// there are schemas.
    ///
    /// # Errors
    /// There is no such mode, the registry refuses it, or it did not respond within `timeout`.
    pub async fn set_mode(
        &self,
        mode: &str,
        subject: Option<&str>,
        force: bool,
        timeout: Duration,
    ) -> Result<()> {
        let query = if force { "?force=true" } else { "" };
        self.set(MODE, mode, subject, query, deadline(timeout)).await
    }

    /// Removes the mode of a subject, so that the registry's own applies.
    ///
    /// # Errors
    /// The subject has none of its own, or the registry did not respond within `timeout`.
    pub async fn delete_mode(&self, subject: &str, timeout: Duration) -> Result<()> {
        self.unset(MODE, Some(subject), deadline(timeout)).await
    }

    async fn setting(
        &self,
        setting: Setting,
        subject: Option<&str>,
        deadline: Instant,
    ) -> Result<RegistrySetting> {
        self.check_open()?;
        let read = document::setting(setting.shown);
        let get = |subject, query| setting.call(Method::GET, subject, query, "looking up");
        if subject.is_some() {
            // With the parameter a registry does not say whose value it is; without it, of the subject alone.
            for (query, is_global) in [("", false), ("?defaultToGlobal=true", true)] {
                match self.transport.call(&get(subject, query), deadline, &read).await {
                    Ok(value) => return Ok(RegistrySetting { value, is_global }),
                    Err(error) if is_unset(&error) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        let value = self.transport.call(&get(None, ""), deadline, &read).await?;
        Ok(RegistrySetting { value, is_global: true })
    }

    async fn set(
        &self,
        setting: Setting,
        value: &str,
        subject: Option<&str>,
        query: &str,
        deadline: Instant,
    ) -> Result<()> {
        self.check_open()?;
        let body = json!({setting.field: setting.checked(value)?}).to_string();
        let call = setting.call(Method::PUT, subject, query, "setting").write();
        let call = Call { body: Some(body.into()), ..call };
        let result = self.transport.call(&call, deadline, document::any).await;
        self.forget(subject);
        result
    }

    async fn unset(&self, setting: Setting, subject: Option<&str>, deadline: Instant) -> Result<()> {
        self.check_open()?;
        let call = setting.call(Method::DELETE, subject, "", "resetting").write();
        let result = self.transport.call(&call, deadline, document::any).await;
        self.forget(subject);
        match result {
            Err(error) if error.is_maybe_done() && is_unset(&error) => Ok(()),
            result => result,
        }
    }

    /// Forgets what is cached of a subject, or of all: refusals, and what may have changed.
    pub(super) fn forget(&self, subject: Option<&str>) {
        self.schemas.forget(|key| match key {
            Key::Id(_) => false,
            Key::Latest(of) | Key::Version(of, ..) | Key::Lookup(of, ..) | Key::Registered(of, ..) => {
                subject.is_none_or(|subject| **of == *subject)
            }
        });
    }

    /// Looks up the version of a schema that was just registered.
    pub(super) async fn registered_version(
        &self,
        subject: &str,
        schema: &super::NewSchema,
        normalize: bool,
        deadline: Instant,
    ) -> Option<i32> {
        // A look-up before it may have found nothing.
        self.schemas.forget(|key| matches!(key, Key::Lookup(of, ..) if **of == *subject));
        match self.lookup(subject, schema, normalize, left(deadline)).await {
            Ok(found) => found.version,
            Err(error) => {
                tracing::debug!(target: "ottla.schema", %error, "the schema was registered; its version is not known");
                None
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_checked_before_it_is_sent() {
        assert_eq!(LEVEL.checked("full_transitive").unwrap(), "FULL_TRANSITIVE");
        assert_eq!(MODE.checked("readonly").unwrap(), "READONLY");
        let error = LEVEL.checked("READONLY").unwrap_err();
        assert_eq!(error.kind(), Kind::Config);
        assert!(error.message().contains("expected one of NONE, BACKWARD"), "{error}");
    }

    #[test]
    fn a_call_names_the_subject_and_encodes_it() {
        let call = LEVEL.call(Method::GET, Some(":.ctx:a/b"), "?q", "looking up");
        assert_eq!(call.path, "/config/%3A.ctx%3Aa%2Fb?q");
        assert_eq!(call.what, "looking up the compatibility level of subject \":.ctx:a/b\"");
        let call = MODE.call(Method::PUT, None, "", "setting");
        assert_eq!((&*call.path, &*call.what), ("/mode", "setting the mode of the registry"));
    }
}
