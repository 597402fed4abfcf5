//! Proves: random messages of random schemas, decoded and encoded again, have the values that prost-reflect finds in
//! both; the bytes do not depend on the form of Arrow's columns.

use arrow_array::Array;
use ottla_schema::{ReaderSource, SchemaLimits, column_type};
use prost_reflect::DynamicMessage;

use crate::encode_support::*;
use crate::protobuf_differential::descriptor;
use crate::protobuf_random::{Random, RandomSchema, expected, random_payload};
use crate::protobuf_support::*;
use crate::support::decode;

#[test]
fn random_messages_are_encoded_to_the_same_values() {
    for seed in 1..120 {
        let mut random = Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed));
        let schema = RandomSchema::new(&mut random).text();
        let message = descriptor(&schema);
        let payloads: Vec<_> = (0..12).map(|_| Some(random_payload(&mut random, &message))).collect();
        let mut decoder = plain(&schema);
        let decoded = decode(&mut decoder, &payloads);
        assert_eq!(decoded.errors, [], "seed {seed}\n{schema}");
        let of_schema = proto(&schema);
        assert_eq!(
            column_type(ReaderSource::Schema(&of_schema), None, &SchemaLimits::default()).as_ref(),
            Ok(decoder.data_type())
        );
        let bytes = encode(&encoder(&of_schema, &decoded.array), &decoded.array);
        let again = decode(&mut decoder, &bytes);
        assert_eq!(again.errors, [], "seed {seed}\n{schema}");
        assert!(again.array.to_data() == decoded.array.to_data(), "seed {seed}\n{schema}\n{bytes:?}");
        for (row, (bytes, text)) in bytes.iter().flatten().zip(rows(&decoded)).enumerate() {
            let read = DynamicMessage::decode(message.clone(), bytes.as_slice()).unwrap();
            assert_eq!(expected(&read), text, "seed {seed}, row {row}\n{schema}\n{bytes:?}");
            assert_eq!(read.unknown_fields().count(), 0);
        }
        let varied = vary(&decoded.array, &mut |below| random.below(below));
        let of_varied = encode(&encoder(&of_schema, &varied), &varied);
        assert!(of_varied == bytes, "seed {seed}\n{schema}\n{}", varied.data_type());
        let slice = varied.slice(5, 4);
        assert_eq!(encode(&encoder(&of_schema, &slice), &slice), bytes[5..9]);
    }
}
