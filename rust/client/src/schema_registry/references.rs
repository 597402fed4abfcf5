//! The schemas that a schema refers to, and those that they refer to.
//!
//! Invariants: depth and number are bounded, counting a schema as often as it is referenced, so that walking the tree
//! is bounded work; a cycle is an error; a schema that is referenced twice is looked up once.

use std::collections::HashMap;
use std::sync::Arc;

use ottla_schema::{DataContract, RegisteredSchema, SchemaReference};
use tokio::time::Instant;

use super::cache::Sized;
use super::call::Call;
use super::document::{self, Document};
use super::lookup_cache::Found;
use super::{ReferenceName, SchemaRegistry};
use crate::environment::BoxFuture;
use crate::error::{Error, Kind, Result};
use crate::printable::printable;

/// The longest chain of references.
const MAX_DEPTH: usize = 32;
/// The largest number of schemas in the tree of one schema.
const MAX_SCHEMAS: usize = 10_000;

/// Where a schema is registered.
type Place = (Arc<str>, i32);

impl Sized for Place {
    fn size(&self) -> usize {
        self.0.len()
    }
}

/// Resolves references.
pub(super) async fn resolve(
    registry: &SchemaRegistry,
    references: &[ReferenceName],
    deadline: Instant,
) -> Result<Vec<SchemaReference>> {
    if references.is_empty() {
        return Ok(Vec::new());
    }
    let mut resolver = Resolver { registry, deadline, resolved: HashMap::new(), chain: Vec::new() };
    Ok(resolver.all(references).await?.0)
}

struct Resolver<'a> {
    registry: &'a SchemaRegistry,
    deadline: Instant,
    /// With the number of schemas in each tree.
    resolved: HashMap<Place, (Arc<RegisteredSchema>, usize)>,
    /// The schemas that lead to the current one.
    chain: Vec<Place>,
}

impl Resolver<'_> {
    /// The referenced schemas, and the number of schemas in their trees.
    fn all<'b>(
        &'b mut self,
        references: &'b [ReferenceName],
    ) -> BoxFuture<'b, Result<(Vec<SchemaReference>, usize)>> {
        Box::pin(async move {
            let mut all = Vec::with_capacity(references.len().min(MAX_SCHEMAS));
            let mut count = 0_usize;
            for reference in references {
                let (schema, size) = self.one(reference).await?;
                count = count.saturating_add(size);
                if count > MAX_SCHEMAS {
                    return Err(refused(
                        reference,
                        format_args!("its tree has more than {MAX_SCHEMAS} schemas"),
                    ));
                }
                all.push(SchemaReference { name: Arc::clone(&reference.name), schema });
            }
            Ok((all, count))
        })
    }

    async fn one(&mut self, reference: &ReferenceName) -> Result<(Arc<RegisteredSchema>, usize)> {
        let place = (Arc::clone(&reference.subject), reference.version);
        if self.chain.contains(&place) {
            return Err(refused(reference, "it refers to itself"));
        }
        if let Some((schema, size)) = self.resolved.get(&place) {
            return Ok((Arc::clone(schema), *size));
        }
        if self.chain.len() >= MAX_DEPTH {
            return Err(refused(
                reference,
                format_args!("the chain of references is longer than {MAX_DEPTH}"),
            ));
        }
        let document = self.document(&place).await?;
        self.chain.push(place.clone());
        let (references, count) = self.all(&document.references).await?;
        self.chain.pop();
        let schema = Arc::new(RegisteredSchema {
            schema_type: document.schema_type,
            guid: document.guid,
            text: Arc::clone(&document.text),
            references,
            // Those of the schema that refers to it apply.
            rules: Vec::new(),
            contract: DataContract::default(),
        });
        self.resolved.insert(place, (Arc::clone(&schema), count + 1));
        Ok((schema, count + 1))
    }

    async fn document(&self, place: &Place) -> Result<Arc<Document>> {
        let (subject, version) = place;
        // A version may be referred to even after it was deleted softly.
        let call = Call::version(subject, *version, true);
        let fetch = async {
            let document = self.registry.transport.call(&call, self.deadline, document::schema).await?;
            Ok(Found { size: document.size(), value: Arc::new(document), ttl: None })
        };
        self.registry.referenced.get_or_fetch(place, self.deadline, fetch).await
    }
}

fn refused(reference: &ReferenceName, why: impl std::fmt::Display) -> Error {
    let subject = printable(&reference.subject);
    let message = format!(
        "the reference \"{}\" to version {} of subject \"{subject}\" cannot be resolved: {why}",
        printable(&reference.name),
        reference.version
    );
    Error::new(Kind::Schema, message).schema(Some(&reference.subject), None, None)
}
