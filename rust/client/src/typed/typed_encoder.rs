//! How keys or values are encoded: the schema that they are written with, by topic, and the encoders of it.
//!
//! Invariants: a schema is registered only if that was asked for; what is encoded carries the id under which the
//! registry has exactly this schema. After a failed look-up, the next call looks it up again.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field};
use ottla_schema::{
    ColumnEncoder, EncodedColumn, Framing, Header, NewSchema, ReaderSource, RowError, SchemaError, SchemaId,
    SchemaIdSerializer, SchemaLimits, SchemaUse, WireFormat, column_type, type_name,
};
use parking_lot::Mutex;

use super::payload_validator::PayloadValidator;
use super::schema_lookup::{SchemaLookup, WriterSchema, named_schema};
use super::schema_rules;
use super::subject_name::SubjectName;
use super::typed_column::{NO_SCHEMA, ReaderSchemaSource};
use crate::error::{Error, Kind, Result};
use crate::printable::printable;

/// Encoders for columns of different types are kept up to this number.
const MAX_ENCODERS: usize = 64;

/// The options of an encoder.
#[derive(Debug, Clone)]
pub struct TypedEncoderOptions {
    /// Whether these are keys or values.
    pub header: Header,
    /// The schema to write with.
    pub writer: ReaderSchemaSource,
    /// With Protobuf, the full name of the message.
    pub message: Option<Arc<str>>,
    /// The subject of versions and of a given schema.
    pub subject: SubjectName,
    /// Where records carry the id of their schema.
    pub wire_format: WireFormat,
    /// Whether that is before the payload or in a header.
    pub schema_id_serializer: SchemaIdSerializer,
    /// Whether to register a given schema; otherwise it must be registered.
    pub registers: bool,
    /// What the schema may multiply.
    pub limits: SchemaLimits,
    /// What payloads are validated with.
    pub validator: Option<Arc<dyn PayloadValidator>>,
    /// Whether objects are written, which need no column type: a recursive schema has none.
    pub writes_objects: bool,
}

/// Encodes keys or values of records.
#[derive(Debug)]
pub struct TypedEncoder {
    options: TypedEncoderOptions,
    lookup: Option<Arc<dyn SchemaLookup>>,
    /// By topic; by an empty name if the schema does not depend on it.
    writers: Mutex<HashMap<Arc<str>, Arc<TopicEncoder>>>,
}

fn config(message: &str) -> Error {
    Error::new(Kind::Config, message)
}

fn unusable(error: &SchemaError) -> Error {
    Error::new(Kind::Schema, error.to_string())
}

impl TypedEncoder {
    /// Creates an encoder. `lookup` may be missing if the schema is given and records carry no id.
    ///
    /// # Errors
    /// [`Kind::Config`]: the lookup is missing, or the options contradict each other.
    pub fn new(options: TypedEncoderOptions, lookup: Option<Arc<dyn SchemaLookup>>) -> Result<Self> {
        let is_complete = matches!(options.writer, ReaderSchemaSource::Given(_));
        let is_given = is_complete || matches!(options.writer, ReaderSchemaSource::Referring(_));
        let has_ids = options.wire_format != WireFormat::None;
        if options.wire_format == WireFormat::Glue {
            return Err(config(
                "wire_format=\"glue\" is for decoding: the ids of AWS Glue cannot be looked up; encode with \"confluent\" or \"none\"",
            ));
        }
        if options.schema_id_serializer == SchemaIdSerializer::Header
            && options.wire_format != WireFormat::Confluent
        {
            return Err(config(
                "schema_id_serializer=\"header\" writes the header of Confluent's serializers: it needs wire_format=\"confluent\"",
            ));
        }
        if let Some(lookup) = &lookup {
            lookup.check_written_ids(options.wire_format)?;
        }
        if matches!(options.writer, ReaderSchemaSource::JsonType(_)) && has_ids {
            return Err(config(
                "an Arrow type cannot be registered: pass the JSON Schema to write with, or wire_format=\"none\"",
            ));
        }
        if options.validator.is_some() && matches!(options.writer, ReaderSchemaSource::JsonType(_)) {
            return Err(config(NO_SCHEMA));
        }
        if options.registers && !(is_given && has_ids) {
            return Err(config(
                "register=True needs the schema to register, and a wire format with ids of schemas",
            ));
        }
        if options.subject.is_of_type() && !is_given && !matches!(options.writer, ReaderSchemaSource::Id(_)) {
            return Err(config(
                "the name of the schema is that of its subject: pass the schema to write with (schema=)",
            ));
        }
        let needs_lookup =
            has_ids || !(is_complete || matches!(options.writer, ReaderSchemaSource::JsonType(_)));
        if lookup.is_none() && needs_lookup {
            return Err(config(
                "encoding needs a schema registry, or a schema and records without ids of schemas (wire_format=\"none\")",
            ));
        }
        Ok(Self { options, lookup, writers: Mutex::default() })
    }

