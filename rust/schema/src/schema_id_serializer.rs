//! Where an encoded value names its schema: before the payload or in a header of its record.
//!
//! The names are those of Confluent's `schema.id.serializer`. Invariant: a header holds a GUID, a prefix the id of the
//! wire format.

use crate::schema_id::SchemaId;
use crate::wire_format::{FramingError, WireFormat};

/// How the id of a schema is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SchemaIdSerializer {
    /// Before the payload, as Confluent's `PrefixSchemaIdSerializer` writes it.
    #[default]
    Prefix,
    /// In the [header](crate::Header::name), as Confluent's `HeaderSchemaIdSerializer` writes it.
    Header,
}

/// The bytes that name the schema of encoded values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Framing {
    /// The bytes before each payload.
    pub prefix: Vec<u8>,
    /// The value of the header.
    pub header: Option<Vec<u8>>,
}

impl SchemaIdSerializer {
    /// Returns the bytes that name a schema. `message_prefix` is the encoder's prefix.
    ///
    /// # Errors
    /// The wire format has ids of another kind there.
    pub fn framing(
        self,
        wire_format: WireFormat,
        id: Option<SchemaId>,
        message_prefix: &[u8],
    ) -> Result<Framing, FramingError> {
        match self {
            Self::Prefix => Ok(Framing { prefix: wire_format.prefix(id, message_prefix)?, header: None }),
            Self::Header => {
                let header = wire_format.header(id, message_prefix)?;
                Ok(Framing { prefix: Vec::new(), header: Some(header) })
            }
        }
    }
}
