//! What the modes of a registry and its subjects forbid.
//!
//! Invariant: a schema that is registered already is returned in every mode.

use super::failure::RegistryFailure;
use super::modes::Modes;
use super::state::{Listed, RegistryState};

impl RegistryState {
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
            // Ids that clients choose are not supported here.
            "IMPORT" if registers => {
                Err(RegistryFailure::not_permitted(&format!("Subject {subject} is not in read-write mode")))
            }
            _ => Ok(()),
        }
    }
}
