//! How keys or values are decoded, with the schemas that were looked up so far.
//!
//! Invariants: the reader's schema is chosen once, and so is the type of the column. Only what a registry
//! denies is an error of a row; what it does not answer is an error of the call, which can be repeated.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field};
use ottla_schema::{
    AsWrittenDecoder, AvroObjects, ColumnDecoder, DecodedColumn, EncodedRows, Header, NewSchema,
    ReaderOptions, ReaderSource, RegisteredSchema, SchemaError, SchemaId, SchemaType, SchemaUse, WireFormat,
};
use parking_lot::Mutex;

use super::dead_letters::DeadLetters;
use super::decoder::{Decoded, Decoder};
use super::payload_validator::{InvalidPayloads, PayloadValidator, Unvalidated, ValidatedSchemas};
use super::schema_lookup::{FoundSchema, SchemaLookup, named_schema};
use super::schema_rules;
use super::subject_name::SubjectName;
use super::typed_records::TypedField;
use crate::error::{Error, Kind, Result};
use crate::printable::printable;

/// What happens to a row that cannot be decoded.
#[derive(Debug, Clone, Default)]
pub enum DecodeMode {
    /// It ends the read with an error, after the rows before it were returned.
    #[default]
    FailFast,
    /// It is null, and the column of errors says why.
    Permissive,
    /// It is written to a topic with the reason, and left out.
    DeadLetter(Arc<DeadLetters>),
}

/// Where the reader's schema comes from.
#[derive(Debug, Clone)]
pub enum ReaderSchemaSource {
    /// It is given, with all that it refers to.
    Given(RegisteredSchema),
    /// It is given, and refers to schemas in the registry.
    Referring(NewSchema),
    /// With JSON, the type of this field instead of a schema.
    JsonType(Arc<Field>),
    /// A version of the subject, by default the latest when it is first needed.
    Version(Option<i32>),
    /// The schema with this id.
    Id(SchemaId),
    /// None: each record keeps the schema of this type that it was written with. There is no column then.
    AsWritten(SchemaType),
}

/// What the payloads of a column are validated with.
#[derive(Debug, Clone)]
pub struct Validation {
    /// The validator.
    pub validator: Arc<dyn PayloadValidator>,
    /// The schema; none of its own if records keep the schemas that they were written with.
    pub schema: ReaderSchemaSource,
}

/// The options of a typed column.
#[derive(Debug, Clone)]
pub struct TypedColumnOptions {
    /// Whether these are keys or values.
    pub header: Header,
    /// The reader's schema.
    pub reader: ReaderSchemaSource,
    /// Which part of it the column has.
    pub part: ReaderOptions,
    /// The subject of versions.
    pub subject: SubjectName,
    /// Where records carry the id of their schema.
    pub wire_format: WireFormat,
    /// What happens to rows that cannot be decoded.
    pub mode: DecodeMode,
    /// What payloads are validated with, before they are decoded.
    pub validation: Option<Validation>,
}

/// The reader's schema, once it was looked up.
#[derive(Debug)]
struct Reader {
    decoder: Decoder,
    /// The schema, if it is registered or has rules.
    schema: Option<Arc<RegisteredSchema>>,
    /// The topic whose subject it is, unless the subject was given.
    topic: Option<Arc<str>>,
    validated: Option<ValidatedSchemas>,
}

/// A column of keys or values with a schema.
#[derive(Debug)]
pub struct TypedColumn {
    options: TypedColumnOptions,
    lookup: Option<Arc<dyn SchemaLookup>>,
    reader: Mutex<Option<Reader>>,
}

/// More schemas of writers are looked up again before their payloads are validated.
const MAX_VALIDATED: usize = 1_000;
/// The error of a validation without a schema.
pub(super) const NO_SCHEMA: &str =
    "validate=True needs a JSON Schema, which an Arrow type is not: pass its text, its id, or a version";

/// The name of a given schema in messages.
const GIVEN: &str = "the argument schema";

