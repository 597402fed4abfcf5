//! Where schemas come from.

use std::fmt::Debug;
use std::sync::Arc;

use ottla_schema::{NewSchema, RegisteredSchema, SchemaId, WireFormat};

use crate::environment::BoxFuture;
use crate::error::{Error, Kind, Result};

/// The result of looking up an id.
#[derive(Debug, Clone)]
pub enum FoundSchema {
    /// The schema, with its references.
    Schema(Arc<RegisteredSchema>),
    /// There is no schema with this id, as the message says.
    Missing(String),
}

/// A schema of a subject.
#[derive(Debug, Clone)]
pub struct SubjectSchema {
    /// Its version in the subject.
    pub version: i32,
    /// Its id.
    pub id: SchemaId,
    /// The schema, with its references.
    pub schema: Arc<RegisteredSchema>,
}

/// A schema to write with.
#[derive(Debug, Clone)]
pub struct WriterSchema {
    /// The id that records carry; `None` if they carry none.
    pub id: Option<SchemaId>,
    /// The schema, with its references.
    pub schema: Arc<RegisteredSchema>,
}

/// Looks up schemas. Lookups may be dropped at any time, and repeated; a repeated one continues.
pub trait SchemaLookup: Debug + Send + Sync {
    /// Checks that ids of this format can be looked up.
    ///
    /// # Errors
    /// The configuration does not allow it.
    fn check_wire_format(&self, _wire_format: WireFormat) -> Result<()> {
        Ok(())
    }

    /// Checks that the ids of schemas to write with are those that readers of this format look up.
    ///
    /// # Errors
    /// The configuration says that they are not.
    fn check_written_ids(&self, _wire_format: WireFormat) -> Result<()> {
        Ok(())
    }

    /// The names of rules without which values are right, by the configuration.
    fn ignored_rules(&self) -> &[String] {
        &[]
    }

    /// Returns the schema with an id in a context, by default the registry's own. An error means that it is not known
    /// whether there is one.
    fn schema<'a>(&'a self, id: SchemaId, context: Option<&'a str>) -> BoxFuture<'a, Result<FoundSchema>>;

    /// Returns a version of a subject, by default the latest. It is an error if there is none.
    fn version<'a>(&'a self, subject: &'a str, version: Option<i32>) -> BoxFuture<'a, Result<SubjectSchema>>;

    /// Returns a given schema with the schemas that it refers to.
    fn with_references<'a>(&'a self, schema: &'a NewSchema) -> BoxFuture<'a, Result<Arc<RegisteredSchema>>>;

    /// Returns a schema as it is registered in a subject. If it is not, it is registered first, or an error.
    fn writer_schema<'a>(
        &'a self,
        subject: &'a str,
        schema: &'a NewSchema,
        registers: bool,
    ) -> BoxFuture<'a, Result<WriterSchema>>;

    /// Returns where the schemas are registered that a complete schema refers to: each in the subject of its name.
    /// Those that are not registered are registered first, or an error.
    fn registered_references<'a>(
        &'a self,
        schema: &'a RegisteredSchema,
        registers: bool,
    ) -> BoxFuture<'a, Result<NewSchema>>;
}

/// Returns the schema with an id that a program names. It is an error if there is none.
pub(super) async fn named_schema(
    lookup: &dyn SchemaLookup,
    id: SchemaId,
    context: Option<&str>,
) -> Result<Arc<RegisteredSchema>> {
    match lookup.schema(id, context).await? {
        FoundSchema::Schema(schema) => Ok(schema),
        FoundSchema::Missing(reason) => {
            Err(Error::new(Kind::Schema, format!("schema {id}: {reason}")).schema(None, Some(id), None))
        }
    }
}
