//! The look-ups of readers, each in a task of its own.
//!
//! Invariants: a reader that stops waiting does not end a look-up, so that polls with short timeouts get their
//! schema, or its failure, in the end; readers that need the same schema share one task; each has a deadline.

use std::collections::HashMap;
use std::sync::Arc;

use ottla_schema::{RegisteredSchema, SchemaId, SchemaReference, WireFormat};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Duration, Instant};

use super::{NewSchema, ReferenceName, SchemaEntry, SchemaRegistry, apicurio, is_missing, references};
use crate::environment::BoxFuture;
use crate::error::{Error, Kind, Result};
use crate::printable::printable;
use crate::retry::deadline;
use crate::typed::{FoundSchema, SchemaLookup, SubjectSchema, WriterSchema};

/// How long a failure waits for the reader's next poll.
const FAILURE_TTL: Duration = Duration::from_secs(30);
/// More failures are forgotten.
const MAX_FAILURES: usize = 1_000;

/// What a task looks up.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Wanted {
    /// With the context whose id it is.
    Id(SchemaId, Option<Arc<str>>),
    Version(String, Option<i32>),
}

type Response = Result<Arc<SchemaEntry>>;
/// Failures that no reader has seen, and when they occurred.
type Failures = Arc<Mutex<HashMap<Wanted, (Error, Instant)>>>;
type InFlight = Arc<Mutex<HashMap<Wanted, watch::Receiver<Option<Response>>>>>;

/// Looks up schemas in a registry, for [typed columns](crate::typed).
#[derive(Debug)]
pub struct RegistryLookup {
    registry: Arc<SchemaRegistry>,
    in_flight: InFlight,
    failures: Failures,
}

impl RegistryLookup {
    /// Look-ups in this registry, each within its `schema.registry.default.api.timeout.ms`.
    #[must_use]
    pub fn new(registry: Arc<SchemaRegistry>) -> Self {
        Self { registry, in_flight: InFlight::default(), failures: Failures::default() }
    }

    async fn find(&self, wanted: Wanted) -> Response {
        if let Some(failed) = self.take_failure(&wanted) {
            return Err(failed);
        }
        let mut response = self.join(&wanted);
        if let Ok(response) = response.wait_for(Option::is_some).await
            && let Some(response) = &*response
        {
            return response.clone();
        }
        self.in_flight.lock().remove(&wanted);
        Err(Error::new(Kind::Internal, "the task that looks up a schema ended without a result"))
    }

    /// The failure of a look-up for which no reader was waiting when it ended.
    fn take_failure(&self, wanted: &Wanted) -> Option<Error> {
        let (error, ended) = self.failures.lock().remove(wanted)?;
        (ended.elapsed() < FAILURE_TTL).then_some(error)
    }

    /// The response of the task that looks it up, which the first caller starts.
    fn join(&self, wanted: &Wanted) -> watch::Receiver<Option<Response>> {
        let mut in_flight = self.in_flight.lock();
        if let Some(response) = in_flight.get(wanted) {
            return response.clone();
        }
        let (sender, response) = watch::channel(None);
        in_flight.insert(wanted.clone(), response.clone());
        let (registry, tasks) = (Arc::clone(&self.registry), Arc::clone(&self.in_flight));
        let failures = Arc::clone(&self.failures);
        let wanted = wanted.clone();
        tokio::spawn(async move {
            let result = look_up(&registry, &wanted).await;
            tasks.lock().remove(&wanted);
            if let Err(error) = &result
                && sender.receiver_count() == 0
            {
                let mut failures = failures.lock();
                if failures.len() >= MAX_FAILURES {
                    failures.clear();
                }
                failures.insert(wanted, (error.clone(), Instant::now()));
            }
            sender.send_replace(Some(result));
        });
        response
    }
}

async fn look_up(registry: &SchemaRegistry, wanted: &Wanted) -> Response {
    let timeout = registry.config().default_api_timeout;
    match wanted {
        Wanted::Id(id, context) => registry.entry(*id, context.as_deref(), timeout).await,
        Wanted::Version(subject, Some(version)) => registry.version(subject, *version, false, timeout).await,
        Wanted::Version(subject, None) => registry.latest(subject, timeout).await,
    }
}

impl SchemaLookup for RegistryLookup {
    fn check_wire_format(&self, wire_format: WireFormat) -> Result<()> {
        match wire_format {
            WireFormat::Apicurio => apicurio::use_id(self.registry.config()).map(drop),
            _ => Ok(()),
        }
    }

    fn check_written_ids(&self, wire_format: WireFormat) -> Result<()> {
        match wire_format {
            WireFormat::Apicurio => apicurio::check_written_ids(self.registry.config()),
            _ => Ok(()),
        }
    }