    /// Whether these are keys or values.
    #[must_use]
    pub fn header(&self) -> Header {
        self.options.header
    }

    /// Returns the encoder of a topic, if its schema was looked up.
    #[must_use]
    pub fn resolved(&self, topic: &str) -> Option<Arc<TopicEncoder>> {
        self.writers.lock().get(self.key(topic)).cloned()
    }

    /// Returns the encoder of a topic, whose schema is looked up or registered once.
    ///
    /// # Errors
    /// [`Kind::Schema`]: the schema is invalid, is not registered, or was refused; and those of the lookup.
    pub async fn resolve(&self, topic: &str) -> Result<Arc<TopicEncoder>> {
        if let Some(known) = self.resolved(topic) {
            return Ok(known);
        }
        let encoder = Arc::new(self.look_up(topic).await?);
        let key = Arc::from(self.key(topic));
        Ok(Arc::clone(self.writers.lock().entry(key).or_insert(encoder)))
    }

    /// The key of a topic's encoder.
    fn key<'a>(&self, topic: &'a str) -> &'a str {
        if self.is_of_topic() { topic } else { "" }
    }

    /// Whether the subject is that of the topic.
    fn is_of_topic(&self) -> bool {
        let has_subject = match self.options.writer {
            ReaderSchemaSource::Id(_) | ReaderSchemaSource::JsonType(_) => false,
            ReaderSchemaSource::Version(_) | ReaderSchemaSource::AsWritten(_) => true,
            ReaderSchemaSource::Given(_) | ReaderSchemaSource::Referring(_) => {
                self.options.wire_format != WireFormat::None
            }
        };
        has_subject && self.options.subject.is_of_topic()
    }

    async fn look_up(&self, topic: &str) -> Result<TopicEncoder> {
        let TypedEncoderOptions { writer, wire_format, .. } = &self.options;
        let source = match writer {
            ReaderSchemaSource::JsonType(field) => Source::JsonType(Arc::clone(field)),
            ReaderSchemaSource::Given(schema) if *wire_format == WireFormat::None => {
                Source::Schema(WriterSchema { id: None, schema: Arc::new(schema.clone()) })
            }
            ReaderSchemaSource::Given(schema) => {
                let lookup = self.lookup()?;
                let schema = lookup.registered_references(schema, self.options.registers).await?;
                Source::Schema(self.registered(topic, &schema).await?)
            }
            ReaderSchemaSource::Referring(schema) if *wire_format == WireFormat::None => {
                let schema = self.lookup()?.with_references(schema).await?;
                Source::Schema(WriterSchema { id: None, schema })
            }
            ReaderSchemaSource::Referring(schema) => Source::Schema(self.registered(topic, schema).await?),
            ReaderSchemaSource::Id(id) => {
                let schema = named_schema(&**self.lookup()?, *id, self.options.subject.context()).await?;
                Source::Schema(WriterSchema { id: Some(*id), schema })
            }
            ReaderSchemaSource::AsWritten(_) => self.of_version(topic, None).await?,
            ReaderSchemaSource::Version(version) => self.of_version(topic, *version).await?,
        };
        if let Source::Schema(writer) = &source {
            let name = match writer.id {
                Some(id) => format!("topic {} (id {id})", printable(topic)),
                None => format!("topic {}", printable(topic)),
            };
            schema_rules::check(self.lookup.as_deref(), &name, &writer.schema, SchemaUse::Write)?;
        }
        if self.options.schema_id_serializer == SchemaIdSerializer::Header && source.guid().is_none() {
            let message = format!(
                "the schema registry returned no GUID of the schema for {}s of topic {}, which schema_id_serializer=\"header\" writes: Confluent Platform has GUIDs since version 8; with older registries, write the id before the {0} (schema_id_serializer=\"prefix\")",
                self.options.header.column(),
                printable(topic)
            );
            return Err(Error::new(Kind::Schema, message).topic(topic));
        }
        TopicEncoder::new(source, &self.options)
    }

    async fn of_version(&self, topic: &str, version: Option<i32>) -> Result<Source> {
        let subject = self.options.subject.subject(topic, self.options.header, None)?;
        let found = self.lookup()?.version(&subject, version).await?;
        Ok(Source::Schema(WriterSchema { id: Some(found.id), schema: found.schema }))
    }

    async fn registered(&self, topic: &str, schema: &NewSchema) -> Result<WriterSchema> {
        let subject = self.subject(topic, schema).await?;
        self.lookup()?.writer_schema(&subject, schema, self.options.registers).await
    }

    fn lookup(&self) -> Result<&Arc<dyn SchemaLookup>> {
        self.lookup.as_ref().ok_or_else(|| config("encoding needs a schema registry"))
    }

    /// The subject of a schema.
    async fn subject(&self, topic: &str, schema: &NewSchema) -> Result<String> {
        let TypedEncoderOptions { subject, header, message, .. } = &self.options;
        if !subject.is_of_type() {
            return subject.subject(topic, *header, None);
        }
        let complete = self.lookup()?.with_references(schema).await?;
        let name = type_name(&complete, message.as_deref()).map_err(|error| unusable(&error))?;
        subject.subject(topic, *header, name.as_deref())
    }
}

