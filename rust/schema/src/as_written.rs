//! Keys or values that keep the schemas that they were written with: rows of several types in one topic.
//!
//! The caller asks which schemas are [missing](AsWrittenDecoder::missing_of), looks them up, adds them, and decodes.
//!
//! Invariants: as of a [`ColumnDecoder`]: a row is decoded, null because it was null, or null with an error; the number
//! of cached schemas is bounded, and so are the bytes that one call decodes.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::ArrowError;

use crate::column_decoder::ColumnDecoder;
use crate::encoded_rows::EncodedRows;
use crate::error::RowError;
use crate::header::Header;
use crate::limits::{SchemaLimits, short_reason};
use crate::protobuf::PayloadMessages;
use crate::reader_options::{ReaderOptions, ReaderSource};
use crate::registered_schema::{RegisteredSchema, SchemaType};
use crate::row_copies::Place;
use crate::row_groups::split;
use crate::schema_id::SchemaId;
use crate::type_name::type_name;
use crate::wire_format::WireFormat;
use crate::writers::Writers;

/// The rows of one type.
#[derive(Debug, Clone)]
pub struct RowsOfType {
    /// The type's name, if it has one.
    pub name: Option<Arc<str>>,
    /// The rows.
    pub array: ArrayRef,
}

/// Decoded rows of several types.
#[derive(Debug, Default)]
pub struct DecodedTypes {
    /// The rows, by type.
    pub types: Vec<RowsOfType>,
    /// Where each row is: its type, and its index there. There are as many as were decoded, at least one.
    pub places: Vec<Place>,
    /// The rows that could not be decoded, in order. They have no place.
    pub errors: Vec<RowError>,
    /// The approximate size of the rows in bytes.
    pub bytes: usize,
}

/// The schema of a writer.
struct Known {
    schema: RegisteredSchema,
    /// With Protobuf, which message a payload is.
    messages: Option<PayloadMessages>,
    /// By message; by an empty name in other formats.
    decoders: HashMap<Arc<str>, Result<Type, String>>,
}

/// The numbers of the rows with a schema that are one message of it.
struct PickedRows {
    id: SchemaId,
    message: Arc<str>,
    picked: Vec<usize>,
}

struct Type {
    name: Option<Arc<str>>,
    decoder: ColumnDecoder,
}

/// Decodes rows, each to the type of its own schema.
pub struct AsWrittenDecoder {
    schema_type: SchemaType,
    limits: SchemaLimits,
    wire_format: WireFormat,
    header: Header,
    writers: Writers<SchemaId, Known>,
}

impl std::fmt::Debug for AsWrittenDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let writers: Vec<_> = self.writers.keys().collect();
        f.debug_struct("AsWrittenDecoder").field("writers", &writers).finish_non_exhaustive()
    }
}

/// Some rows of others.
struct Picked<'a> {
    rows: &'a dyn EncodedRows,
    picked: &'a [usize],
}

impl EncodedRows for Picked<'_> {
    fn count(&self) -> usize {
        self.picked.len()
    }

    fn bytes(&self, row: usize) -> Option<&[u8]> {
        self.rows.bytes(*self.picked.get(row)?)
    }

    fn header(&self, row: usize, name: &str) -> Option<&[u8]> {
        self.rows.header(*self.picked.get(row)?, name)
    }
}

impl AsWrittenDecoder {
    /// Creates a decoder of schemas of this type.
    #[must_use]
    pub fn new(
        schema_type: SchemaType,
        limits: SchemaLimits,
        wire_format: WireFormat,
        header: Header,
    ) -> Self {
        Self { schema_type, limits, wire_format, header, writers: Writers::new() }
    }

    /// Returns the ids in rows whose schemas have not been added yet, each once.
    #[must_use]
    pub fn missing_of(&self, rows: &dyn EncodedRows) -> Vec<SchemaId> {
        let ids = crate::row_groups::ids(rows, self.wire_format, self.header);
        ids.into_iter().filter(|id| !self.writers.has(id)).collect()
    }

    /// Adds the schema of a writer.
    pub fn add(&mut self, id: SchemaId, schema: &RegisteredSchema) {
        let known = match schema.schema_type {
            SchemaType::Protobuf if self.schema_type == SchemaType::Protobuf => {
                PayloadMessages::new(schema, self.wire_format).map(Some).map_err(|error| error.to_string())
            }
            same if same == self.schema_type => Ok(None),
            other => Err(format!("the schema is of type {other}, and not {}", self.schema_type)),
        };
        let known =
            known.map(|messages| Known { schema: schema.clone(), messages, decoders: HashMap::new() });
        self.writers.add(id, known);
    }

    /// Records why the schema with this id could not be looked up. Rows with the id become errors.
    pub fn add_failure(&mut self, id: SchemaId, reason: impl Into<String>) {
        self.writers.add_failure(id, reason);
    }

    /// Records why values of this schema cannot be read, though it is known. Rows with the id become errors.
    pub fn refuse(&mut self, id: SchemaId, reason: impl Into<String>) {
        self.writers.add(id, Err(reason.into()));
    }

    /// Forgets the failed look-ups, since those schemas may exist by now.
    pub fn forget_failures(&mut self) {
        self.writers.forget_failures();
    }

