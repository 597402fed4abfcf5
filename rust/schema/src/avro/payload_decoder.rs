//! Decodes the payloads of one writer's schema with the crate arrow-avro.
//!
//! Invariants: each payload is one value, with no byte missing or left over; the prefix that arrow-avro wants
//! before it is secret, so that no payload can go on with a prefix and eat the next row. After an error the
//! decoder is replaced, because arrow-avro may have appended a part of the row. With unions it is replaced
//! after each batch, because arrow-avro 59.3 keeps counting their offsets.

use std::hash::{BuildHasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::{Array, ArrayRef};
use arrow_avro::reader::{Decoder, ReaderBuilder};
use arrow_avro::schema::{AvroSchema, Fingerprint, FingerprintAlgorithm, SchemaStore};
use arrow_schema::{ArrowError, DataType, Field};

use super::column_types::{column_type, to_column_type};
use super::{incompatible, unsupported};
use crate::error::SchemaError;
use crate::payloads::{
    BatchDecoder, DecodedPayloads, Payload, PayloadDecoder, PayloadError, decode_payloads,
};

/// The number of the writer's schema, as arrow-avro sees it.
#[derive(Debug, Clone, Copy)]
struct WriterNumber(u64);

impl WriterNumber {
    fn random() -> Self {
        Self(RandomState::new().hash_one(()))
    }

    /// The bytes before a value of the schema.
    fn prefix(self) -> [u8; 9] {
        let [a, b, c, d, e, f, g, h] = self.0.to_be_bytes();
        [0, a, b, c, d, e, f, g, h]
    }
}

/// The most rows of one call.
const MAX_ROWS: usize = usize::MAX / 2;

/// The type of the column that a normalised reader's schema gives.
pub(super) fn data_type(reader: &str) -> Result<DataType, SchemaError> {
    let decoder = build(reader, None, WriterNumber::random()).map_err(unsupported)?;
    column_type(&arrow_type(&decoder)?)
}

/// The type of the one column that arrow-avro decodes.
fn arrow_type(decoder: &Decoder) -> Result<DataType, SchemaError> {
    let schema = decoder.schema();
    let field = schema.fields().first().ok_or_else(|| unsupported("it has no columns"))?;
    Ok(field.data_type().clone())
}

fn has_union(arrow: &DataType) -> bool {
    match arrow {
        DataType::Union(..) => true,
        DataType::Struct(fields) => fields.iter().any(|field| has_union(field.data_type())),
        DataType::List(inner) | DataType::Map(inner, _) => has_union(inner.data_type()),
        _ => false,
    }
}

fn build(writer: &str, reader: Option<&str>, number: WriterNumber) -> Result<Decoder, String> {
    let built = catch_unwind(|| {
        let fingerprint = Fingerprint::Id64(number.0);
        let mut store = SchemaStore::new_with_type(FingerprintAlgorithm::Id64);
        store.set(fingerprint, AvroSchema::new(writer.to_owned()))?;
        let mut builder = ReaderBuilder::new()
            .with_batch_size(MAX_ROWS)
            .with_tz(arrow_avro::codec::Tz::Utc)
            .with_writer_schema_store(store)
            .with_active_fingerprint(fingerprint);
        if let Some(reader) = reader {
            builder = builder.with_reader_schema(AvroSchema::new(reader.to_owned()));
        }
        builder.build_decoder()
    });
    match built {
        Ok(decoder) => decoder.map_err(|error| message(&error)),
        Err(_) => Err("the Avro library failed on it".to_owned()),
    }
}

fn message(error: &ArrowError) -> String {
    match error {
        ArrowError::ParseError(message)
        | ArrowError::SchemaError(message)
        | ArrowError::InvalidArgumentError(message)
        | ArrowError::AvroError(message)
        | ArrowError::NotYetImplemented(message) => message.clone(),
        other => other.to_string(),
    }
}

/// The decoder of one writer's schema.
#[derive(Debug)]
pub(crate) struct AvroPayloadDecoder {
    writer: String,
    reader: Option<String>,
    number: WriterNumber,
    data_type: DataType,
    has_union: bool,
    /// `None` if it cannot be used again.
    decoder: Option<Decoder>,
}

impl AvroPayloadDecoder {
    pub(super) fn new(writer: &str, reader: &str, data_type: &DataType) -> Result<Self, SchemaError> {
        let reader = (writer != reader).then(|| reader.to_owned());
        let number = WriterNumber::random();
        let decoder = build(writer, reader.as_deref(), number).map_err(incompatible)?;
        let arrow = arrow_type(&decoder)?;
        let found = column_type(&arrow)?;
        if found != *data_type {
            return Err(incompatible(format!("it gives columns of type {found}, not {data_type}")));
        }
        let data_type = data_type.clone();
        let has_union = has_union(&arrow);
        let (writer, decoder) = (writer.to_owned(), Some(decoder));
        Ok(Self { writer, reader, number, data_type, has_union, decoder })
    }

    fn decode_all(
        decoder: &mut Decoder,
        payloads: &[Payload<'_>],
        prefix: [u8; 9],
    ) -> Result<ArrayRef, PayloadError> {
        for (row, payload) in payloads.iter().enumerate() {
            decode_one(decoder, payload, prefix).map_err(|reason| PayloadError { row: Some(row), reason })?;
        }
        let whole = |reason| PayloadError { row: None, reason };
        let batch = decoder.flush().map_err(|error| whole(error.to_string()))?;
        let column = batch.and_then(|batch| batch.columns().first().cloned());
        column.filter(|column| column.len() == payloads.len()).ok_or_else(|| whole("rows are missing".into()))
    }
}

fn decode_one(decoder: &mut Decoder, payload: &Payload<'_>, prefix: [u8; 9]) -> Result<(), String> {
    if payload.header_rest.is_some_and(|rest| !rest.is_empty()) {
        return Err("bytes are left after the schema's id in the header".to_owned());
    }
    let payload = payload.bytes;
    decoder.decode(&prefix).map_err(|error| error.to_string())?;
    let capacity = decoder.capacity();
    // The decoder does not look at an empty slice; a value of no bytes takes none of this one.
    let given = if payload.is_empty() { &[0x7f][..] } else { payload };
    let consumed = match decoder.decode(given) {
        Ok(consumed) => consumed,
        // A value of no bytes, and then a byte that begins no message.
        Err(_) if payload.is_empty() && decoder.capacity() + 1 == capacity => 0,
        Err(error) if decoder.capacity() == capacity => return Err(error.to_string()),
        Err(_) => return Err("bytes are left after the value".to_owned()),
    };
    if decoder.capacity() == capacity || consumed > payload.len() {
        return Err("it ends within the value".to_owned());
    }
    match payload.len() - consumed {
        0 if decoder.capacity() + 1 == capacity => Ok(()),
        _ => Err("bytes are left after the value".to_owned()),
    }
}

impl PayloadDecoder for AvroPayloadDecoder {
    fn decode(&mut self, payloads: &[Payload<'_>]) -> Result<DecodedPayloads, ArrowError> {
        Ok(decode_payloads(self, payloads))
    }
}

impl BatchDecoder for AvroPayloadDecoder {
    fn decode_batch(&mut self, payloads: &[Payload<'_>]) -> Result<ArrayRef, PayloadError> {
        let whole = |reason| PayloadError { row: None, reason };
        let mut decoder = match self.decoder.take() {
            Some(decoder) => decoder,
            None => build(&self.writer, self.reader.as_deref(), self.number).map_err(whole)?,
        };
        let decoded = catch_unwind(AssertUnwindSafe(|| {
            let column = Self::decode_all(&mut decoder, payloads, self.number.prefix())?;
            to_column_type(&column, &self.data_type).map_err(|error| whole(error.to_string()))
        }));
        let column = decoded.unwrap_or_else(|_| Err(whole("the Avro library failed on it".into())))?;
        self.decoder = Some(decoder).filter(|_| !self.has_union);
        Ok(column)
    }
}

/// A field without the library's metadata.
pub(super) fn plain_field(field: &Field, data_type: DataType) -> Field {
    Field::new(field.name(), data_type, field.is_nullable())
}
