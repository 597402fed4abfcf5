//! Proves: random messages of random schemas have the values that prost-reflect finds in the same bytes, also with
//! the schema of a reader that lacks some fields.

use prost_reflect::{DynamicMessage, MessageDescriptor};
use protox::Compiler;
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};

use crate::protobuf_random::{Random, RandomSchema, expected, random_payload};
use crate::protobuf_support::*;
use crate::support::decode;

const SEEDS: std::ops::Range<u64> = 1..80;
const ROWS: usize = 12;

struct Text(String);

impl FileResolver for Text {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        match name {
            "random.proto" => File::from_source(name, &self.0),
            _ => Err(protox::Error::file_not_found(name)),
        }
    }
}

pub(crate) fn descriptor(schema: &str) -> MessageDescriptor {
    let mut resolver = ChainFileResolver::new();
    resolver.add(Text(schema.to_owned()));
    resolver.add(GoogleFileResolver::new());
    let mut compiler = Compiler::with_file_resolver(resolver);
    compiler.open_file("random.proto").unwrap_or_else(|error| panic!("{schema}\n{error:?}"));
    compiler.descriptor_pool().get_message_by_name("M0").unwrap()
}

#[test]
fn random_messages_have_the_same_values_as_in_prost_reflect() {
    for seed in SEEDS {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let schema = RandomSchema::new(&mut random);
        let writer = descriptor(&schema.text());
        let payloads: Vec<_> = (0..ROWS).map(|_| Some(random_payload(&mut random, &writer))).collect();
        for text in [schema.text(), schema.reader(&mut random)] {
            let reader = descriptor(&text);
            let decoded = decode(&mut plain(&text), &payloads);
            assert_eq!(decoded.errors, [], "seed {seed}\n{text}");
            for (payload, row) in payloads.iter().flatten().zip(rows(&decoded)) {
                let message = DynamicMessage::decode(reader.clone(), payload.as_slice());
                assert_eq!(row, expected(&message.unwrap()), "seed {seed}\n{text}\n{payload:?}");
            }
        }
    }
}

#[test]
fn cut_messages_are_good_where_they_are_for_prost_reflect() {
    for seed in SEEDS {
        let mut random = Random(seed.wrapping_mul(0xd134_2543_de82_ef95));
        let schema = RandomSchema::new(&mut random);
        // The dynamic messages of prost-reflect do not check required fields.
        if schema.has_required() {
            continue;
        }
        let message = descriptor(&schema.text());
        let payload = random_payload(&mut random, &message);
        let cuts: Vec<_> = (0..40).map(|_| payload[..random.below(payload.len() + 1)].to_vec()).collect();
        let decoded = decode(&mut plain(&schema.text()), &cuts.iter().cloned().map(Some).collect::<Vec<_>>());
        for (cut, row) in cuts.iter().zip(rows(&decoded)) {
            let expected = match DynamicMessage::decode(message.clone(), cut.as_slice()) {
                Ok(message) => expected(&message),
                Err(_) => "null".to_owned(),
            };
            assert_eq!(row, expected, "seed {seed}\n{}\n{cut:?}", schema.text());
        }
    }
}