/// What is written with.
#[derive(Debug)]
enum Source {
    Schema(WriterSchema),
    JsonType(Arc<Field>),
}

/// Encodes keys or values of records of a topic. Without I/O.
#[derive(Debug)]
pub struct TopicEncoder {
    source: Source,
    wire_format: WireFormat,
    schema_id_serializer: SchemaIdSerializer,
    message: Option<Arc<str>>,
    limits: SchemaLimits,
    validator: Option<Arc<dyn PayloadValidator>>,
    /// The type of its columns, or why there are none, though objects can be written.
    data_type: std::result::Result<DataType, SchemaError>,
    /// By the type of the column.
    encoders: Mutex<HashMap<DataType, Arc<FramedEncoder>>>,
}

/// An encoder, and the bytes that name the schema.
#[derive(Debug)]
struct FramedEncoder {
    encoder: ColumnEncoder,
    prefix: Vec<u8>,
    header: Option<Arc<[u8]>>,
}

/// An encoded column of keys or values.
#[derive(Debug)]
pub struct EncodedField {
    /// The column.
    pub column: EncodedColumn,
    /// The value of the [header](Header::name) that names the schema of its records, if that is not before the payloads.
    pub schema_id: Option<Arc<[u8]>>,
}

impl TopicEncoder {
    fn new(source: Source, options: &TypedEncoderOptions) -> Result<Self> {
        let TypedEncoderOptions { wire_format, schema_id_serializer, ref message, limits, .. } = *options;
        let (message, validator) = (message.clone(), options.validator.clone());
        let data_type = column_type(source.reader_source(), message.as_deref(), &limits);
        let is_usable = match &data_type {
            Ok(_) => true,
            Err(error) => options.writes_objects && matches!(error, SchemaError::Unsupported { .. }),
        };
        let data_type = match data_type {
            Err(error) if !is_usable => return Err(unusable(&error)),
            data_type => data_type,
        };
        let encoders = Mutex::default();
        let encoder = Self {
            source,
            wire_format,
            schema_id_serializer,
            message,
            limits,
            validator,
            data_type,
            encoders,
        };
        encoder.invalid(&[])?;
        Ok(encoder)
    }

    /// The type of the columns that are encoded without a conversion.
    ///
    /// # Errors
    /// [`Kind::Schema`]: the schema has no column type, and only objects can be written.
    pub fn data_type(&self) -> Result<&DataType> {
        self.data_type.as_ref().map_err(unusable)
    }

    /// Where records carry the id of their schema.
    #[must_use]
    pub fn wire_format(&self) -> WireFormat {
        self.wire_format
    }

    /// The id of the schema; `None` if records carry none.
    #[must_use]
    pub fn schema_id(&self) -> Option<SchemaId> {
        self.source.id()
    }

