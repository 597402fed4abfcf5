//! The type of the column for a JSON Schema, from draft 4 to 2020-12.
//!
//! - `references` resolves `$ref`, within a document and to the referenced schemas.
//! - `keywords` collects the keywords of a schema and of the schemas that it combines.
//! - `types` is the set of JSON types that a schema allows.
//!
//! Invariants: a keyword that is not understood never leads to a narrower type. The work is bounded: a schema of
//! a few lines may stand for millions of types.

mod keywords;
mod references;
mod types;

use arrow_schema::{DataType, Field};

use self::keywords::Keywords;
use self::references::{Library, Location};
use self::types::Types;
use super::unsupported;
use super::value_type::{map_type, required_field, text_field};
use crate::error::SchemaError;
use crate::limits::SchemaLimits;
use crate::registered_schema::RegisteredSchema;
use crate::shape::{MAX_TYPES, check_level};

/// The largest number of schemas to read, with all references expanded.
const MAX_STEPS: usize = 10 * MAX_TYPES;
/// The maximum nesting depth of schemas, with all references followed.
const MAX_NESTING: usize = 100;

/// Returns the field that a schema describes.
pub(super) fn column_field(schema: &RegisteredSchema, limits: &SchemaLimits) -> Result<Field, SchemaError> {
    let sources = references::read(schema)?;
    let library = Library::new(&sources);
    let root = library.root()?;
    let mut compiler =
        Compiler { library: &library, limits, types: 0, names: 0, steps: 0, nesting: 0, is_comparing: false };
    compiler.field("value", &[root], "$", 1)
}

struct Compiler<'a> {
    library: &'a Library<'a>,
    limits: &'a SchemaLimits,
    types: usize,
    /// The total bytes of their names.
    names: usize,
    steps: usize,
    nesting: usize,
    /// Whether two types are being compared. Required keys that allow null are not marked then.
    is_comparing: bool,
}

impl<'a> Compiler<'a> {
    /// Returns the field of a value that must match all of some schemas.
    fn field(
        &mut self,
        name: &str,
        schemas: &[Location<'a>],
        path: &str,
        depth: usize,
    ) -> Result<Field, SchemaError> {
        let mut keywords = Keywords::default();
        for schema in schemas {
            self.collect(schema, &mut keywords, path)?;
        }
        self.column(name, &keywords, path, depth)
    }

    fn column(
        &mut self,
        name: &str,
        keywords: &Keywords<'a>,
        path: &str,
        depth: usize,
    ) -> Result<Field, SchemaError> {
        self.types += 1;
        if self.types > MAX_TYPES {
            return Err(unsupported(format!("it has more than {MAX_TYPES} types, with references expanded")));
        }
        self.names = self.names.saturating_add(name.len());
        let names = self.limits.check_name(name);
        names.and_then(|()| self.limits.check_all_names(self.names)).map_err(unsupported)?;
        check_level(depth).map_err(unsupported)?;
        if keywords.types == Some(Types::NONE) {
            return Err(unsupported(format!("{path} allows no value")));
        }
        let nullable = keywords.types.is_none_or(|types| types.contains(Types::NULL));
        let data_type = match keywords.value_types() {
            _ if keywords.is_mixed => None,
            Some(Types::STRING) => Some(DataType::Utf8),
            Some(Types::BOOLEAN) => Some(DataType::Boolean),
            Some(Types::INTEGER) => Some(DataType::Int64),
            Some(Types::FRACTION | Types::NUMBER) => Some(DataType::Float64),
            Some(Types::OBJECT) => self.object(keywords, path, depth)?,
            Some(Types::ARRAY) => self.array(keywords, path, depth)?,
            _ => None,
        };
        Ok(match data_type {
            Some(data_type) => Field::new(name, data_type, nullable),
            None => text_field(name).with_nullable(nullable),
        })
    }

    fn object(
        &mut self,
        keywords: &Keywords<'a>,
        path: &str,
        depth: usize,
    ) -> Result<Option<DataType>, SchemaError> {
        if !keywords.properties.is_empty() {
            let mut fields = Vec::with_capacity(keywords.properties.len());
            for (name, schemas) in &keywords.properties {
                let field = self.field(name, schemas, &format!("{path}.{name}"), depth + 1)?;
                fields.push(match (field.is_nullable(), keywords.required.contains(name)) {
                    (true, true) if !self.is_comparing => required_field(field),
                    (_, is_required) => {
                        let nullable = field.is_nullable() || !is_required;
                        field.with_nullable(nullable)
                    }
                });
            }
            return Ok(Some(DataType::Struct(fields.into())));
        }
        let values = match (keywords.additional.as_slice(), keywords.patterns.as_slice()) {
            (additional @ [_, ..], []) => additional,
            ([], pattern @ [_]) if keywords.is_closed => pattern,
            _ => return Ok(None),
        };
        let values = self.field("value", values, &format!("{path}{{}}"), depth + 2)?;
        Ok(Some(map_type(values)))
    }

    fn array(
        &mut self,
        keywords: &Keywords<'a>,
        path: &str,
        depth: usize,
    ) -> Result<Option<DataType>, SchemaError> {
        if keywords.is_tuple {
            return Ok(None);
        }
        let items = self.field("item", &keywords.items, &format!("{path}[]"), depth + 1)?;
        Ok(Some(DataType::List(items.into())))
    }
}
