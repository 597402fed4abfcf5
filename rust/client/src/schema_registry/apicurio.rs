//! Schemas by the ids that Apicurio's serializers write: ids of contents, or global ids of versions. Which one it is, is
//! said by the header that has it; before a value, by the configuration.
//!
//! Invariant: an id is never looked up as one of the other kind. Both count from 1, so that a wrong kind would
//! mostly find a schema, with which records would be decoded to nonsense.

use ottla_schema::SchemaId;
use tokio::time::Instant;

use super::SchemaRegistry;
use super::call::Call;
use super::document::{self, Document};
use super::failure::UNKNOWN_SCHEMA;
use crate::config::{ApicurioUseId, RegistryConfig};
use crate::error::{Error, Kind, Result};

/// Which ids the serializers write.
///
/// # Errors
/// It is not configured.
pub(super) fn use_id(config: &RegistryConfig) -> Result<ApicurioUseId> {
    config.apicurio_use_id.ok_or_else(|| {
        let message = "schema.registry.apicurio.use.id must be set for ids that Apicurio's serializers wrote: to the value of their property apicurio.registry.use-id, which is contentId by default in version 3, and globalId in version 2";
        Error::new(Kind::Config, message)
    })
}

/// Checks that records may carry the ids of Confluent's API, which are those of contents.
///
/// # Errors
/// Readers would look up other ids, or it is not configured.
pub(super) fn check_written_ids(config: &RegistryConfig) -> Result<()> {
    match use_id(config)? {
        ApicurioUseId::ContentId => Ok(()),
        ApicurioUseId::GlobalId => {
            let message = "schema.registry.apicurio.use.id=globalId is for decoding: values are encoded with ids of contents (contentId)";
            Err(Error::new(Kind::Config, message))
        }
    }
}

/// Looks up a schema by one of Apicurio's ids, which is this number.
pub(super) async fn find(
    registry: &SchemaRegistry,
    id: SchemaId,
    number: u64,
    deadline: Instant,
) -> Result<Document> {
    let kind = match id {
        SchemaId::ContentId(_) => ApicurioUseId::ContentId,
        SchemaId::GlobalId(_) => ApicurioUseId::GlobalId,
        _ => use_id(&registry.config)?,
    };
    let content_id = match kind {
        ApicurioUseId::ContentId => number,
        ApicurioUseId::GlobalId => content_id(registry, id, number, deadline).await?,
    };
    // Confluent's API of Apicurio has the same ids, with the type and the references.
    let call = Call::get(format!("/schemas/ids/{content_id}"), what(id)).id(id);
    registry.transport.call(&call, deadline, document::schema).await
}

/// The id of a version's content.
async fn content_id(registry: &SchemaRegistry, id: SchemaId, number: u64, deadline: Instant) -> Result<u64> {
    let path = format!("/search/versions?globalId={number}&limit=1");
    let call = Call::get(path, what(id)).id(id).apicurio();
    let found = registry.transport.call(&call, deadline, document::content_id).await?;
    found.ok_or_else(|| {
        let urls = registry.urls().join(", ");
        let cause = match id {
            SchemaId::Id64(_) => {
                "the data was written with another registry, or schema.registry.apicurio.use.id must be contentId"
            }
            _ => "or the data was written with another registry",
        };
        let message =
            format!("{}: {urls} has no version with this global id: it was deleted, {cause}", call.what);
        Error::new(Kind::Schema, message).schema(None, call.id, Some(UNKNOWN_SCHEMA))
    })
}

fn what(id: SchemaId) -> String {
    format!("looking up schema {id}")
}
