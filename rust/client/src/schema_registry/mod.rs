//! A client of a schema registry with Confluent's API: Confluent Platform and Cloud, Karapace, Redpanda, and
//! Apicurio's compatible one.
//!
//! - `cache` is the state of the caches without I/O or clock; `lookup_cache` makes one look-up per key of it.
//! - `transport` sends a `call` to one address after the other, with backoff; `address` is a parsed URL.
//! - `failure` explains responses; `document` reads and writes JSON.
//! - `apicurio` looks up the ids of Apicurio's serializers. `references` resolves the schemas that a schema refers to.
//! - `entry` is schemas as callers get them. `management` is the calls about subjects and versions, which
//!   [`SubjectFilter`] selects, and `settings` those about levels and modes.
//! - [`RegistryLookup`] looks up schemas for typed columns, in tasks.
//!
//! Invariants: a schema by id is looked up once and never expires; while the registry is down, cached schemas
//! remain available; every call has a deadline; no error, log line or `Debug` output contains credentials.

mod address;
mod apicurio;
mod cache;
mod call;
mod document;
mod entry;
mod failure;
mod lookup_cache;
mod management;
mod references;
mod registry_lookup;
mod rules;
mod settings;
mod subject_filter;
mod transport;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ottla_schema::{RegisteredSchema, SchemaId};
use tokio::time::{Duration, Instant};

use crate::config::RegistryConfig;
use crate::environment::Environment;
use crate::error::{Error, Kind, Result};
use crate::http::encode::{form, segment};
use crate::printable::printable;
use crate::retry::deadline;
use cache::{Limits, Sized};
use call::Call;
use document::Document;
use failure::is_missing;
use lookup_cache::{Found, LookupCache};
use transport::Transport;

pub use entry::{Compatibility, SchemaEntry};
pub use ottla_schema::{DataContract, NewSchema, ReferenceName};
pub use registry_lookup::RegistryLookup;
pub use rules::{check_contract, rules_of};
pub use settings::RegistrySetting;
pub use subject_filter::SubjectFilter;

/// Which schema a look-up is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    /// With the context whose id it is; no context is the default one. A GUID is the same in all.
    Id(SchemaId, Option<Arc<str>>),
    Latest(Arc<str>),
    /// With whether a version that was deleted softly counts.
    Version(Arc<str>, i32, bool),
    /// With whether the schema is normalized, as below.
    Lookup(Arc<str>, NewSchema, bool),
    Registered(Arc<str>, NewSchema, bool),
}

/// A client of a schema registry. Share it: its cache serves all users.
pub struct SchemaRegistry {
    config: RegistryConfig,
    transport: Transport,
    schemas: LookupCache<Key, Arc<SchemaEntry>>,
    /// Schemas that others refer to, without their own references.
    referenced: LookupCache<(Arc<str>, i32), Arc<Document>>,
    is_closed: AtomicBool,
}