/// A given schema, if it has rules that reading values of other versions may need.
fn with_rules(schema: &RegisteredSchema) -> Option<Arc<RegisteredSchema>> {
    (!schema.rules.is_empty()).then(|| Arc::new(schema.clone()))
}

fn unusable(error: &SchemaError) -> Error {
    Error::new(Kind::Schema, error.to_string())
}

impl TypedColumn {
    /// Creates a column. `lookup` may be missing if the reader's schema is given and records carry no id. With
    /// AWS Glue's ids, which cannot be looked up, the given schema is that of all writers, too.
    ///
    /// # Errors
    /// [`Kind::Config`] without a lookup that is needed, or with one that cannot look up the ids.
    pub fn new(options: TypedColumnOptions, lookup: Option<Arc<dyn SchemaLookup>>) -> Result<Self> {
        let is_given =
            matches!(options.reader, ReaderSchemaSource::Given(_) | ReaderSchemaSource::JsonType(_));
        if options.wire_format == WireFormat::Glue && (lookup.is_some() || !is_given) {
            let message = "wire_format=\"glue\": the ids of AWS Glue cannot be looked up: pass the schema that the records were written with (schema=), and no registry";
            return Err(Error::new(Kind::Config, message));
        }
        let needs_lookup = !matches!(options.wire_format, WireFormat::None | WireFormat::Glue);
        if matches!(options.reader, ReaderSchemaSource::Version(_)) && options.subject.is_of_type() {
            let message = "the name of a schema is that of its subject, so that a topic may have several types: give the schema of the type to read (schema=), or read each record with the schema that it was written with (convert=False)";
            return Err(Error::new(Kind::Config, message));
        }
        if matches!(options.reader, ReaderSchemaSource::AsWritten(_))
            && options.wire_format == WireFormat::None
        {
            let message = "records keep the schemas that they were written with only if they carry ids of schemas (wire_format=\"confluent\")";
            return Err(Error::new(Kind::Config, message));
        }
        if let Some(lookup) = &lookup {
            lookup.check_wire_format(options.wire_format)?;
        }
        if lookup.is_none() && (needs_lookup || !is_given) {
            let message = "typed columns need a schema registry, or a schema and records without ids of schemas (wire_format=\"none\")";
            return Err(Error::new(Kind::Config, message));
        }
        Ok(Self { options, lookup, reader: Mutex::default() })
    }

    /// Whether these are keys or values.
    #[must_use]
    pub fn header(&self) -> Header {
        self.options.header
    }

    /// What happens to rows that cannot be decoded.
    #[must_use]
    pub fn mode(&self) -> &DecodeMode {
        &self.options.mode
    }

