//! A column of keys or values, decoded to the type of a reader's schema, whatever schemas the writers had.
//!
//! The caller asks which schemas are [missing](ColumnDecoder::missing), looks them up, adds them, and decodes.
//!
//! Invariants: a row is decoded, null because it was null, or null with an error; one row's error changes no
//! other row. The number of schemas that are kept is bounded.

use std::collections::HashMap;
use std::fmt;

use arrow_array::{ArrayRef, BinaryArray, ListArray};
use arrow_schema::{ArrowError, DataType};

use crate::avro::AvroReader;
use crate::column_assembly::ColumnAssembly;
use crate::encoded_rows::{ArrowRows, EncodedRows};
use crate::error::{RowError, SchemaError};
use crate::json::JsonReader;
use crate::payloads::{Payload, PayloadDecoder, ReaderSchema};
use crate::projection::Selection;
use crate::protobuf::ProtobufReader;
use crate::reader_options::{ReaderOptions, ReaderSource};
use crate::registered_schema::{RegisteredSchema, SchemaType};
use crate::schema_id::SchemaId;
use crate::wire_format::{Framed, FramingError, WireFormat};

/// The most writers' schemas that a column keeps.
const MAX_WRITERS: usize = 1_000;

/// Which headers hold the id of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header {
    /// `__key_schema_id`.
    Key,
    /// `__value_schema_id`.
    Value,
}

impl Header {
    /// The header's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Key => "__key_schema_id",
            Self::Value => "__value_schema_id",
        }
    }

    /// The column whose schema it names: `key` or `value`.
    #[must_use]
    pub const fn column(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Value => "value",
        }
    }
}

/// A decoded column.
#[derive(Debug)]
pub struct DecodedColumn {
    /// The rows.
    pub array: ArrayRef,
    /// The rows that could not be decoded, in order; they are null in the array.
    pub errors: Vec<RowError>,
}

/// A writer's schema.
enum Writer {
    Ready(Box<dyn PayloadDecoder>),
    /// It cannot be used, and why.
    Unusable(String),
    /// There was no such schema when it was looked up.
    Unknown(String),
}

/// The decoder of a column.
pub struct ColumnDecoder {
    schema_type: SchemaType,
    reader: Box<dyn ReaderSchema>,
    wire_format: WireFormat,
    header: Header,
    /// By id; `None` is the schema of rows without an id.
    writers: HashMap<Option<SchemaId>, Writer>,
}

impl fmt::Debug for ColumnDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let writers: Vec<_> = self.writers.keys().collect();
        f.debug_struct("ColumnDecoder").field("type", self.data_type()).field("writers", &writers).finish()
    }
}

/// The rows of one writer's schema.
struct Group<'a> {
    schema_id: Option<SchemaId>,
    rows: Vec<usize>,
    payloads: Vec<Payload<'a>>,
}

impl Group<'_> {
    /// The same error for all rows.
    fn errors(&self, reason: &str) -> impl Iterator<Item = RowError> {
        let schema_id = self.schema_id;
        self.rows.iter().map(move |row| RowError { row: *row, schema_id, reason: reason.to_owned() })
    }
}

/// Compiles a reader's schema. With Protobuf, that is a message of it, by its full name, or the first one.
pub(crate) fn compile_reader(
    schema: &RegisteredSchema,
    message: Option<&str>,
    selection: &Selection,
    wire_format: WireFormat,
) -> Result<Box<dyn ReaderSchema>, SchemaError> {
    if message.is_some() {
        check_protobuf(schema.schema_type)?;
    }
    Ok(match schema.schema_type {
        SchemaType::Avro => Box::new(AvroReader::compile(schema, selection)?),
        SchemaType::Protobuf => Box::new(ProtobufReader::compile(schema, message, selection, wire_format)?),
        SchemaType::Json => Box::new(JsonReader::compile(schema, selection)?),
    })
}