    /// Encodes a column. Its type may be another one than [`data_type`](Self::data_type) if its values are not
    /// changed by the conversion.
    ///
    /// # Errors
    /// [`Kind::Schema`]: columns of this type cannot be encoded, or the payloads do not fit into one array.
    pub fn encode(&self, array: &ArrayRef) -> Result<EncodedField> {
        let FramedEncoder { encoder, prefix, header } = &*self.encoder(array.data_type())?;
        let column = encoder.encode(array, prefix);
        let mut column = column.map_err(|error| Error::new(Kind::Schema, error.to_string()))?;
        if self.validator.is_some() {
            let payloads = column.payloads.iter().enumerate();
            let payloads = payloads.filter_map(|(row, bytes)| Some((row, bytes?.get(prefix.len()..)?)));
            let (rows, payloads): (Vec<usize>, Vec<&[u8]>) = payloads.unzip();
            for (at, reason) in self.invalid(&payloads)? {
                column.errors.extend(rows.get(at).map(|row| RowError { row: *row, schema_id: None, reason }));
            }
            column.errors.sort_by_key(|error| error.row);
        }
        Ok(EncodedField { column, schema_id: header.clone() })
    }

    /// Returns the indexes of payloads that the validator refuses, and the reasons.
    ///
    /// # Errors
    /// [`Kind::Schema`]: the schema cannot be validated with.
    pub fn invalid(&self, payloads: &[&[u8]]) -> Result<Vec<(usize, String)>> {
        match (&self.validator, &self.source) {
            (Some(validator), Source::Schema(writer)) => validator.validate(&writer.schema, payloads),
            _ => Ok(Vec::new()),
        }
    }

    /// Returns the bytes that name the schema, and identify a message of Protobuf.
    ///
    /// # Errors
    /// [`Kind::Config`]: the wire format has ids of another kind.
    pub fn framing(&self, message_prefix: &[u8]) -> Result<Framing> {
        let id = match self.schema_id_serializer {
            SchemaIdSerializer::Prefix => self.source.id_for(self.wire_format),
            SchemaIdSerializer::Header => self.source.guid().map(SchemaId::Guid),
        };
        let framing = self.schema_id_serializer.framing(self.wire_format, id, message_prefix);
        framing.map_err(|error| Error::new(Kind::Config, error.to_string()))
    }

    fn encoder(&self, data_type: &DataType) -> Result<Arc<FramedEncoder>> {
        self.data_type()?;
        if let Some(known) = self.encoders.lock().get(data_type) {
            return Ok(Arc::clone(known));
        }
        let source = self.source.reader_source();
        let message = self.message.as_deref();
        let encoder = ColumnEncoder::with_message(source, message, &self.limits, data_type);
        let encoder = encoder.map_err(|error| unusable(&error))?;
        let Framing { prefix, header } = self.framing(&encoder.message_prefix(self.wire_format))?;
        let header = header.map(Arc::from);
        let made = Arc::new(FramedEncoder { encoder, prefix, header });
        let mut encoders = self.encoders.lock();
        if encoders.len() >= MAX_ENCODERS {
            encoders.clear();
        }
        encoders.insert(data_type.clone(), Arc::clone(&made));
        Ok(made)
    }
}

impl Source {
    fn reader_source(&self) -> ReaderSource<'_> {
        match self {
            Self::Schema(writer) => ReaderSource::Schema(&writer.schema),
            Self::JsonType(field) => ReaderSource::JsonType(field),
        }
    }

    fn id(&self) -> Option<SchemaId> {
        match self {
            Self::Schema(writer) => writer.id,
            Self::JsonType(_) => None,
        }
    }

    fn guid(&self) -> Option<[u8; 16]> {
        match self {
            Self::Schema(writer) => writer.schema.guid,
            Self::JsonType(_) => None,
        }
    }

    /// The id as a wire format writes it: Apicurio's serializers write the ids of 32 bits with 64.
    fn id_for(&self, wire_format: WireFormat) -> Option<SchemaId> {
        match (self.id(), wire_format) {
            (Some(SchemaId::Id(id)), WireFormat::Apicurio) => Some(SchemaId::Id64(id.into())),
            (id, _) => id,
        }
    }
}