impl SchemaRegistry {
    /// A client that sends its first request with the first call.
    ///
    /// # Errors
    /// The configuration, or a file that it names, cannot be used.
    pub fn new(config: RegistryConfig, environment: Environment) -> Result<Self> {
        let limits = Limits { entries: config.cache_capacity, bytes: config.cache_max_bytes };
        Ok(Self {
            transport: Transport::new(&config, environment)?,
            schemas: LookupCache::new(limits, config.retry_backoff_max),
            referenced: LookupCache::new(limits, config.retry_backoff_max),
            is_closed: AtomicBool::new(false),
            config,
        })
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &RegistryConfig {
        &self.config
    }

    /// The addresses, without user and password.
    #[must_use]
    pub fn urls(&self) -> Vec<&str> {
        self.transport.urls()
    }

    /// The schema with this id in a [context](ottla_schema::context_of), if it is cached: without waiting.
    #[must_use]
    pub fn cached(&self, id: SchemaId, context: Option<&str>) -> Option<Arc<RegisteredSchema>> {
        let entry = self.schemas.cached(&Key::of(id, context), Instant::now())?;
        Some(Arc::clone(&entry.schema))
    }

    /// Returns the schema with this id in a [context](ottla_schema::context_of), and where its references are registered.
    ///
    /// # Errors
    /// The id does not exist, or the registry did not respond within `timeout`.
    pub async fn entry(
        &self,
        id: SchemaId,
        context: Option<&str>,
        timeout: Duration,
    ) -> Result<Arc<SchemaEntry>> {
        let (key, deadline) = (Key::of(id, context), deadline(timeout));
        let path = match id {
            SchemaId::Id(id) => match context {
                Some(context) => format!("/schemas/ids/{id}?subject={}", form(context)),
                None => format!("/schemas/ids/{id}"),
            },
            SchemaId::Guid(_) => format!("/schemas/guids/{id}"),
            SchemaId::Id64(number) | SchemaId::ContentId(number) | SchemaId::GlobalId(number) => {
                self.check_open()?;
                let fetch = async {
                    let document = apicurio::find(self, id, number, deadline).await?;
                    self.resolved(document, None, deadline).await
                };
                return self.schemas.get_or_fetch(&key, deadline, fetch).await;
            }
        };
        let call = Call::get(path, format!("looking up schema {id}")).id(id);
        self.find(key, call, None, deadline).await
    }

    /// Returns the latest schema of a subject. It is cached for `schema.registry.latest.cache.ttl.ms`.
    ///
    /// # Errors
    /// The subject does not exist, or the registry did not respond within `timeout`.
    pub async fn latest(&self, subject: &str, timeout: Duration) -> Result<Arc<SchemaEntry>> {
        let path = format!("/subjects/{}/versions/latest", segment(subject));
        let what = format!("looking up the latest schema of subject \"{}\"", printable(subject));
        let ttl = Some(self.config.latest_cache_ttl);
        self.find(Key::Latest(subject.into()), Call::get(path, what).subject(subject), ttl, deadline(timeout))
            .await
    }

    /// Returns a version of a subject; `with_deleted`, also one that was deleted softly.
    ///
    /// # Errors
    /// The subject or the version does not exist, or the registry did not respond within `timeout`.
    pub async fn version(
        &self,
        subject: &str,
        version: i32,
        with_deleted: bool,
        timeout: Duration,
    ) -> Result<Arc<SchemaEntry>> {
        let call = Call::version(subject, version, with_deleted);
        let key = Key::Version(subject.into(), version, with_deleted);
        self.find(key, call, None, deadline(timeout)).await
    }

    /// Returns the version under which a schema is registered in a subject. With `normalize`, the registry compares
    /// normalized schemas, so that another way to write the same schema is found.
    ///
    /// # Errors
    /// The subject does not exist or does not have the schema, or the registry did not respond within
    /// `timeout`.
    pub async fn lookup(
        &self,
        subject: &str,
        schema: &NewSchema,
        normalize: bool,
        timeout: Duration,
    ) -> Result<Arc<SchemaEntry>> {
        let path = format!("/subjects/{}{}", segment(subject), normalized(normalize));
        let what = format!("looking up a schema in subject \"{}\"", printable(subject));
        let call = Call::post(path, document::request(schema), what).subject(subject);
        let key = Key::Lookup(subject.into(), schema.clone(), normalize);
        self.find(key, call, None, deadline(timeout)).await
    }

    /// Registers a schema in a subject, and returns its version. A schema that is registered already is
    /// returned as it is. With `normalize`, the registry normalizes it first.
    ///
    /// # Errors
    /// The schema is invalid or incompatible with earlier versions, or the registry did not respond within
    /// `timeout`; it may have registered the schema then (`is_maybe_done`).
    pub async fn register(
        &self,
        subject: &str,
        schema: &NewSchema,
        normalize: bool,
        timeout: Duration,
    ) -> Result<Arc<SchemaEntry>> {
        self.check_open()?;
        let deadline = deadline(timeout);
        let path = format!("/subjects/{}/versions{}", segment(subject), normalized(normalize));
        let what = format!("registering a schema in subject \"{}\"", printable(subject));
        let call = Call::post(path, document::request(schema), what).subject(subject).write();
        let key = Key::Registered(subject.into(), schema.clone(), normalize);
        let registered = async {
            let mut document = self.transport.call(&call, deadline, document::registered(schema)).await?;
            let mut ttl = None;
            if document.version.is_none() {
                match self.registered_entry(subject, schema, normalize, deadline).await {
                    // Most registries return the id alone, and rules may be those of the version before.
                    Some(entry) => {
                        document.version = entry.version;
                        document.rules.clone_from(&entry.schema.rules);
                        document.guid = entry.schema.guid;
                        document.contract.clone_from(&entry.schema.contract);
                    }
                    // The rest, such as the GUID, may be found the next time.
                    None => ttl = Some(Duration::ZERO),
                }
            }
            document.subject = Some(subject.into());
            self.resolved(document, ttl, deadline).await
        };
        let entry = self.schemas.get_or_fetch(&key, deadline, registered).await?;
        // What was missing may be there now, and another version be the latest.
        self.schemas.forget(|key| match key {
            Key::Latest(of) | Key::Version(of, ..) | Key::Lookup(of, ..) => **of == *subject,
            Key::Id(..) | Key::Registered(..) => false,
        });
        Ok(entry)
    }

    /// Checks a schema against a version of a subject, or the latest one; registers nothing.
    ///
    /// # Errors
    /// The subject or the version does not exist, the schema is invalid, or the registry did not respond
    /// within `timeout`.
    pub async fn check_compatibility(
        &self,
        subject: &str,
        schema: &NewSchema,
        version: Option<i32>,
        timeout: Duration,
    ) -> Result<Compatibility> {
        self.check_open()?;
        let version = version.map_or_else(|| "latest".to_owned(), |version| version.to_string());
        let path = format!("/compatibility/subjects/{}/versions/{version}?verbose=true", segment(subject));
        let what = format!("checking a schema for subject \"{}\"", printable(subject));
        let call = Call::post(path, document::request(schema), what).subject(subject);
        self.transport.call(&call, deadline(timeout), document::compatibility).await
    }

    /// Closes the idle connections; later calls fail.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.transport.close();
    }

