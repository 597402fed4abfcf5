//! Proves: of mutated payloads and texts of schemas none ends the process, takes all memory or makes an invalid array,
//! on a small stack.
//!
//! `OTTLA_SEEDS` sets how many thousands of mutations each test makes, `OTTLA_SEED` replays one thousand.

use std::path::Path;

use arrow_array::{Array, BinaryArray};
use ottla_schema::{ColumnDecoder, Header, RegisteredSchema, SchemaId, SchemaType, WireFormat};

use crate::fuzz_corpus::bodies;
use crate::support::on_small_stack;

/// The mutations of a seed.
const ROUNDS: usize = 1_000;

/// The seeds of a run of the gate.
const SEEDS: u64 = 2;

/// The longest text or payload, in bytes.
const MAX_LENGTH: usize = 20_000;

fn seeds() -> Vec<u64> {
    let number = |name| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    match number("OTTLA_SEED") {
        Some(seed) => vec![seed],
        None => (0..number("OTTLA_SEEDS").unwrap_or(SEEDS)).collect(),
    }
}

struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % limit.max(1)
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        let most = if self.below(4) == 0 { length - start } else { (length - start).min(12) };
        start..start + self.below(most + 1)
    }
}

/// The words of any JSON, to which those of Avro's schemas and of JSON Schemas are added.
const JSON_TEXT_WORDS: &[&str] = &["{", "}", "[", "]", ",", ":", "\"", "null"];
/// Parts of the text of a schema: a dictionary that reaches deeper than random bytes.
const AVRO_WORDS: &[&str] = &[
    "\"null\"",
    "\"type\":",
    "\"record\"",
    "\"fields\":",
    "\"fixed\"",
    "\"size\":",
    "16777216",
    "2147483647",
    "\"default\":",
    "\"enum\"",
    "\"symbols\":",
    "\"array\"",
    "\"items\":",
    "\"map\"",
    "\"values\":",
    "\"logicalType\":",
    "\"decimal\"",
    "\"precision\":",
    "76",
    "\"R\"",
    "\"E\"",
    "\"F\"",
    "\"aliases\":",
    "{}",
    "[]",
    "{\"type\":\"array\",\"items\":",
    "\"duration\"",
    "\"timestamp-nanos\"",
    "\"date\"",
];
const PROTOBUF_WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    "(",
    ")",
    ";",
    "=",
    ".",
    ",",
    "\"",
    "'",
    "//",
    "/*",
    "*/",
    "message M {",
    "message A {",
    "option ",
    "(my) = {",
    "repeated ",
    "optional ",
    "required ",
    "map<string, ",
    "oneof o {",
    "group G = 9 {",
    "enum E {",
    "extend ",
    "extensions 100 to max;",
    "reserved 1 to 5;",
    "import \"google/protobuf/descriptor.proto\";",
    "import public \"google/type/money.proto\";",
    "google.protobuf.Value",
    "google.protobuf.MessageOptions",
    "[packed = true]",
    "[default = -1]",
    "536870911",
    "-1",
    "0x7fffffffffffffff",
    "package a.b;",
    "syntax = \"proto2\";",
    "edition = \"2023\";",
    "stream",
    "rpc",
    "service S {",
    "I i = 1;",
    "int32",
    "uint64",
    "bytes",
    "{o:",
    "inf",
    "nan",
    "1e999",
];
const JSON_WORDS: &[&str] = &[
    "true",
    "\"type\":",
    "\"object\"",
    "\"integer\"",
    "\"properties\":",
    "\"items\":",
    "\"$ref\":",
    "\"#\"",
    "\"#/properties/o\"",
    "\"allOf\":[",
    "\"anyOf\":[",
    "\"oneOf\":[",
    "\"required\":",
    "\"additionalProperties\":",
    "\"patternProperties\":",
    "\"$id\":",
    "\"$anchor\":",
    "\"$defs\":",
    "\"enum\":",
    "\"const\":",
    "\"prefixItems\":",
    "{\"items\":",
    "1e999",
    "-0",
    "\\ud83d",
    "\"$dynamicRef\":",
    "false",
];

/// Options, whose values the compiler parses by recursion.
const OPTIONS: &str = "syntax = \"proto3\"; import \"google/protobuf/descriptor.proto\";
    message A { option (my) = { o: { o { l: [{ o {} }, {}] n: 1 } } }; int32 a = 1 [(f).o.n = 5, deprecated = true]; }
    message O { optional O o = 1; repeated O l = 2; optional int32 n = 3; }
    extend google.protobuf.MessageOptions { optional O my = 50000; }
    extend google.protobuf.FieldOptions { optional O f = 50001; }";

