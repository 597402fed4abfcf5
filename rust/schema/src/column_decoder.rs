//! A column of keys or values, decoded to the type of the reader's schema whatever the writers' schemas are.
//!
//! The caller asks which schemas are [missing](ColumnDecoder::missing), looks them up, adds them, and decodes.
//!
//! Invariants: a row is decoded, null because it was null, or null with an error; one row's error changes no other
//! row. The number of cached schemas is bounded, and so are the bytes that one call decodes: a column may end before
//! the last row, but it always has the first one.

use std::fmt;

use arrow_array::{ArrayRef, BinaryArray, ListArray};
use arrow_schema::{ArrowError, DataType};

use crate::avro::{AvroReader, RecursiveReader};
use crate::budget::Budget;
use crate::column_assembly::ColumnAssembly;
use crate::encoded_rows::{ArrowRows, EncodedRows};
use crate::error::{RowError, SchemaError};
use crate::header::Header;
use crate::json::JsonReader;
use crate::limits::SchemaLimits;
use crate::payloads::{ERROR_BYTES, PayloadDecoder, ReaderSchema};
use crate::projection::Selection;
use crate::protobuf::ProtobufReader;
use crate::reader_options::{ReaderOptions, ReaderSource};
use crate::registered_schema::{RegisteredSchema, SchemaType};
use crate::row_groups::{Grouped, ids};
use crate::schema_id::SchemaId;
use crate::wire_format::WireFormat;
use crate::writers::Writers;

/// A decoded column.
#[derive(Debug)]
pub struct DecodedColumn {
    /// The decoded rows: all of them, or as many as the [budget](SchemaLimits::batch_bytes) allows, at least one.
    /// Another call decodes the rest.
    pub array: ArrayRef,
    /// The rows of the array that could not be decoded, in order; they are null.
    pub errors: Vec<RowError>,
    /// The approximate size of the rows in bytes.
    pub bytes: usize,
}

/// The decoder of a column.
pub struct ColumnDecoder {
    schema_type: SchemaType,
    reader: Box<dyn ReaderSchema>,
    wire_format: WireFormat,
    header: Header,
    /// By id; `None` is the schema of rows without an id.
    writers: Writers<Option<SchemaId>, Box<dyn PayloadDecoder>>,
    batch_bytes: usize,
    /// The number of rows to decode at once if they have several writers. More rows exceeded the budget last time.
    mixed_rows: usize,
}

impl fmt::Debug for ColumnDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let writers: Vec<_> = self.writers.keys().collect();
        f.debug_struct("ColumnDecoder").field("type", self.data_type()).field("writers", &writers).finish()
    }
}

