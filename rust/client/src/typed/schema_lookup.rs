//! Where schemas come from.

use std::fmt::Debug;
use std::sync::Arc;

use ottla_schema::{RegisteredSchema, SchemaId};

use crate::environment::BoxFuture;
use crate::error::Result;

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

/// Looks up schemas. Lookups may be dropped at any time, and repeated.
pub trait SchemaLookup: Debug + Send + Sync {
    /// The schema with an id; `None` if there is none. An error says that this is not known.
    fn schema(&self, id: SchemaId) -> BoxFuture<'_, Result<Option<Arc<RegisteredSchema>>>>;

    /// A version of a subject, by default the latest; `None` if there is none.
    fn version<'a>(
        &'a self,
        subject: &'a str,
        version: Option<i32>,
    ) -> BoxFuture<'a, Result<Option<SubjectSchema>>>;
}
