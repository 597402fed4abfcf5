//! The text of a schema in the form that a client asks for: a descriptor in base64, or Avro without references.
//!
//! Invariant: a form that a type does not have leaves the text as it is, as in Confluent's registry.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prost_reflect::prost::Message as _;

use super::avro;
use super::failure::RegistryFailure;
use super::schemas::SchemaDocument;
use super::state::RegistryState;

impl RegistryState {
    /// The text of a schema in a form: `serialized` for Protobuf, `resolved` for Avro, or as it was registered.
    pub(super) fn formatted(
        &self,
        document: &SchemaDocument,
        format: &str,
    ) -> Result<String, RegistryFailure> {
        match (document.schema_type.as_str(), format) {
            ("PROTOBUF", "serialized") => {
                let file = self.parse_protobuf(document)?;
                let serialized =
                    file.map(|file| STANDARD.encode(file.file_descriptor_proto().encode_to_vec()));
                Ok(serialized.unwrap_or_else(|| document.text.clone()))
            }
            ("AVRO", "resolved") => {
                let texts = self.referenced_texts(document)?;
                let definitions: HashMap<&str, &str> =
                    texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
                Ok(avro::resolved(&document.text, &definitions))
            }
            _ => Ok(document.text.clone()),
        }
    }
}
