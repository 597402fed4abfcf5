//! Deletion in two steps: a version or a subject is deleted softly first, and then permanently.
//!
//! Invariant: a schema is forgotten with the last version that has it, and no version is deleted permanently while
//! another one refers to it.

use std::collections::HashSet;

use super::failure::RegistryFailure;
use super::schemas::Schema;
use super::state::{Listed, RegistryState, Version, Which};

impl RegistryState {
    /// Deletes a version softly, even if others refer to it.
    pub(super) fn delete_version(&mut self, subject: &str, version: i32) -> Result<(), RegistryFailure> {
        self.versions(subject, Listed::Alive)?;
        let found = self.versions_mut(subject).iter_mut().find(|it| !it.is_deleted && it.number == version);
        found.ok_or_else(|| RegistryFailure::no_version(version))?.is_deleted = true;
        Ok(())
    }

    /// Deletes a version as a client does. Returns its number.
    pub(super) fn request_version_deletion(
        &mut self,
        subject: &str,
        which: Which,
        is_permanent: bool,
    ) -> Result<i32, RegistryFailure> {
        self.check_mode(subject, false)?;
        self.check_subject(subject, is_permanent)?;
        // The latest one is the latest alive.
        let listed = if matches!(which, Which::Latest) { Listed::Alive } else { Listed::All };
        let number = self.version(subject, which, listed)?.version;
        let is_deleted = self.listed(subject, Listed::Deleted).any(|version| version.number == number);
        match (is_permanent, is_deleted) {
            (false, true) => return Err(RegistryFailure::version_deleted(subject, number)),
            (true, false) => return Err(RegistryFailure::version_not_deleted(subject, number)),
            (false, false) | (true, true) => {}
        }
        self.check_unreferenced(subject, number, is_permanent)?;
        if is_permanent {
            self.forget(subject, |version| version.number == number);
        } else {
            self.delete_version(subject, number)?;
        }
        Ok(number)
    }

    /// Deletes a subject, and its level and mode. Returns the versions that it had.
    pub(super) fn request_subject_deletion(
        &mut self,
        subject: &str,
        is_permanent: bool,
    ) -> Result<Vec<i32>, RegistryFailure> {
        self.check_mode(subject, false)?;
        self.check_subject(subject, is_permanent)?;
        if is_permanent && self.listed(subject, Listed::Alive).next().is_some() {
            return Err(RegistryFailure::subject_not_deleted(subject));
        }
        let numbers = self.versions(subject, if is_permanent { Listed::All } else { Listed::Alive })?;
        for number in &numbers {
            self.check_unreferenced(subject, *number, is_permanent)?;
        }
        if is_permanent {
            self.forget(subject, |_| true);
        } else {
            self.versions_mut(subject).iter_mut().for_each(|version| version.is_deleted = true);
        }
        self.settings.reset(Some(subject));
        self.modes.reset(Some(subject));
        Ok(numbers)
    }

    /// The ids of the schemas that refer to a version.
    pub(super) fn referring(&self, subject: &str, number: i32, listed: Listed) -> Vec<i32> {
        let refers = |version: &Version| {
            let references = &version.schema.document.references;
            references.iter().any(|it| it.subject == subject && it.version == number)
        };
        let found = self.all_versions().filter(|(_, version)| listed.has(version) && refers(version));
        let mut ids: Vec<i32> = found.map(|(_, version)| version.schema.id).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    fn versions_mut(&mut self, subject: &str) -> &mut [Version] {
        self.subjects.get_mut(subject).map_or(&mut [][..], Vec::as_mut_slice)
    }

    fn check_subject(&self, subject: &str, is_permanent: bool) -> Result<(), RegistryFailure> {
        self.versions(subject, Listed::All)?;
        if !is_permanent && self.listed(subject, Listed::Alive).next().is_none() {
            return Err(RegistryFailure::subject_deleted(subject));
        }
        Ok(())
    }

    fn check_unreferenced(
        &self,
        subject: &str,
        number: i32,
        is_permanent: bool,
    ) -> Result<(), RegistryFailure> {
        let listed = if is_permanent { Listed::All } else { Listed::Alive };
        match self.referring(subject, number, listed).is_empty() {
            true => Ok(()),
            false => Err(RegistryFailure::referenced(subject, number)),
        }
    }

    /// Removes versions of a subject, and the schemas that no version has any longer.
    fn forget(&mut self, subject: &str, is_removed: impl Fn(&Version) -> bool) {
        if let Some(versions) = self.subjects.get_mut(subject) {
            versions.retain(|version| !is_removed(version));
            if versions.is_empty() {
                self.subjects.remove(subject);
            }
        }
        let place = |schema: &Schema| (schema.context.clone(), schema.id);
        let used: HashSet<_> = self.all_versions().map(|(_, version)| place(&version.schema)).collect();
        self.schemas.retain(|schema| used.contains(&place(schema)));
    }
}