    /// Forgets schemas if there are too many, as [`ColumnDecoder::make_room`].
    pub fn make_room(&mut self) {
        self.writers.make_room(|_| false);
    }

    /// Decodes rows, or the first ones, as described at [`DecodedTypes::places`]. A row whose schema is missing is an
    /// error.
    ///
    /// # Errors
    /// The decoded rows of a type do not fit into one array.
    pub fn decode_rows(&mut self, rows: &dyn EncodedRows) -> Result<DecodedTypes, ArrowError> {
        let count = rows.count();
        let (groups, mut errors) = self.groups(rows);
        let mut decoded = DecodedTypes { places: vec![None; count], ..DecodedTypes::default() };
        let mut left = self.limits.bounded().batch_bytes;
        let mut end = count;
        for PickedRows { id, message, picked } in groups {
            let part = match self.decoder(id, &message) {
                Ok(found) => {
                    let part = found.decoder.decode_within(&Picked { rows, picked: &picked }, left)?;
                    let name = found.name.clone();
                    decoded.types.push(RowsOfType { name, array: Arc::clone(&part.array) });
                    part
                }
                Err(reason) => {
                    let error =
                        |row: &usize| RowError { row: *row, schema_id: Some(id), reason: reason.clone() };
                    errors.extend(picked.iter().map(error));
                    continue;
                }
            };
            left = left.saturating_sub(part.bytes).max(1);
            decoded.bytes += part.bytes;
            if let Some(row) = picked.get(part.array.len()) {
                end = end.min(*row);
            }
            let of_type = decoded.types.len() - 1;
            for (at, row) in picked.iter().take(part.array.len()).enumerate() {
                if let Some(place) = decoded.places.get_mut(*row) {
                    *place = Some((of_type, at));
                }
            }
            for error in part.errors {
                if let Some(row) = picked.get(error.row) {
                    errors.push(RowError { row: *row, ..error });
                }
            }
        }
        errors.retain(|error| error.row < end);
        errors.sort_by_key(|error| error.row);
        for error in &errors {
            if let Some(place) = decoded.places.get_mut(error.row) {
                *place = None;
            }
        }
        decoded.places.truncate(end);
        decoded.errors = errors;
        Ok(decoded)
    }

    /// The rows by schema and message, in the order of their first rows, and those that have neither.
    fn groups(&self, rows: &dyn EncodedRows) -> (Vec<PickedRows>, Vec<RowError>) {
        let (mut groups, mut errors): (Vec<PickedRows>, Vec<RowError>) = Default::default();
        let mut by_type: HashMap<(SchemaId, Arc<str>), usize> = HashMap::new();
        let mut current = 0;
        for row in 0..rows.count() {
            let framed = match split(rows, row, self.wire_format, self.header) {
                None => continue,
                Some(Ok(framed)) => framed,
                Some(Err(error)) => {
                    errors.push(RowError { row, schema_id: None, reason: error.to_string() });
                    continue;
                }
            };
            let Some(id) = framed.id else {
                let reason = "the record carries no id of its schema".to_owned();
                errors.push(RowError { row, schema_id: None, reason });
                continue;
            };
            let messages = self.writers.ready(&id).and_then(|known| known.messages.as_ref());
            let message =
                messages.map_or(Ok(""), |messages| messages.message_of(framed.payload, framed.header_rest));
            let message = match message {
                Ok(message) => message,
                Err(reason) => {
                    errors.push(RowError { row, schema_id: Some(id), reason: short_reason(reason) });
                    continue;
                }
            };
            // Adjacent rows often have the same type.
            let is_it = |group: &PickedRows| group.id == id && *group.message == *message;
            if !groups.get(current).is_some_and(is_it) {
                let message: Arc<str> = message.into();
                current = *by_type.entry((id, Arc::clone(&message))).or_insert_with(|| {
                    groups.push(PickedRows { id, message, picked: Vec::new() });
                    groups.len() - 1
                });
            }
            if let Some(group) = groups.get_mut(current) {
                group.picked.push(row);
            }
        }
        (groups, errors)
    }

    /// The decoder of a type, which is compiled at its first row.
    fn decoder(&mut self, id: SchemaId, message: &Arc<str>) -> Result<&mut Type, String> {
        let (limits, wire_format, header) = (self.limits, self.wire_format, self.header);
        let Known { schema, decoders, .. } = self.writers.get(&id).map_err(str::to_owned)?;
        let of_type = decoders.entry(Arc::clone(message)).or_insert_with(|| {
            let message = (schema.schema_type == SchemaType::Protobuf).then(|| Arc::clone(message));
            let compile = || {
                let name = type_name(schema, message.as_deref())?;
                let options = ReaderOptions { message: message.clone(), limits, ..ReaderOptions::default() };
                let source = ReaderSource::Schema(schema);
                let mut decoder = ColumnDecoder::with_options(source, &options, wire_format, header)?;
                decoder.add(id, schema);
                Ok(Type { name, decoder })
            };
            compile().map_err(|error: crate::SchemaError| short_reason(error.to_string()))
        });
        of_type.as_mut().map_err(|reason| reason.clone())
    }
}
