//! The decoder of a typed column: to one schema, or each row to the schema that it was written with.
//!
//! Invariant: only the first kind has columns; the second is for records that are taken one by one.

use std::sync::Arc;

use arrow_array::Array;
use arrow_schema::{ArrowError, DataType};
use ottla_schema::{
    AsWrittenDecoder, AvroObjects, ColumnDecoder, DecodedColumn, DecodedTypes, EncodedRows, RegisteredSchema,
    RowError, SchemaId, copy_rows,
};

/// A decoder.
#[derive(Debug)]
pub(super) enum Decoder {
    /// With what decodes its values further, if they are of a recursive schema.
    Converting(ColumnDecoder, Option<Arc<AvroObjects>>),
    AsWritten(AsWrittenDecoder),
}

/// Decoded rows.
#[derive(Debug)]
pub(crate) enum Decoded {
    Column(DecodedColumn),
    Types(DecodedTypes),
}

impl Decoded {
    /// The approximate size of the rows in bytes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Column(decoded) => decoded.bytes,
            Self::Types(decoded) => decoded.bytes,
        }
    }

    /// The number of rows.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Column(decoded) => decoded.array.len(),
            Self::Types(decoded) => decoded.places.len(),
        }
    }

    /// Makes rows errors, unless they are already.
    pub(super) fn refuse(&mut self, refused: Vec<RowError>) -> Result<(), ArrowError> {
        if refused.is_empty() {
            return Ok(());
        }
        let errors = match self {
            Self::Column(decoded) => &mut decoded.errors,
            Self::Types(decoded) => &mut decoded.errors,
        };
        // Stable: the reason why a row cannot be decoded comes first.
        errors.extend(refused);
        errors.sort_by_key(|error| error.row);
        errors.dedup_by_key(|error| error.row);
        match self {
            Self::Column(DecodedColumn { array, errors, .. }) => {
                let is_failed = |row: &usize| errors.binary_search_by_key(row, |error| error.row).is_ok();
                let places = (0..array.len()).map(|row| (!is_failed(&row)).then_some((0, row)));
                *array = copy_rows(array.data_type(), [&*array], places)?;
            }
            Self::Types(DecodedTypes { places, errors, .. }) => {
                for error in errors {
                    if let Some(place) = places.get_mut(error.row) {
                        *place = None;
                    }
                }
            }
        }
        Ok(())
    }
}

impl Decoder {
    pub(super) fn data_type(&self) -> Option<&DataType> {
        match self {
            Self::Converting(decoder, _) => Some(decoder.data_type()),
            Self::AsWritten(_) => None,
        }
    }

    pub(super) fn objects(&self) -> Option<&Arc<AvroObjects>> {
        match self {
            Self::Converting(_, objects) => objects.as_ref(),
            Self::AsWritten(_) => None,
        }
    }

    pub(super) fn missing_of(&self, rows: &dyn EncodedRows) -> Vec<SchemaId> {
        match self {
            Self::Converting(decoder, _) => decoder.missing_of(rows),
            Self::AsWritten(decoder) => decoder.missing_of(rows),
        }
    }

    pub(super) fn make_room(&mut self) {
        match self {
            Self::Converting(decoder, _) => decoder.make_room(),
            Self::AsWritten(decoder) => decoder.make_room(),
        }
    }

    pub(super) fn forget_failures(&mut self) {
        match self {
            Self::Converting(decoder, _) => decoder.forget_failures(),
            Self::AsWritten(decoder) => decoder.forget_failures(),
        }
    }

    pub(super) fn add(&mut self, id: SchemaId, schema: &RegisteredSchema) {
        match self {
            Self::Converting(decoder, _) => decoder.add(id, schema),
            Self::AsWritten(decoder) => decoder.add(id, schema),
        }
    }

    pub(super) fn refuse(&mut self, id: SchemaId, reason: String) {
        match self {
            Self::Converting(decoder, _) => decoder.refuse(id, reason),
            Self::AsWritten(decoder) => decoder.refuse(id, reason),
        }
    }

    pub(super) fn add_failure(&mut self, id: SchemaId, reason: String) {
        match self {
            Self::Converting(decoder, _) => decoder.add_failure(id, reason),
            Self::AsWritten(decoder) => decoder.add_failure(id, reason),
        }
    }

    pub(super) fn decode(&mut self, rows: &dyn EncodedRows) -> Result<Decoded, ArrowError> {
        match self {
            Self::Converting(decoder, _) => decoder.decode_rows(rows).map(Decoded::Column),
            Self::AsWritten(decoder) => decoder.decode_rows(rows).map(Decoded::Types),
        }
    }
}
