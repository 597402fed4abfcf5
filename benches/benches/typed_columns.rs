//! Decodes values with a schema to Arrow columns, and encodes them: ottla, and arrow-avro on the same bytes.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a benchmark's macros document nothing; a failure may panic"
)]

use std::hint::black_box;
use std::sync::Arc;

use arrow_array::BinaryArray;
use arrow_array::cast::AsArray;
use arrow_avro::reader::{Decoder, ReaderBuilder};
use arrow_avro::schema::{AvroSchema, Fingerprint, FingerprintAlgorithm, SchemaStore};
use arrow_schema::Field;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ottla_benches::random_array;
use ottla_schema::{
    ColumnDecoder, ColumnEncoder, Header, Projection, ReaderOptions, ReaderSource, RegisteredSchema,
    SchemaId, SchemaLimits, SchemaType, WireFormat, column_type,
};

const SHAPES: [(&str, &str); 2] = [
    ("flat, 10 fields", include_str!("../schemas/flat.avsc")),
    ("nested, 40 fields", include_str!("../schemas/nested.avsc")),
];
const ROWS: usize = 5_000;
const ID: u32 = 7;

fn avro(text: &str) -> RegisteredSchema {
    RegisteredSchema::new(SchemaType::Avro, text)
}

/// Random values in Avro, in Confluent's format.
fn values(text: &str) -> BinaryArray {
    let schema = avro(text);
    let data_type = column_type(ReaderSource::Schema(&schema), None, &SchemaLimits::default()).unwrap();
    let prefix = WireFormat::Confluent.prefix(Some(SchemaId::Id(ID)), &[]).unwrap();
    let rows = random_array(&data_type, ROWS, false, &mut fastrand::Rng::with_seed(1));
    let encoded = ColumnEncoder::new(&schema, &data_type).unwrap().encode(&rows, &prefix).unwrap();
    assert!(encoded.errors.is_empty());
    encoded.payloads
}

fn decoder(text: &str, fields: &[&str]) -> ColumnDecoder {
    let schema = avro(text);
    let projection = (!fields.is_empty()).then(|| Arc::new(Projection::new(fields.iter().copied()).unwrap()));
    let options = ReaderOptions { projection, ..Default::default() };
    let source = ReaderSource::Schema(&schema);
    let mut decoder =
        ColumnDecoder::with_options(source, &options, WireFormat::Confluent, Header::Value).unwrap();
    decoder.add(SchemaId::Id(ID), &schema);
    decoder
}

fn arrow_avro_decoder(text: &str) -> Decoder {
    let mut store = SchemaStore::new_with_type(FingerprintAlgorithm::Id);
    store.set(Fingerprint::Id(ID), AvroSchema::new(text.to_owned())).unwrap();
    ReaderBuilder::new().with_writer_schema_store(store).with_batch_size(ROWS).build_decoder().unwrap()
}

fn decode_avro(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decode_avro");
    group.throughput(Throughput::Elements(ROWS as u64));
    for (shape, text) in SHAPES {
        let values = values(text);
        // The same bytes one after the other, as arrow-avro takes them.
        let bytes = values.iter().flatten().flatten().copied().collect::<Vec<u8>>();
        let (mut ours, mut theirs) = (decoder(text, &[]), arrow_avro_decoder(text));
        let decoded = ours.decode(&values, None).unwrap();
        assert!(decoded.errors.is_empty());
        assert_eq!(theirs.decode(&bytes).unwrap(), bytes.len());
        let batch = theirs.flush().unwrap().unwrap();
        for (column, expected) in batch.columns().iter().zip(decoded.array.as_struct().columns()) {
            assert_eq!(column.to_data().child_data().len(), expected.to_data().child_data().len());
            assert_eq!((column.len(), column.null_count()), (ROWS, expected.null_count()));
        }
        group.bench_function(BenchmarkId::new("ottla", shape), |bencher| {
            bencher.iter(|| ours.decode(black_box(&values), None).unwrap());
        });
        group.bench_function(BenchmarkId::new("arrow-avro", shape), |bencher| {
            bencher.iter(|| {
                theirs.decode(black_box(&bytes)).unwrap();
                theirs.flush().unwrap()
            });
        });
        let name = if shape.starts_with("nested") { "customer.name" } else { "name" };
        let mut few = decoder(text, &["id", "state", "tax", name]);
        group.bench_function(BenchmarkId::new("ottla, 4 of the fields", shape), |bencher| {
            bencher.iter(|| few.decode(black_box(&values), None).unwrap());
        });
    }
    group.finish();
}

fn decode_json(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decode_json");
    group.throughput(Throughput::Elements(ROWS as u64));
    for (shape, text) in SHAPES {
        let field = Field::new(
            "value",
            column_type(ReaderSource::Schema(&avro(text)), None, &SchemaLimits::default()).unwrap(),
            true,
        );
        let rows = random_array(field.data_type(), ROWS, false, &mut fastrand::Rng::with_seed(1));
        let source = ReaderSource::JsonType(&field);
        let encoder =
            ColumnEncoder::with_message(source, None, &SchemaLimits::default(), field.data_type()).unwrap();
        let encoded = encoder.encode(&rows, &[]).unwrap();
        assert!(encoded.errors.is_empty(), "{:?}", encoded.errors[0]);
        let values = encoded.payloads;
        let options = ReaderOptions::default();
        let mut decoder =
            ColumnDecoder::with_options(source, &options, WireFormat::None, Header::Value).unwrap();
        let decoded = decoder.decode(&values, None).unwrap();
        assert!(decoded.errors.is_empty(), "{:?}", decoded.errors[0]);
        group.bench_function(BenchmarkId::new("ottla", shape), |bencher| {
            bencher.iter(|| decoder.decode(black_box(&values), None).unwrap());
        });
    }
    group.finish();
}

/// Rows of two writers in turn: each row is copied to its place in the column.
fn decode_two_writers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decode_two_writers");
    group.throughput(Throughput::Elements(ROWS as u64));
    for (shape, text) in SHAPES {
        let values: BinaryArray = values(text)
            .iter()
            .enumerate()
            .map(|(row, value)| {
                let mut value = value?.to_vec();
                // The last byte of the id.
                value[4] += (row % 2) as u8;
                Some(value)
            })
            .collect();
        let mut decoder = decoder(text, &[]);
        decoder.add(SchemaId::Id(ID + 1), &avro(text));
        assert!(decoder.decode(&values, None).unwrap().errors.is_empty());
        group.bench_function(BenchmarkId::new("ottla", shape), |bencher| {
            bencher.iter(|| decoder.decode(black_box(&values), None).unwrap());
        });
    }
    group.finish();
}

fn encode_avro(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("encode_avro");
    group.throughput(Throughput::Elements(ROWS as u64));
    for (shape, text) in SHAPES {
        let rows = decoder(text, &[]).decode(&values(text), None).unwrap().array;
        let encoder = ColumnEncoder::new(&avro(text), rows.data_type()).unwrap();
        group.bench_function(BenchmarkId::new("ottla", shape), |bencher| {
            bencher.iter(|| encoder.encode(black_box(&rows), &[0, 0, 0, 0, 7]).unwrap());
        });
    }
    group.finish();
}

criterion_group!(benches, decode_avro, decode_json, decode_two_writers, encode_avro);
criterion_main!(benches);
