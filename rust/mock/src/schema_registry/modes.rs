//! Modes: which changes a registry or a subject accepts from clients.
//!
//! Invariant: a mode that was never set is READWRITE, as Confluent's.

use std::collections::HashMap;

use super::failure::RegistryFailure;
use super::subject_names::context_of;

/// The modes.
const MODES: [&str; 5] = ["READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT", "FORWARD"];
const DEFAULT: &str = MODES[0];
const DEFAULT_CONTEXT: &str = ":.:";

/// The mode of all subjects, and those of some.
#[derive(Debug, Default)]
pub(super) struct Modes {
    global: Option<&'static str>,
    subjects: HashMap<String, &'static str>,
}

impl Modes {
    /// The mode with this name, in whichever case.
    pub(super) fn parse(name: &str) -> Result<&'static str, RegistryFailure> {
        let found = MODES.iter().find(|known| known.eq_ignore_ascii_case(name));
        found.copied().ok_or_else(RegistryFailure::invalid_mode)
    }

    pub(super) fn set(&mut self, subject: Option<&str>, mode: &'static str) {
        match subject {
            Some(subject) => drop(self.subjects.insert(subject.to_owned(), mode)),
            None => self.global = Some(mode),
        }
    }

    /// The mode that decides for a subject.
    pub(super) fn effective(&self, subject: &str) -> &'static str {
        match (self.global, self.own(Some(subject))) {
            // It takes precedence over the modes of subjects.
            (Some("READONLY_OVERRIDE"), _) => "READONLY_OVERRIDE",
            (_, Some(own)) => own,
            _ => self.inherited(subject),
        }
    }

    /// The mode of a subject if it has its own one, or the global one.
    pub(super) fn own(&self, subject: Option<&str>) -> Option<&'static str> {
        match subject {
            Some(subject) => self.subjects.get(subject).copied(),
            None => Some(self.global.unwrap_or(DEFAULT)),
        }
    }

    /// The mode that a subject without its own one has.
    pub(super) fn inherited(&self, subject: &str) -> &'static str {
        let global = self.global.unwrap_or(DEFAULT);
        self.own(Some(&context_of(subject))).unwrap_or(global)
    }

    /// Removes a mode, and returns it if there was one; the global one is then the default.
    pub(super) fn reset(&mut self, subject: Option<&str>) -> Option<&'static str> {
        match subject {
            Some(subject) => self.subjects.remove(subject),
            None => Some(self.global.take().unwrap_or(DEFAULT)),
        }
    }

    /// Removes the modes of all subjects of a context, which has the name of a subject; of the default one if none.
    /// Returns whether it is a context.
    pub(super) fn reset_below(&mut self, context: Option<&str>) -> bool {
        let context = context.unwrap_or(DEFAULT_CONTEXT);
        let is_context = context_of(context) == context;
        if is_context {
            self.subjects.retain(|subject, _| context_of(subject) != context);
        }
        is_context
    }
}