    fn ignored_rules(&self) -> &[String] {
        &self.registry.config().ignored_rules
    }

    fn schema<'a>(&'a self, id: SchemaId, context: Option<&'a str>) -> BoxFuture<'a, Result<FoundSchema>> {
        Box::pin(async move {
            if let Some(schema) = self.registry.cached(id, context) {
                return Ok(FoundSchema::Schema(schema));
            }
            match self.find(Wanted::Id(id, context.map(Arc::from))).await {
                Ok(entry) => Ok(FoundSchema::Schema(Arc::clone(&entry.schema))),
                Err(error) if is_missing(&error) => {
                    let message = error.message();
                    let prefix = format!("looking up schema {id}: ");
                    Ok(FoundSchema::Missing(message.strip_prefix(&prefix).unwrap_or(message).to_owned()))
                }
                Err(error) => Err(error),
            }
        })
    }

    fn version<'a>(&'a self, subject: &'a str, version: Option<i32>) -> BoxFuture<'a, Result<SubjectSchema>> {
        Box::pin(async move {
            let entry = self.find(Wanted::Version(subject.to_owned(), version)).await?;
            let (Some(number), Some(id)) = (entry.version, entry.id) else {
                let message =
                    format!("the schema registry returned subject \"{subject}\" without version or id");
                return Err(Error::new(Kind::Schema, message));
            };
            Ok(SubjectSchema { version: number, id: SchemaId::Id(id), schema: Arc::clone(&entry.schema) })
        })
    }

    fn with_references<'a>(&'a self, schema: &'a NewSchema) -> BoxFuture<'a, Result<Arc<RegisteredSchema>>> {
        Box::pin(async move {
            let deadline = deadline(self.registry.config().default_api_timeout);
            let references = references::resolve(&self.registry, &schema.references, deadline).await?;
            let NewSchema { schema_type, text, contract, .. } = schema;
            let rules = super::rules_of(contract).map_err(|why| Error::new(Kind::Schema, why))?;
            Ok(Arc::new(RegisteredSchema {
                schema_type: *schema_type,
                guid: None,
                text: Arc::clone(text),
                references,
                rules,
                contract: contract.clone(),
            }))
        })
    }

    fn writer_schema<'a>(
        &'a self,
        subject: &'a str,
        schema: &'a NewSchema,
        registers: bool,
    ) -> BoxFuture<'a, Result<WriterSchema>> {
        Box::pin(async move {
            let entry = self.registered(subject, schema, registers).await?;
            let id = entry.id.map(SchemaId::Id).ok_or_else(|| lacks(subject, "id"))?;
            Ok(WriterSchema { id: Some(id), schema: Arc::clone(&entry.schema) })
        })
    }

    fn registered_references<'a>(
        &'a self,
        schema: &'a RegisteredSchema,
        registers: bool,
    ) -> BoxFuture<'a, Result<NewSchema>> {
        Box::pin(async move {
            // A file that several others import is registered once, before them.
            let mut places: HashMap<Arc<str>, ReferenceName> = HashMap::new();
            for SchemaReference { name, schema } in schema.in_order() {
                let entry = self.registered(name, &referring(schema, &places), registers).await?;
                let version = entry.version.ok_or_else(|| lacks(name, "version"))?;
                let (name, subject) = (Arc::clone(name), Arc::clone(name));
                places.insert(Arc::clone(&name), ReferenceName { name, subject, version });
            }
            Ok(referring(schema, &places))
        })
    }
}

impl RegistryLookup {
    /// The entry of a schema in a subject, where it is registered if it may be.
    async fn registered(&self, subject: &str, schema: &NewSchema, registers: bool) -> Response {
        let timeout = self.registry.config().default_api_timeout;
        if registers {
            return self.registry.register(subject, schema, false, timeout).await;
        }
        self.registry.lookup(subject, schema, false, timeout).await.map_err(|error| {
            match is_missing(&error) {
                true => {
                    let message = format!("{}; or let it be registered (register=True)", error.message());
                    error.with_message(message)
                }
                false => error,
            }
        })
    }
}

/// A schema whose references are registered at these places.
fn referring(schema: &RegisteredSchema, places: &HashMap<Arc<str>, ReferenceName>) -> NewSchema {
    let references = schema.references.iter().filter_map(|reference| places.get(&reference.name).cloned());
    NewSchema {
        schema_type: schema.schema_type,
        text: Arc::clone(&schema.text),
        references: references.collect(),
        contract: schema.contract.clone(),
    }
}

fn lacks(subject: &str, what: &str) -> Error {
    let subject = printable(subject);
    let message = format!("the schema registry returned no {what} for a schema of subject \"{subject}\"");
    Error::new(Kind::Schema, message)
}
