//! The calls about subjects and their versions: lists and deletion.
//!
//! Invariants: a deletion that is repeated after a lost response succeeds; what is cached of a subject is forgotten
//! with it, refusals included.

use std::sync::Arc;

use hyper::Method;
use tokio::time::{Duration, Instant};

use super::call::Call;
use super::document;
use super::failure::is_deleted;
use super::{Key, SchemaEntry, SchemaRegistry, SubjectFilter, left};
use crate::error::Result;
use crate::http::encode::{form, segment};
use crate::printable::printable;
use crate::retry::deadline;

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

    /// Forgets what is cached of a subject, or of all: refusals, and what may have changed.
    pub(super) fn forget(&self, subject: Option<&str>) {
        self.schemas.forget(|key| match key {
            Key::Id(..) => false,
            Key::Latest(of) | Key::Version(of, ..) | Key::Lookup(of, ..) | Key::Registered(of, ..) => {
                subject.is_none_or(|subject| **of == *subject)
            }
        });
    }

    /// Looks up the version of a schema that was just registered.
    pub(super) async fn registered_entry(
        &self,
        subject: &str,
        schema: &super::NewSchema,
        normalize: bool,
        deadline: Instant,
    ) -> Option<Arc<SchemaEntry>> {
        // A look-up before it may have found nothing.
        self.schemas.forget(|key| matches!(key, Key::Lookup(of, ..) if **of == *subject));
        match self.lookup(subject, schema, normalize, left(deadline)).await {
            Ok(found) => Some(found),
            Err(error) => {
                tracing::debug!(target: "ottla.schema", %error, "the schema was registered; its version is not known");
                None
            }
        }
    }
}
