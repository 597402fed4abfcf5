//! Proves: columns that were decoded from what Avro's own Java library wrote (`tests/java/avro`) are encoded to the
//! very same bytes, in whichever form of Arrow's the columns are.

use arrow_array::{Array, BinaryArray};
use ottla_schema::{ColumnDecoder, Header, ReaderSource, SchemaLimits, WireFormat, column_type};
use serde_json::Value;

use crate::avro_java;
use crate::encode_support::*;
use crate::support::*;

#[test]
fn bytes_are_those_that_java_writes() {
    let (mut same, mut in_blocks, mut padded) = (0, 0, 0);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut pick = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap() % below
    };
    for line in avro_java::read().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let schema = avro(&line["writer"].to_string());
        let Ok(mut decoder) = ColumnDecoder::new(&schema, WireFormat::None, Header::Value) else { continue };
        assert_eq!(
            column_type(ReaderSource::Schema(&schema), None, &SchemaLimits::default()).as_ref(),
            Ok(decoder.data_type())
        );
        let payloads = line["payloads"].as_array().unwrap().iter();
        let payloads: Vec<_> = payloads.map(|hex| avro_java::unhex(hex.as_str().unwrap())).collect();
        let decoded = decoder.decode(&BinaryArray::from_iter_values(&payloads), None).unwrap();
        let bytes = encode(&encoder(&schema, &decoded.array), &decoded.array);
        for (row, (theirs, ours)) in payloads.iter().zip(&bytes).enumerate() {
            assert_eq!(ours.is_none(), decoded.array.is_null(row));
            match ours {
                Some(ours) if ours == theirs => same += 1,
                // One of Java's encoders writes the blocks of arrays with their size, and some cases have numbers
                // with more bytes than they need.
                Some(ours) => {
                    match schema.text.contains("\"array\"") || schema.text.contains("\"map\"") {
                        true => in_blocks += 1,
                        false => padded += 1,
                    }
                    let again = decoder.decode(&BinaryArray::from_iter_values([ours]), None).unwrap();
                    assert_eq!(again.errors, []);
                    let row = decoded.array.slice(row, 1);
                    assert!(again.array.to_data() == row.to_data(), "{schema:?}\n{theirs:?}\n{ours:?}");
                }
                None => {}
            }
        }
        let varied = vary(&decoded.array, &mut pick);
        assert_eq!(encode(&encoder(&schema, &varied), &varied), bytes, "{schema:?}\n{}", varied.data_type());
        // A slice is encoded as its rows are.
        let half = varied.len() / 2;
        let slice = varied.slice(half, varied.len() - half);
        assert_eq!(encode(&encoder(&schema, &slice), &slice), bytes[half..]);
    }
    assert!(same > 6_800 && in_blocks < 600 && padded == 4, "{same} {in_blocks} {padded}");
}