/// Refuses a schema that has no messages.
pub(crate) fn check_protobuf(schema_type: SchemaType) -> Result<(), SchemaError> {
    match schema_type {
        SchemaType::Protobuf => Ok(()),
        other => {
            let reason = format!("it is of type {other}");
            Err(SchemaError::Invalid { format: "Protobuf", reason })
        }
    }
}

impl ColumnDecoder {
    /// Creates a decoder for a reader's schema. Without ids in the rows, that is the writer's schema, too. With
    /// Protobuf, the columns are those of the schema's first message.
    ///
    /// # Errors
    /// The schema is invalid, or has no column type.
    pub fn new(
        reader: &RegisteredSchema,
        wire_format: WireFormat,
        header: Header,
    ) -> Result<Self, SchemaError> {
        let source = ReaderSource::Schema(reader);
        Self::with_options(source, &ReaderOptions::default(), wire_format, header)
    }

    /// Creates a decoder for a part of a reader's schema.
    ///
    /// # Errors
    /// The schema is invalid, has no such message or field, or has no column type.
    pub fn with_options(
        source: ReaderSource<'_>,
        options: &ReaderOptions,
        wire_format: WireFormat,
        header: Header,
    ) -> Result<Self, SchemaError> {
        let selection = options.projection.as_ref().map_or(&Selection::All, |fields| fields.selection());
        let mut writers = HashMap::new();
        let (schema_type, reader): (_, Box<dyn ReaderSchema>) = match source {
            ReaderSource::JsonType(field) => {
                let reader = JsonReader::of_field(field, selection)?;
                if wire_format == WireFormat::None {
                    writers.insert(None, Writer::Ready(reader.decoder()));
                }
                (SchemaType::Json, Box::new(reader))
            }
            ReaderSource::Schema(schema) => {
                let message = options.message.as_deref();
                let reader = compile_reader(schema, message, selection, wire_format)?;
                if wire_format == WireFormat::None {
                    writers.insert(None, Writer::Ready(reader.writer(schema)?));
                }
                (schema.schema_type, reader)
            }
        };
        if options.message.is_some() {
            check_protobuf(schema_type)?;
        }
        Ok(Self { schema_type, reader, wire_format, header, writers })
    }

    /// The type of the column. It is nullable.
    #[must_use]
    pub fn data_type(&self) -> &DataType {
        self.reader.data_type()
    }

    /// Whether decoding needs the records' headers.
    #[must_use]
    pub fn needs_headers(&self) -> bool {
        self.wire_format.has_headers()
    }

    /// The ids in a column whose schemas were not added yet, each once.
    #[must_use]
    pub fn missing(&self, column: &BinaryArray, headers: Option<&ListArray>) -> Vec<SchemaId> {
        self.missing_of(&ArrowRows { column, headers })
    }

    /// The ids in rows whose schemas were not added yet, each once.
    #[must_use]
    pub fn missing_of(&self, rows: &dyn EncodedRows) -> Vec<SchemaId> {
        let mut missing = Vec::new();
        let mut last = None;
        for row in 0..rows.count() {
            let Some(Ok(framed)) = self.split(rows, row) else { continue };
            // Neighbours mostly have the same schema.
            if framed.id == last {
                continue;
            }
            last = framed.id;
            if let Some(id) = framed.id
                && !self.writers.contains_key(&Some(id))
                && !missing.contains(&id)
            {
                missing.push(id);
            }
        }
        missing
    }

    /// Adds the schema of a writer.
    pub fn add(&mut self, id: SchemaId, schema: &RegisteredSchema) {
        let writer = match schema.schema_type {
            same if same == self.schema_type => self.reader.writer(schema).map_err(|error| error.to_string()),
            other => {
                let expected = self.schema_type;
                Err(format!("the schema is of type {other}, and the reader's of type {expected}"))
            }
        };
        let writer = match writer {
            Ok(writer) => Writer::Ready(writer),
            Err(reason) => Writer::Unusable(reason),
        };
        self.insert(id, writer);
    }

