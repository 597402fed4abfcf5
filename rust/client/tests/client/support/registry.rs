//! Mock schema registries in memory, and clients of them.

use std::sync::Arc;

use ottla_client::config::{RegistryConfig, Value};
use ottla_client::schema_registry::{DataContract, NewSchema, ReferenceName, SchemaRegistry};
use ottla_client::{Error, Result};
use ottla_mock::Transport;
use ottla_mock::schema_registry::{MockRegistry, MockRegistryConfig, RegistryAuth};
use ottla_schema::SchemaType;

use crate::support::*;

pub(crate) const AVRO: &str = r#"{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}"#;

/// A registry in memory.
pub(crate) async fn registry() -> MockRegistry {
    registry_with(None, "").await
}

/// A registry in memory that requires credentials, under a path.
pub(crate) async fn registry_with(auth: Option<RegistryAuth>, path: &str) -> MockRegistry {
    let transport = Transport::Memory(memory_network());
    MockRegistry::start(MockRegistryConfig { transport, auth, path: path.to_owned() })
        .await
        .expect("a registry")
}

/// A client of the registry at this URL.
pub(crate) fn try_registry_client(url: &str, pairs: &[(&str, &str)]) -> Result<SchemaRegistry> {
    let all = [("schema.registry.url", url)];
    let all = all.iter().chain(pairs).map(|(key, value)| (*key, Value::from(*value)));
    SchemaRegistry::new(RegistryConfig::from_pairs(all)?, memory_environment())
}

pub(crate) fn registry_client(registry: &MockRegistry, pairs: &[(&str, &str)]) -> SchemaRegistry {
    try_registry_client(&registry.url(), pairs).expect("a client")
}

/// An Avro schema to register.
pub(crate) fn avro(text: &str) -> NewSchema {
    NewSchema {
        schema_type: SchemaType::Avro,
        text: text.into(),
        references: Vec::new(),
        contract: DataContract::default(),
    }
}

pub(crate) fn reference(name: &str, subject: &str, version: i32) -> ReferenceName {
    ReferenceName { name: name.into(), subject: subject.into(), version }
}

/// The error of a call, as text with everything that is printed of it.
pub(crate) fn shown<T>(result: std::result::Result<T, Error>) -> (ottla_client::Kind, String) {
    let error = result.err().expect("an error");
    (error.kind(), format!("{error} {error:?}"))
}

/// A text that several owners share.
pub(crate) fn shared(text: &str) -> Arc<str> {
    text.into()
}
