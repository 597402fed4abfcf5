//! Client quotas (KIP-546): limits for users, client ids and addresses. They are stored, not enforced; only
//! [`crate::Reaction::Throttle`] throttles.
//!
//! Invariant: an entity is a user, a client id, both, or an address; a stored quota has a key of its entity.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ottla_protocol::ErrorCode;

use super::ApiError;

const USER: &str = "user";
const CLIENT_ID: &str = "client-id";
const IP: &str = "ip";

/// The names by type; `None` is the default of a type.
pub(crate) type QuotaEntity = BTreeMap<String, Option<String>>;

/// The change of an entity's quotas: keys with new values, or `None` to remove one.
#[derive(Debug)]
pub(crate) struct QuotaAlteration<'a> {
    pub(crate) entity: QuotaEntity,
    pub(crate) changes: Vec<(&'a str, Option<f64>)>,
}

/// The condition of a filter for one type of entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuotaMatch<'a> {
    Exact(&'a str),
    Default,
    /// Any name, or the default.
    Any,
}

/// The quotas of all entities.
#[derive(Debug, Default)]
pub(crate) struct ClientQuotas {
    entities: BTreeMap<QuotaEntity, BTreeMap<String, f64>>,
}

#[derive(Debug, Clone, Copy)]
enum QuotaType {
    Int,
    Long,
    Double,
}

const CLIENT_KEYS: &[(&str, QuotaType)] = &[
    ("consumer_byte_rate", QuotaType::Long),
    ("controller_mutation_rate", QuotaType::Double),
    ("producer_byte_rate", QuotaType::Long),
    ("request_percentage", QuotaType::Double),
];
const IP_KEYS: &[(&str, QuotaType)] = &[("connection_creation_rate", QuotaType::Int)];

impl ClientQuotas {
    /// The entities that a filter matches, with their quotas. With `strict`, an entity has no other types.
    pub(crate) fn matching(
        &self,
        filter: &BTreeMap<&str, QuotaMatch<'_>>,
        strict: bool,
    ) -> impl Iterator<Item = (&QuotaEntity, &BTreeMap<String, f64>)> {
        let matches = move |entity: &QuotaEntity| {
            let component = |(kind, wanted): (&&str, &QuotaMatch<'_>)| {
                entity.get(*kind).is_some_and(|name| match wanted {
                    QuotaMatch::Exact(wanted) => name.as_deref() == Some(*wanted),
                    QuotaMatch::Default => name.is_none(),
                    QuotaMatch::Any => true,
                })
            };
            (!strict || entity.len() == filter.len()) && filter.iter().all(component)
        };
        self.entities.iter().filter(move |(entity, _)| matches(entity))
    }

    /// Alters quotas, or only validates the changes; returns the result of each entity.
    pub(crate) fn alter(
        &mut self,
        alterations: Vec<QuotaAlteration<'_>>,
        validate_only: bool,
    ) -> BTreeMap<QuotaEntity, Result<(), ApiError>> {
        let mut results = BTreeMap::new();
        for QuotaAlteration { entity, changes } in alterations {
            let mut keys = BTreeSet::new();
            let unique = changes.iter().all(|(key, _)| keys.insert(*key));
            let result = if results.contains_key(&entity) || !unique {
                // As in Kafka, what came first has been accepted all the same.
                Err(invalid(format!("Ignoring duplicate entity {}", shown(&entity))))
            } else {
                let valid = validate(&entity, &changes);
                if valid.is_ok() && !validate_only {
                    self.apply(&entity, changes);
                }
                valid
            };
            results.insert(entity, result);
        }
        results
    }

    fn apply(&mut self, entity: &QuotaEntity, changes: Vec<(&str, Option<f64>)>) {
        let quotas = self.entities.entry(entity.clone()).or_default();
        for (key, value) in changes {
            match value {
                Some(value) => quotas.insert(key.to_owned(), value),
                None => quotas.remove(key),
            };
        }
        if quotas.is_empty() {
            self.entities.remove(entity);
        }
    }
}

/// Validates the types of a filter's components: each type once, and an address alone.
pub(crate) fn validate_filter_types<'a>(types: impl IntoIterator<Item = &'a str>) -> Result<(), ApiError> {
    let mut seen = BTreeSet::new();
    for kind in types {
        if kind.is_empty() {
            return Err(invalid("Invalid empty entity type."));
        }
        if !seen.insert(kind) {
            return Err(invalid(format!("Entity type {kind} cannot appear more than once in the filter.")));
        }
        if ![USER, CLIENT_ID, IP].contains(&kind) {
            let text = format!("Unsupported entity type {kind}");
            return Err(ApiError::new(ErrorCode::UnsupportedVersion, text));
        }
    }
    if seen.contains(IP) && seen.len() > 1 {
        return Err(invalid(
            "Invalid entity filter component combination. IP filter component should not be used with user or \
             clientId filter component.",
        ));
    }
    Ok(())
}

fn validate(entity: &QuotaEntity, changes: &[(&str, Option<f64>)]) -> Result<(), ApiError> {
    if entity.is_empty() {
        return Err(invalid("Invalid empty client quota entity"));
    }
    for (kind, name) in entity {
        if ![USER, CLIENT_ID, IP].contains(&kind.as_str()) {
            return Err(invalid(format!("Unhandled client quota entity type: {kind}")));
        }
        if name.as_deref() == Some("") {
            return Err(invalid(format!("Empty {kind} not supported")));
        }
    }
    let keys = match entity.get(IP) {
        None => CLIENT_KEYS,
        Some(_) if entity.len() > 1 => {
            // Kafka's text lacks the space, too.
            return Err(invalid(
                "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId",
            ));
        }
        Some(Some(address)) if address.parse::<IpAddr>().is_err() && address != "localhost" => {
            return Err(invalid(format!("{address} is not a valid IP or resolvable host.")));
        }
        Some(_) => IP_KEYS,
    };
    let values = changes.iter().filter_map(|(key, value)| value.map(|value| (*key, value)));
    values.into_iter().try_for_each(|(key, value)| validate_value(keys, key, value))
}

fn validate_value(keys: &[(&str, QuotaType)], key: &str, value: f64) -> Result<(), ApiError> {
    let Some((_, kind)) = keys.iter().find(|(known, _)| *known == key) else {
        return Err(invalid(format!("Invalid configuration key {key}")));
    };
    if value <= 0.0 {
        return Err(invalid(format!("Quota {key} must be greater than 0")));
    }
    // The largest value, as the float that Kafka compares with.
    let (max, name) = match kind {
        QuotaType::Int => (2_147_483_647.0, "an INT"),
        QuotaType::Long => (9_223_372_036_854_775_807.0, "a LONG"),
        QuotaType::Double => return Ok(()),
    };
    if value > max {
        return Err(invalid(format!("Proposed value for {key} is too large for {name}.")));
    }
    if (value % 1.0).abs() > 1e-6 {
        return Err(invalid(format!("{key} cannot be a fractional value.")));
    }
    Ok(())
}

/// An entity as Kafka prints it.
fn shown(entity: &QuotaEntity) -> String {
    let name =
        |(kind, name): (&String, &Option<String>)| format!("{kind}={}", name.as_deref().unwrap_or("null"));
    let names: Vec<String> = entity.iter().map(name).collect();
    format!("ClientQuotaEntity(entries={{{}}})", names.join(", "))
}

fn invalid(message: impl Into<String>) -> ApiError {
    ApiError::new(ErrorCode::InvalidRequest, message)
}
