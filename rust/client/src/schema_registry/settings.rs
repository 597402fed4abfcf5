//! The calls about settings: levels of compatibility, and modes.
//!
//! Invariant: what is cached of a subject is forgotten with each change of its settings, refusals included.

use hyper::Method;
use serde_json::json;
use tokio::time::{Duration, Instant};

use super::SchemaRegistry;
use super::call::Call;
use super::document;
use super::failure::is_unset;
use crate::error::{Error, Kind, Result};
use crate::http::encode::segment;
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
