//! The rules of a data contract: what a registered schema asks of those who read and write with it, beyond its types.
//!
//! Rules transform values (encrypted fields, JSONata) or check them (CEL). This crate applies none, so it says which
//! rule a use of the schema needs.
//!
//! Invariant: a rule whose meaning is not known counts as one that is needed.

use std::fmt;
use std::sync::Arc;

/// When a rule applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RulePhase {
    /// Between values and their fields: encrypted fields, conditions.
    Domain,
    /// Between payloads and the bytes of records: encrypted payloads.
    Encoding,
    /// From one version's values to another's.
    Migration,
}

/// What is done with a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaUse {
    /// Values are read that were written with it.
    ReadFrom,
    /// Values are read to it.
    ReadTo,
    /// Values are written with it.
    Write,
    /// Values of earlier versions are read to it.
    Upgrade,
    /// Values that were written with it are read to an earlier version.
    Downgrade,
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The name, by which the contract calls it.
    pub name: Arc<str>,
    /// What applies it: `ENCRYPT`, `CEL`, `CEL_FIELD`, `JSONATA` and others.
    pub rule_type: Arc<str>,
    /// `READ`, `WRITE` or `WRITEREAD`; of migrations `UPGRADE`, `DOWNGRADE` or `UPDOWN`.
    pub mode: Arc<str>,
    /// When it applies.
    pub phase: RulePhase,
}

impl Rule {
    /// Whether this use of a schema needs the rule.
    #[must_use]
    pub fn is_needed(&self, schema_use: SchemaUse) -> bool {
        let other = match (schema_use, self.phase) {
            (SchemaUse::ReadFrom, RulePhase::Domain | RulePhase::Encoding)
            | (SchemaUse::ReadTo, RulePhase::Domain) => "WRITE",
            (SchemaUse::Write, RulePhase::Domain | RulePhase::Encoding) => "READ",
            (SchemaUse::Upgrade, RulePhase::Migration) => "DOWNGRADE",
            (SchemaUse::Downgrade, RulePhase::Migration) => "UPGRADE",
            _ => return false,
        };
        !self.mode.eq_ignore_ascii_case(other)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, rule_type, mode, .. } = self;
        write!(f, "\"{name}\" ({rule_type}, {mode})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(mode: &str, phase: RulePhase) -> Rule {
        Rule { name: "r".into(), rule_type: "ENCRYPT".into(), mode: mode.into(), phase }
    }

    #[test]
    fn a_rule_is_needed_by_the_uses_that_its_mode_names() {
        use RulePhase::{Domain, Encoding, Migration};
        use SchemaUse::{Downgrade, ReadFrom, ReadTo, Upgrade, Write};
        let cases: [(&str, RulePhase, &[SchemaUse]); 8] = [
            ("WRITEREAD", Domain, &[ReadFrom, ReadTo, Write]),
            ("READ", Domain, &[ReadFrom, ReadTo]),
            ("write", Domain, &[Write]),
            ("WRITEREAD", Encoding, &[ReadFrom, Write]),
            ("UPGRADE", Migration, &[Upgrade]),
            ("DOWNGRADE", Migration, &[Downgrade]),
            ("UPDOWN", Migration, &[Upgrade, Downgrade]),
            ("SOMEDAY", Domain, &[ReadFrom, ReadTo, Write]),
        ];
        for (mode, phase, expected) in cases {
            let needed = [ReadFrom, ReadTo, Write, Upgrade, Downgrade].into_iter();
            let needed: Vec<_> = needed.filter(|it| rule(mode, phase).is_needed(*it)).collect();
            assert_eq!(needed, expected, "{mode} {phase:?}");
        }
    }
}
