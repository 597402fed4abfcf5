//! Whether a field's default is a value of its type.
//!
//! Invariant: the work is bounded. A record's default may be made of its fields' own defaults, and so on; a default
//! beyond the limits counts as invalid.

use serde_json::Value;

use super::{Field, Kind, Named, Type};

const MAX_DEPTH: usize = 100;
/// The largest number of values in all defaults of a schema.
const MAX_VALUES: usize = 100_000;

/// Checks the defaults of the types from this index on.
pub(super) fn check_defaults(named: &[Named], from: usize) -> Result<(), String> {
    let mut check = Check { named, values: 0 };
    for record in named.iter().skip(from) {
        let Kind::Record(fields) = &record.kind else { continue };
        for Field { name, schema, default, .. } in fields {
            let Some(default) = default else { continue };
            if !check.is_value(schema, default, 0) {
                return Err(format!(
                    "{}: the default of the field \"{name}\" is not a value of its type: {default}",
                    record.name
                ));
            }
        }
    }
    Ok(())
}

struct Check<'a> {
    named: &'a [Named],
    /// The values that were checked.
    values: usize,
}

impl Check<'_> {
    fn is_value(&mut self, schema: &Type, value: &Value, depth: usize) -> bool {
        self.values = self.values.saturating_add(1);
        if depth >= MAX_DEPTH || self.values > MAX_VALUES {
            return false;
        }
        let depth = depth + 1;
        match schema {
            Type::Null => value.is_null(),
            Type::Boolean => value.is_boolean(),
            Type::Int => value.as_i64().is_some_and(|number| i32::try_from(number).is_ok()),
            Type::Long => value.is_i64(),
            Type::Float | Type::Double => value.is_number(),
            Type::Bytes | Type::String => value.is_string(),
            Type::Array(items) => {
                let values = value.as_array();
                values.is_some_and(|values| values.iter().all(|value| self.is_value(items, value, depth)))
            }
            Type::Map(schema) => {
                let entries = value.as_object();
                entries.is_some_and(|all| all.values().all(|value| self.is_value(schema, value, depth)))
            }
            Type::Union(branches) => branches.iter().any(|branch| self.is_value(branch, value, depth)),
            Type::Named(index) => match self.named.get(*index).map(|found| &found.kind) {
                Some(Kind::Record(fields)) => self.is_record(fields, value, depth),
                Some(Kind::Enum { .. } | Kind::Fixed(_)) => value.is_string(),
                Some(Kind::Open | Kind::Missing) | None => false,
            },
        }
    }

    fn is_record(&mut self, fields: &[Field], value: &Value, depth: usize) -> bool {
        let Some(object) = value.as_object() else { return false };
        fields.iter().all(|field| {
            let value = object.get(&field.name).or(field.default.as_ref());
            value.is_some_and(|value| self.is_value(&field.schema, value, depth))
        })
    }
}
