//! What the modes of a registry and its subjects forbid.
//!
//! Invariant: a schema that is registered already is returned in every mode.

use super::failure::RegistryFailure;
use super::import::Import;
use super::modes::Modes;
use super::schemas::SchemaDocument;
use super::state::{Listed, RegistryState, Version};
use super::subject_names::context_of;

impl RegistryState {
    /// Refuses an id or a version that the client may not choose.
    pub(super) fn check_import(
        &self,
        subject: &str,
        document: &SchemaDocument,
        import: Import,
    ) -> Result<(), RegistryFailure> {
        if self.modes.effective(subject) != "IMPORT" {
            return Err(RegistryFailure::not_permitted(&format!("Subject {subject} is not in import mode")));
        }
        let Some(id) = import.id else {
            return Err(RegistryFailure::not_permitted(&format!(
                "Subject {subject} is not in read-write mode"
            )));
        };
        let known = self.schemas.by_id(&context_of(subject), &id.to_string());
        if known.is_ok_and(|known| !document.is_same(&known.document)) {
            let message = format!("Overwrite new schema with id {id} is not permitted.");
            return Err(RegistryFailure::not_permitted(&message));
        }
        let is_taken = |version: &Version| {
            Some(version.number) == import.version && !document.is_same(&version.schema.document)
        };
        if self.listed(subject, Listed::All).any(is_taken) {
            let message = "Overwriting an existing version is not permitted.";
            return Err(RegistryFailure::not_permitted(message));
        }
        Ok(())
    }

    /// Sets a mode as a client does.
    pub(super) fn set_mode(
        &mut self,
        subject: Option<&str>,
        mode: &str,
        is_forced: bool,
    ) -> Result<(), RegistryFailure> {
        let mode = Modes::parse(mode)?;
        let has_schemas = match subject {
            Some(subject) => self.listed(subject, Listed::Alive).next().is_some(),
            None => !self.subjects(Listed::Alive).is_empty(),
        };
        if mode == "IMPORT" && has_schemas && !is_forced {
            let message = "Cannot import since found existing subjects";
            return Err(RegistryFailure::not_permitted(message));
        }
        self.modes.set(subject, mode);
        Ok(())
    }

    /// Refuses a change that the mode of a subject does not allow.
    pub(super) fn check_mode(&self, subject: &str, registers: bool) -> Result<(), RegistryFailure> {
        match self.modes.effective(subject) {
            "READONLY" | "READONLY_OVERRIDE" => {
                Err(RegistryFailure::not_permitted(&format!("Subject {subject} is in read-only mode")))
            }
            "IMPORT" if registers => {
                Err(RegistryFailure::not_permitted(&format!("Subject {subject} is not in read-write mode")))
            }
            _ => Ok(()),
        }
    }
}