/// Compiles a reader's schema. For Protobuf, `message` is a full name; without it, the first message is used.
pub(crate) fn compile_reader(
    schema: &RegisteredSchema,
    message: Option<&str>,
    selection: &Selection,
    wire_format: WireFormat,
    limits: &SchemaLimits,
) -> Result<Box<dyn ReaderSchema>, SchemaError> {
    if message.is_some() {
        check_protobuf(schema.schema_type)?;
    }
    Ok(match schema.schema_type {
        SchemaType::Avro => Box::new(AvroReader::compile(schema, selection, limits)?),
        SchemaType::Protobuf => {
            Box::new(ProtobufReader::compile(schema, message, selection, wire_format, limits)?)
        }
        SchemaType::Json => Box::new(JsonReader::compile(schema, selection, limits)?),
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
    /// Creates a decoder for a reader's schema. If the rows carry no ids, it is also the writer's schema. For
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
        let limits = options.limits.bounded();
        let mut writers = Writers::new();
        let (schema_type, reader): (_, Box<dyn ReaderSchema>) = match source {
            ReaderSource::JsonType(field) => {
                let reader = JsonReader::of_field(field, selection, &limits)?;
                if wire_format == WireFormat::None {
                    writers.add(None, Ok(reader.decoder()));
                }
                (SchemaType::Json, Box::new(reader))
            }
            ReaderSource::Schema(schema) => {
                let message = options.message.as_deref();
                let reader = match options.objects && schema.schema_type == SchemaType::Avro {
                    true => RecursiveReader::compile(schema, &limits)?,
                    false => None,
                };
                let reader: Box<dyn ReaderSchema> = match reader {
                    Some(reader) => Box::new(reader),
                    None => compile_reader(schema, message, selection, wire_format, &limits)?,
                };
                if wire_format == WireFormat::None {
                    writers.add(None, Ok(reader.writer(schema)?));
                }
                (schema.schema_type, reader)
            }
        };
        if options.message.is_some() {
            check_protobuf(schema_type)?;
        }
        let batch_bytes = limits.batch_bytes;
        Ok(Self { schema_type, reader, wire_format, header, writers, batch_bytes, mixed_rows: usize::MAX })
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

    /// Returns the ids in a column whose schemas have not been added yet, each once.
    #[must_use]
    pub fn missing(&self, column: &BinaryArray, headers: Option<&ListArray>) -> Vec<SchemaId> {
        self.missing_of(&ArrowRows { column, headers })
    }

    /// Returns the ids in rows whose schemas have not been added yet, each once.
    #[must_use]
    pub fn missing_of(&self, rows: &dyn EncodedRows) -> Vec<SchemaId> {
        let ids = ids(rows, self.wire_format, self.header);
        ids.into_iter().filter(|id| !self.writers.has(&Some(*id))).collect()
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
        self.writers.add(Some(id), writer);
    }

    /// Records why the schema with this id could not be looked up. Rows with the id become errors.
    pub fn add_failure(&mut self, id: SchemaId, reason: impl Into<String>) {
        self.writers.add_failure(Some(id), reason);
    }

    /// Records why values of this schema cannot be read, though it is known. Rows with the id become errors.
    pub fn refuse(&mut self, id: SchemaId, reason: impl Into<String>) {
        self.writers.add(Some(id), Err(reason.into()));
    }

    /// Forgets the failed lookups, since those schemas may exist by now.
    pub fn forget_failures(&mut self) {
        self.writers.forget_failures();
    }

    /// Forgets schemas if there are too many, before the missing ones of some rows are looked up: those of the rows
    /// stay until the rows were decoded.
    pub fn make_room(&mut self) {
        self.writers.make_room(Option::is_none);
    }

    /// Decodes a column, or its first rows, as described at [`DecodedColumn::array`]. A row whose schema is missing is
    /// an error.
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

    /// Decodes rows, like [`ColumnDecoder::decode`].
    ///
    /// # Errors
    /// The decoded rows do not fit into one array.
    pub fn decode_rows(&mut self, rows: &dyn EncodedRows) -> Result<DecodedColumn, ArrowError> {
        self.decode_within(rows, self.batch_bytes)
    }

    /// Decodes rows, like [`ColumnDecoder::decode`], that take about these bytes, at least one.
    pub(crate) fn decode_within(
        &mut self,
        rows: &dyn EncodedRows,
        batch_bytes: usize,
    ) -> Result<DecodedColumn, ArrowError> {
        let budget = Budget::new(batch_bytes);
        // A row of nulls takes as many bytes as any other row.
        let mut count = rows.count().min(budget.rows_of(self.reader.row_bytes()));
        loop {
            let grouped = Grouped::new(rows, count, self.wire_format, self.header);
            let is_mixed = grouped.groups.len() > 1;
            if is_mixed && count > self.mixed_rows {
                count = self.mixed_rows;
                continue;
            }
            let (decoded, end) = self.decode_groups(grouped, count, budget)?;
            if end == count || !is_mixed || count == 1 {
                if is_mixed {
                    self.mixed_rows = self.mixed_rows.max(count.saturating_mul(2));
                }
                return Ok(decoded);
            }
            // The rows of one writer have spent the budget of the rows between them, which have other writers.
            count = (count / 2).max(1);
            self.mixed_rows = count;
        }
    }

    /// Decodes the first `count` rows, or as many as the budget allows. Also returns the number of decoded rows.
    fn decode_groups(
        &mut self,
        Grouped { groups, mut errors }: Grouped<'_>,
        count: usize,
        mut budget: Budget,
    ) -> Result<(DecodedColumn, usize), ArrowError> {
        let mut arrays = Vec::new();
        let mut end = count;
        for group in groups {
            let error = |row: usize, reason: String| RowError { row, schema_id: group.schema_id, reason };
            let decoder = match self.writers.get(&group.schema_id) {
                Ok(decoder) => decoder,
                Err(reason) => {
                    for row in &group.rows {
                        if *row > 0 && budget.is_spent() {
                            end = end.min(*row);
                            break;
                        }
                        budget.spend(ERROR_BYTES + reason.len());
                        errors.push(error(*row, reason.to_owned()));
                    }
                    continue;
                }
            };
            let decoded = decoder.decode(&group.payloads, &mut budget)?;
            if let Some(row) = group.rows.get(decoded.payloads) {
                end = end.min(*row);
            }
            for (payload, reason) in decoded.errors {
                errors.extend(group.rows.get(payload).map(|row| error(*row, reason)));
            }
            for (first, array) in decoded.arrays {
                let rows = group.rows.get(first..).unwrap_or_default();
                arrays.push((rows.iter().take(array.len()).copied().collect::<Vec<usize>>(), array));
            }
        }
        let mut assembly = ColumnAssembly::new(end);
        for (rows, array) in arrays {
            assembly.add(&rows, array);
        }
        errors.retain(|error| error.row < end);
        errors.sort_by_key(|error| error.row);
        let bytes = budget.spent();
        Ok((DecodedColumn { array: assembly.finish(self.data_type())?, errors, bytes }, end))
    }
}
