//! What a schema's rules keep from being read or written.
//!
//! Invariant: a value that needs a rule is neither read nor written without it, unless the configuration names the
//! rule: it may be encrypted.

use ottla_schema::{RegisteredSchema, Rule, SchemaUse};

use super::schema_lookup::SchemaLookup;
use crate::error::{Error, Kind, Result};

/// Why a schema cannot be used like this, if one of its rules is needed for it.
pub(super) fn refusal(
    lookup: Option<&dyn SchemaLookup>,
    schema: &RegisteredSchema,
    schema_use: SchemaUse,
) -> Option<String> {
    let ignored = lookup.map_or(&[][..], SchemaLookup::ignored_rules);
    let is_ignored = |rule: &Rule| ignored.iter().any(|name| **name == *rule.name);
    let rule = schema.rules.iter().find(|rule| rule.is_needed(schema_use) && !is_ignored(rule))?;
    let what = match schema_use {
        SchemaUse::ReadFrom | SchemaUse::ReadTo => "values that are read",
        SchemaUse::Write => "values that are written",
        SchemaUse::Upgrade | SchemaUse::Downgrade => "values of another version",
    };
    Some(format!(
        "it has the rule {rule} for {what}, which this client cannot apply: use a client that does, or, if the values are right without the rule, name it in schema.registry.ignored.rules"
    ))
}

/// Checks that a schema can be used like this.
///
/// # Errors
/// [`Kind::Schema`]: it needs a rule. `name` says which schema it is.
pub(super) fn check(
    lookup: Option<&dyn SchemaLookup>,
    name: &str,
    schema: &RegisteredSchema,
    schema_use: SchemaUse,
) -> Result<()> {
    match refusal(lookup, schema, schema_use) {
        Some(reason) => {
            Err(Error::new(Kind::Schema, format!("the schema of {name} cannot be used: {reason}")))
        }
        None => Ok(()),
    }
}

/// Why values of a writer's schema cannot be read to the reader's.
pub(super) fn unreadable(
    lookup: Option<&dyn SchemaLookup>,
    writer: &RegisteredSchema,
    reader: Option<&RegisteredSchema>,
) -> Option<String> {
    let own = refusal(lookup, writer, SchemaUse::ReadFrom);
    own.or_else(|| {
        // Which of the two is later is not known, so a rule in either direction counts.
        let reader = reader.filter(|reader| reader.text != writer.text)?;
        let downgrade = refusal(lookup, writer, SchemaUse::Downgrade);
        downgrade.or_else(|| {
            Some(format!("the reader's schema: {}", refusal(lookup, reader, SchemaUse::Upgrade)?))
        })
    })
}