/// Changes a text or a payload: a few times, mostly a little.
fn mutate(random: &mut Random, base: &[u8], words: &[&str]) -> Vec<u8> {
    let mut bytes = base.to_vec();
    let changes = if random.below(2) == 0 { 1 } else { 1 + random.below(4) };
    for _ in 0..changes {
        let at = random.below(bytes.len() + 1);
        match random.below(9) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            1 if at < bytes.len() => {
                bytes[at] = *random.pick(&[0, 1, 2, 3, 0x7f, 0x80, 0xff, b'{', b'"', b'0'])
            }
            2 => drop(bytes.drain(random.range(bytes.len()))),
            3 => {
                let part = bytes[random.range(bytes.len())].to_vec();
                bytes.splice(at..at, part);
            }
            // Nested, or many of it.
            4 => {
                let part = bytes[random.range(bytes.len())].to_vec();
                let count = *random.pick(&[2, 10, 60, 200, 1_000]);
                bytes.splice(at..at, part.repeat(count.min(MAX_LENGTH / part.len().max(1))));
            }
            5 => {
                let count = *random.pick(&[1, 1, 1, 40, 100, 500]);
                bytes.splice(at..at, random.pick(words).repeat(count).into_bytes());
            }
            6 => bytes.truncate(at),
            7 => {
                bytes.splice(at..at, vec![0xff; random.below(11)]);
            }
            _ => {
                let word = random.pick(words).as_bytes().to_vec();
                let range = random.range(bytes.len());
                bytes.splice(range, word);
            }
        }
    }
    bytes.truncate(MAX_LENGTH);
    bytes
}

fn mutate_one<T: AsRef<[u8]>>(random: &mut Random, from: &[T], words: &[&str]) -> Vec<u8> {
    let base = random.below(from.len());
    mutate(random, from[base].as_ref(), words)
}

/// What the seeds of a fuzz target have: payloads of its schema, and texts of schemas.
fn corpus(target: &str) -> (Vec<Vec<u8>>, Vec<String>) {
    let (mut payloads, mut texts) = (vec![Vec::new()], Vec::new());
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds").join(target);
    let mut files: Vec<_> = std::fs::read_dir(seeds).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        let data = std::fs::read(file).unwrap();
        let Some((kind, mut rest)) = data.split_first() else { continue };
        match kind % 4 {
            0 => {
                while let [length, after @ ..] = rest {
                    let (row, after) = after.split_at(after.len().min(usize::from(*length)));
                    payloads.push(row.to_vec());
                    rest = after;
                }
            }
            1 => {}
            _ => {
                let text = rest.split(|byte| *byte == 0).next().unwrap_or_default();
                texts.push(String::from_utf8_lossy(text).into_owned());
            }
        }
    }
    (payloads, texts)
}

/// Decodes rows by as many calls as it takes, and checks the arrays.
fn decode(decoder: &mut ColumnDecoder, rows: &[&[u8]]) {
    let column = BinaryArray::from_iter_values(rows);
    let mut done = 0;
    while done < rows.len() {
        let decoded = decoder.decode(&column.slice(done, rows.len() - done), None).expect("rows fit");
        decoded.array.to_data().validate_full().expect("a valid array");
        assert!(!decoded.array.is_empty() && decoded.array.data_type() == decoder.data_type());
        assert!(decoded.errors.iter().all(|error| decoded.array.is_null(error.row)));
        done += decoded.array.len();
    }
}

fn run(schema_type: SchemaType, schema: &'static str, target: &'static str, words: Vec<&'static str>) {
    on_small_stack(move || {
        let (payloads, mut texts) = corpus(target);
        texts.push(schema.to_owned());
        if schema_type == SchemaType::Protobuf {
            texts.push(OPTIONS.to_owned());
        }
        let base = RegisteredSchema::new(schema_type, schema);
        let mut fixed = ColumnDecoder::new(&base, WireFormat::None, Header::Value).unwrap();
        let mut usable = 0;
        for seed in seeds() {
            // A failure names the seed.
            println!("OTTLA_SEED={seed}");
            let mut random = Random::new(seed);
            for round in 0..ROUNDS {
                if round % 2 == 0 {
                    let rows: [_; 3] = std::array::from_fn(|_| mutate_one(&mut random, &payloads, &words));
                    decode(&mut fixed, &rows.iter().map(Vec::as_slice).collect::<Vec<_>>());
                    continue;
                }
                let text = mutate_one(&mut random, &texts, &words);
                let written = RegisteredSchema::new(schema_type, String::from_utf8_lossy(&text).into_owned());
                let rows: [_; 3] = std::array::from_fn(|_| mutate_one(&mut random, &payloads, &words));
                let rows = rows.each_ref().map(Vec::as_slice);
                if let Ok(mut decoder) = ColumnDecoder::new(&written, WireFormat::None, Header::Value) {
                    usable += 1;
                    decode(&mut decoder, &rows);
                }
                // As the schema of a writer, which the reader's reads.
                if round % 16 == 1 {
                    let reader = ColumnDecoder::new(&base, WireFormat::Confluent, Header::Value);
                    let mut reader = reader.unwrap();
                    reader.add(SchemaId::Id(1), &written);
                    let framed = rows.map(|row| crate::support::with_id(1, &[row]));
                    decode(&mut reader, &framed.each_ref().map(Vec::as_slice));
                }
            }
        }
        // Some mutations leave a schema that is one.
        assert!(usable > 10, "{usable}");
    });
}

#[test]
fn mutated_avro_never_ends_the_process() {
    run(SchemaType::Avro, bodies::AVRO, "schema_avro", [JSON_TEXT_WORDS, AVRO_WORDS].concat());
}

#[test]
fn mutated_protobuf_never_ends_the_process() {
    run(SchemaType::Protobuf, bodies::PROTOBUF, "schema_protobuf", PROTOBUF_WORDS.to_vec());
}

#[test]
fn mutated_json_never_ends_the_process() {
    run(SchemaType::Json, bodies::JSON, "schema_json", [JSON_TEXT_WORDS, JSON_WORDS].concat());
}