    /// Notes that there is no schema with this id, and why: its rows are errors.
    pub fn add_failure(&mut self, id: SchemaId, reason: impl Into<String>) {
        self.insert(id, Writer::Unknown(reason.into()));
    }

    /// Forgets which schemas there were not: they may exist by now.
    pub fn forget_failures(&mut self) {
        self.writers.retain(|_, writer| !matches!(writer, Writer::Unknown(_)));
    }

    fn insert(&mut self, id: SchemaId, writer: Writer) {
        if self.writers.len() >= MAX_WRITERS {
            // Anybody can make up ids that no registry knows.
            self.forget_failures();
        }
        if self.writers.len() >= MAX_WRITERS {
            self.writers.retain(|id, _| id.is_none());
        }
        self.writers.insert(Some(id), writer);
    }

    fn split<'a>(&self, rows: &'a dyn EncodedRows, row: usize) -> Option<Result<Framed<'a>, FramingError>> {
        let bytes = rows.bytes(row)?;
        Some(self.wire_format.split(bytes, self.header, |name| rows.header(row, name)))
    }

    /// Decodes a column. Rows whose schema is missing are errors.
    ///
    /// # Errors
    /// The decoded rows do not fit into one array.
    pub fn decode(
        &mut self,
        column: &BinaryArray,
        headers: Option<&ListArray>,
    ) -> Result<DecodedColumn, ArrowError> {
        self.decode_rows(&ArrowRows { column, headers })
    }

    /// Decodes rows, as [`ColumnDecoder::decode`].
    ///
    /// # Errors
    /// The decoded rows do not fit into one array.
    pub fn decode_rows(&mut self, rows: &dyn EncodedRows) -> Result<DecodedColumn, ArrowError> {
        let (groups, mut errors) = self.group(rows);
        let mut assembly = ColumnAssembly::new(rows.count());
        for group in groups {
            let decoder = match self.writers.get_mut(&group.schema_id) {
                Some(Writer::Ready(decoder)) => decoder,
                Some(Writer::Unusable(reason) | Writer::Unknown(reason)) => {
                    errors.extend(group.errors(reason));
                    continue;
                }
                None => {
                    errors.extend(group.errors("the schema was not looked up"));
                    continue;
                }
            };
            let decoded = decoder.decode(&group.payloads)?;
            for (payload, reason) in decoded.errors {
                if let Some(row) = group.rows.get(payload) {
                    errors.push(RowError { row: *row, schema_id: group.schema_id, reason });
                }
            }
            for (first, array) in decoded.arrays {
                assembly.add(group.rows.get(first..).unwrap_or_default(), array);
            }
        }
        errors.sort_by_key(|error| error.row);
        Ok(DecodedColumn { array: assembly.finish(self.data_type())?, errors })
    }

    /// Groups rows by their writer's schema. Returns the rows without an id as errors.
    fn group<'a>(&self, rows: &'a dyn EncodedRows) -> (Vec<Group<'a>>, Vec<RowError>) {
        let (mut groups, mut errors): (Vec<Group<'a>>, _) = (Vec::new(), Vec::new());
        let mut current = 0;
        for row in 0..rows.count() {
            let Framed { id, header_rest, payload: bytes } = match self.split(rows, row) {
                None => continue,
                Some(Ok(framed)) => framed,
                Some(Err(error)) => {
                    errors.push(RowError { row, schema_id: None, reason: error.to_string() });
                    continue;
                }
            };
            // Neighbours mostly have the same schema.
            if groups.get(current).is_none_or(|group| group.schema_id != id) {
                current = groups.iter().position(|group| group.schema_id == id).unwrap_or(groups.len());
                if current == groups.len() {
                    groups.push(Group { schema_id: id, rows: Vec::new(), payloads: Vec::new() });
                }
            }
            if let Some(group) = groups.get_mut(current) {
                group.rows.push(row);
                group.payloads.push(Payload { bytes, header_rest });
            }
        }
        (groups, errors)
    }
}