    /// `key` or `value`.
    pub(crate) fn name(&self) -> &'static str {
        self.options.header.column()
    }

    /// The bytes after which a batch of this column ends.
    pub(crate) fn batch_bytes(&self) -> usize {
        self.options.part.limits.batch_bytes
    }

    /// Whether decoding needs the records' headers.
    pub(crate) fn needs_headers(&self) -> bool {
        self.options.wire_format.has_headers()
    }

    /// Whether the reader's schema depends on the topic.
    #[must_use]
    pub fn is_of_topic(&self) -> bool {
        matches!(self.options.reader, ReaderSchemaSource::Version(_)) && self.options.subject.is_of_topic()
    }

    /// Whether records keep the schemas that they were written with, so that there is no column.
    #[must_use]
    pub fn is_as_written(&self) -> bool {
        matches!(self.options.reader, ReaderSchemaSource::AsWritten(_))
    }

    /// The type of the column, once the reader's schema was [resolved](TypedColumn::resolve).
    #[must_use]
    pub fn data_type(&self) -> Option<DataType> {
        self.reader.lock().as_ref().and_then(|reader| reader.decoder.data_type().cloned())
    }

    /// What decodes the values of a recursive schema of Avro, which are bytes. The reader's schema was
    /// [resolved](TypedColumn::resolve).
    #[must_use]
    pub fn avro_objects(&self) -> Option<Arc<AvroObjects>> {
        self.reader.lock().as_ref().and_then(|reader| reader.decoder.objects().cloned())
    }

    /// Looks up the reader's schema, unless that was done. `topic` is the topic to read.
    ///
    /// # Errors
    /// [`Kind::Schema`] if there is no such schema or it has no column type, and those of the lookup.
    pub async fn resolve(&self, topic: &Arc<str>) -> Result<()> {
        if let Some(reader) = self.reader.lock().as_ref() {
            return self.check_topic(reader, topic);
        }
        let (decoder, schema, of_topic) = match &self.options.reader {
            ReaderSchemaSource::AsWritten(schema_type) => {
                let TypedColumnOptions { part, wire_format, header, .. } = &self.options;
                let decoder = AsWrittenDecoder::new(*schema_type, part.limits, *wire_format, *header);
                (Decoder::AsWritten(decoder), None, None)
            }
            ReaderSchemaSource::JsonType(field) => (self.decoder(ReaderSource::JsonType(field))?, None, None),
            ReaderSchemaSource::Given(schema) => (self.decoder_of(schema, GIVEN)?, with_rules(schema), None),
            ReaderSchemaSource::Referring(new) => {
                let schema = self.registry()?.with_references(new).await?;
                (self.decoder_of(&schema, GIVEN)?, with_rules(&schema), None)
            }
            ReaderSchemaSource::Id(id) => {
                let schema = named_schema(&**self.registry()?, *id, self.options.subject.context()).await?;
                (self.decoder_of(&schema, &format!("id {id}"))?, Some(schema), None)
            }
            ReaderSchemaSource::Version(version) => {
                let (schema, subject, of_topic) = self.schema_of_version(*version, topic).await?;
                (self.decoder_of(&schema, &subject)?, Some(schema), of_topic)
            }
        };
        let validated = self.validated_schemas(topic, schema.as_ref()).await?;
        let mut reader = self.reader.lock();
        let reader = reader.get_or_insert(Reader { decoder, schema, topic: of_topic, validated });
        self.check_topic(reader, topic)
    }

    /// The schemas that payloads are validated against. One that they cannot be validated with is an error. `read` is
    /// the reader's schema if it was looked up: that of the same version, then, without another look-up, which might
    /// find a newer one.
    async fn validated_schemas(
        &self,
        topic: &Arc<str>,
        read: Option<&Arc<RegisteredSchema>>,
    ) -> Result<Option<ValidatedSchemas>> {
        let Some(Validation { validator, schema }) = &self.options.validation else { return Ok(None) };
        let schema = match schema {
            ReaderSchemaSource::AsWritten(_) => return Ok(Some(ValidatedSchemas::AsWritten(HashMap::new()))),
            ReaderSchemaSource::JsonType(_) => return Err(Error::new(Kind::Config, NO_SCHEMA)),
            ReaderSchemaSource::Given(schema) => Arc::new(schema.clone()),
            ReaderSchemaSource::Referring(new) => self.registry()?.with_references(new).await?,
            ReaderSchemaSource::Id(id) => {
                named_schema(&**self.registry()?, *id, self.options.subject.context()).await?
            }
            ReaderSchemaSource::Version(version) => match (&self.options.reader, read) {
                (ReaderSchemaSource::Version(same), Some(schema)) if same == version => Arc::clone(schema),
                _ => self.schema_of_version(*version, topic).await?.0,
            },
        };
        validator.validate(&schema, &[])?;
        Ok(Some(ValidatedSchemas::One(schema)))
    }

    /// Whether the reader's schema is that of another topic.
    fn check_topic(&self, reader: &Reader, topic: &Arc<str>) -> Result<()> {
        let Some(other) = reader.topic.as_ref().filter(|other| *other != topic) else { return Ok(()) };
        let name = self.name();
        let message = format!(
            "the schema of this {name} column is the one of topic {}: for records of several topics, give its schema or its subject",
            printable(other)
        );
        Err(Error::new(Kind::Config, message).topic(topic))
    }

    fn decoder(&self, source: ReaderSource<'_>) -> Result<Decoder> {
        let options = &self.options;
        let decoder = ColumnDecoder::with_options(source, &options.part, options.wire_format, options.header);
        let decoder = decoder.map_err(|error| unusable(&error))?;
        let objects = match source {
            ReaderSource::Schema(schema)
                if options.part.objects && schema.schema_type == SchemaType::Avro =>
            {
                AvroObjects::compile(schema, &options.part.limits).map_err(|error| unusable(&error))?
            }
            _ => None,
        };
        Ok(Decoder::Converting(decoder, objects.map(Arc::new)))
    }

    /// The decoder of a registered schema.
    fn decoder_of(&self, schema: &RegisteredSchema, name: &str) -> Result<Decoder> {
        schema_rules::check(self.lookup.as_deref(), name, schema, SchemaUse::ReadTo)?;
        self.decoder(ReaderSource::Schema(schema))
    }

    fn registry(&self) -> Result<&Arc<dyn SchemaLookup>> {
        let lookup = self.lookup.as_ref();
        lookup.ok_or_else(|| Error::new(Kind::Config, "typed columns need a schema registry"))
    }

    /// Returns the subject for messages, and the topic if the subject is the topic's.
    async fn schema_of_version(
        &self,
        version: Option<i32>,
        topic: &Arc<str>,
    ) -> Result<(Arc<RegisteredSchema>, String, Option<Arc<str>>)> {
        let of_topic = self.options.subject.is_of_topic().then(|| Arc::clone(topic));
        let subject = self.options.subject.subject(topic, self.options.header, None)?;
        let found = self.registry()?.version(&subject, version).await;
        let found = found.map_err(|error| match &of_topic {
            Some(topic) => error.topic(topic),
            None => error,
        })?;
        tracing::info!(target: "ottla.schema", %subject, version = found.version, id = %found.id, "reader's schema");
        Ok((found.schema, format!("subject \"{}\"", printable(&subject)), of_topic))
    }

    /// Looks up the schemas of the writers of rows, and returns which payloads are invalid. Cancel-safe: a repeated call
    /// continues.
    ///
    /// # Errors
    /// Those of the lookup.
    pub async fn load(&self, rows: &(dyn EncodedRows + Sync)) -> Result<InvalidPayloads> {
        self.make_room();
        let missing = self.missing(rows);
        self.look_up(missing).await?;
        let mut unvalidated = Unvalidated::default();
        self.add_unvalidated(rows, &mut unvalidated);
        self.validate(unvalidated)
    }

    /// Adds the payloads of rows, if payloads are validated.
    pub(crate) fn add_unvalidated(&self, rows: &dyn EncodedRows, unvalidated: &mut Unvalidated) {
        let reader = self.reader.lock();
        if let Some(Reader { validated: Some(schemas), .. }) = reader.as_ref() {
            unvalidated.add(schemas, rows, self.framing());
        }
    }

    /// Validates payloads. Call it without locks.
    pub(crate) fn validate(&self, unvalidated: Unvalidated) -> Result<InvalidPayloads> {
        match &self.options.validation {
            Some(validation) => unvalidated.validate(&*validation.validator, self.is_as_written()),
            None => Ok(InvalidPayloads::default()),
        }
    }

    fn framing(&self) -> (WireFormat, Header) {
        (self.options.wire_format, self.options.header)
    }

    /// Forgets schemas if there are too many, before those that are [missing](Self::missing) are looked up.
    pub(crate) fn make_room(&self) {
        if let Some(Reader { decoder, validated, .. }) = self.reader.lock().as_mut() {
            decoder.make_room();
            if let Some(ValidatedSchemas::AsWritten(known)) = validated
                && known.len() >= MAX_VALIDATED
            {
                known.clear();
            }
        }
    }

    /// The schemas that rows need and that were not looked up, or not found when they were.
    pub(crate) fn missing(&self, rows: &dyn EncodedRows) -> Vec<SchemaId> {
        let mut reader = self.reader.lock();
        let Some(Reader { decoder, validated, .. }) = reader.as_mut() else { return Vec::new() };
        decoder.forget_failures();
        let mut missing = decoder.missing_of(rows);
        if let Some(ValidatedSchemas::AsWritten(known)) = validated {
            let ids = (0..rows.count()).filter_map(|row| {
                let split = self
                    .options
                    .wire_format
                    .split(rows.bytes(row)?, self.options.header, |name| rows.header(row, name));
                split.ok()?.id
            });
            missing.extend(ids.filter(|id| !known.contains_key(id)));
            missing.sort_unstable();
            missing.dedup();
        }
        missing
    }

    /// Looks up the schemas of writers.
    pub(crate) async fn look_up(&self, ids: impl IntoIterator<Item = SchemaId>) -> Result<()> {
        for id in ids {
            let Some(lookup) = &self.lookup else {
                self.add_given(id);
                continue;
            };
            let schema = lookup.schema(id, self.options.subject.context()).await?;
            let mut reader = self.reader.lock();
            let Some(Reader { decoder, schema: own, validated, .. }) = reader.as_mut() else { return Ok(()) };
            match schema {
                FoundSchema::Schema(schema) => {
                    match schema_rules::unreadable(Some(&**lookup), &schema, own.as_deref()) {
                        Some(reason) => decoder.refuse(id, reason),
                        None => {
                            decoder.add(id, &schema);
                            if let Some(ValidatedSchemas::AsWritten(known)) = validated {
                                known.insert(id, schema);
                            }
                        }
                    }
                }
                FoundSchema::Missing(message) => decoder.add_failure(id, message),
            }
        }
        Ok(())
    }

    /// Makes the given schema that of a writer, too.
    fn add_given(&self, id: SchemaId) {
        let mut reader = self.reader.lock();
        let Some(Reader { decoder, .. }) = reader.as_mut() else { return };
        match &self.options.reader {
            ReaderSchemaSource::Given(schema) => decoder.add(id, schema),
            // Writers' schemas of JSON are not read.
            _ => decoder.add(id, &RegisteredSchema::new(SchemaType::Json, "{}")),
        }
    }

    /// Decodes rows whose schemas were loaded to a column. Those with `invalid` payloads are errors.
    ///
    /// # Errors
    /// [`Kind::State`] before the reader's schema was resolved; [`Kind::Config`] if there is no column;
    /// [`Kind::Schema`] if the rows do not fit into one array.
    pub fn decode(&self, rows: &dyn EncodedRows, invalid: &InvalidPayloads) -> Result<DecodedColumn> {
        match self.decode_rows(rows, invalid)? {
            Decoded::Column(decoded) => Ok(decoded),
            Decoded::Types(_) => Err(self.has_no_column()),
        }
    }

    /// Decodes the keys or values of records whose schemas were loaded.
    ///
    /// # Errors
    /// As [`decode`](Self::decode).
    pub fn decode_records(&self, rows: &dyn EncodedRows, invalid: &InvalidPayloads) -> Result<TypedField> {
        Ok(TypedField::new(self.decode_rows(rows, invalid)?, self.name()))
    }

    pub(crate) fn decode_rows(&self, rows: &dyn EncodedRows, invalid: &InvalidPayloads) -> Result<Decoded> {
        let mut reader = self.reader.lock();
        let Some(Reader { decoder, .. }) = reader.as_mut() else {
            return Err(Error::new(Kind::State, "the schema of a typed column was not looked up yet"));
        };
        let decoded = decoder.decode(rows).and_then(|mut decoded| {
            decoded.refuse(invalid.errors(rows, decoded.len(), self.framing()))?;
            Ok(decoded)
        });
        decoded.map_err(|error| Error::new(Kind::Schema, format!("the {} column: {error}", self.name())))
    }

    /// The error of a read of columns.
    #[must_use]
    pub fn has_no_column(&self) -> Error {
        let name = self.name();
        let message = format!(
            "there is no {name} column: its records keep the schemas that they were written with; take them one by one, or give the schema of the column"
        );
        Error::new(Kind::Config, message)
    }
}