    /// Whether it was closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    fn check_open(&self) -> Result<()> {
        match self.is_closed() {
            true => Err(Error::new(Kind::Closed, "this schema registry client was closed")),
            false => Ok(()),
        }
    }

    /// The cached entry, or that of the response to `call`.
    async fn find(
        &self,
        key: Key,
        call: Call,
        ttl: Option<Duration>,
        deadline: Instant,
    ) -> Result<Arc<SchemaEntry>> {
        self.check_open()?;
        let fetch = async {
            let document = self.transport.call(&call, deadline, document::schema).await?;
            self.resolved(document, ttl, deadline).await
        };
        self.schemas.get_or_fetch(&key, deadline, fetch).await
    }

    /// Resolves the references of a schema, and makes its entry.
    async fn resolved(
        &self,
        document: Document,
        ttl: Option<Duration>,
        deadline: Instant,
    ) -> Result<Found<Arc<SchemaEntry>>> {
        let size = document.size();
        let references = references::resolve(self, &document.references, deadline).await?;
        let Document { subject, version, id, guid, schema_type, text, references: names, rules, contract } =
            document;
        let schema = Arc::new(RegisteredSchema { schema_type, guid, text, references, rules, contract });
        let entry = SchemaEntry { subject, version, id, references: names, schema };
        Ok(Found { value: Arc::new(entry), size, ttl })
    }
}

impl fmt::Debug for SchemaRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SchemaRegistry").field("urls", &self.urls()).finish_non_exhaustive()
    }
}

impl Key {
    fn of(id: SchemaId, context: Option<&str>) -> Self {
        let is_of_context = matches!(id, SchemaId::Id(_));
        Self::Id(id, context.filter(|_| is_of_context).map(Arc::from))
    }
}

impl Sized for Key {
    fn size(&self) -> usize {
        match self {
            Self::Id(_, context) => context.as_ref().map_or(0, |context| context.len()),
            Self::Latest(subject) | Self::Version(subject, ..) => subject.len(),
            Self::Lookup(subject, schema, _) | Self::Registered(subject, schema, _) => {
                subject.len() + schema.text.len() + schema.contract.size()
            }
        }
    }
}

/// The query of a request about a schema.
fn normalized(normalize: bool) -> &'static str {
    if normalize { "?normalize=true" } else { "" }
}

/// The time left until a deadline.
fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}
