//! Proves: hostile payloads and schemas are errors that cost little time and memory.

use std::time::{Duration, Instant};

use ottla_schema::{ColumnDecoder, Header, WireFormat};

use crate::protobuf_support::*;
use crate::support::{decode, with_id};

/// Far more than any of these needs on a busy machine, far less than their lengths would take.
const SOON: Duration = Duration::from_secs(60);

/// A schema with columns of all kinds.
const ALL: &str = "syntax = \"proto2\";
    import \"google/protobuf/struct.proto\"; import \"google/protobuf/timestamp.proto\";
    import \"google/protobuf/wrappers.proto\";
    message M { optional int32 a = 1; optional string b = 2; repeated I c = 3; map<string, I> d = 4;
      oneof o { I e = 5; sint64 f = 6; } optional google.protobuf.Struct g = 7; optional fixed64 h = 8;
      optional google.protobuf.Timestamp i = 9; optional google.protobuf.StringValue j = 10;
      repeated uint64 k = 11; optional group L = 12 { optional float x = 1; repeated E y = 2; } optional E m = 13; }
    message I { optional bool x = 1; repeated bytes y = 2; oneof p { fixed32 z = 3; double w = 4; } }
    enum E { A = 0; B = 1; }";

fn payload() -> Vec<u8> {
    let i = [int(1, 1), len(2, "y"), fixed32(3, [1; 4])].concat();
    let list = [len(1, int(4, 1)), len(1, fixed64(2, [1; 8]))].concat();
    [
        int(1, 300),
        len(2, "text"),
        len(3, &i),
        len(4, [len(1, "k"), len(2, &i)].concat()),
        len(5, &i),
        len(7, len(1, [len(1, "k"), len(2, len(6, list))].concat())),
        fixed64(8, [1; 8]),
        len(9, [int(1, 1_000), int(2, 1_000)].concat()),
        len(10, len(1, "w")),
        len(11, [1, 0x80, 2]),
        group(12, &[fixed32(1, [1; 4]), len(2, [0, 1]), group(15, &int(1, 1))].concat()),
        int(13, 1),
    ]
    .concat()
}

#[test]
fn payloads_cut_at_any_byte_are_good_or_errors() {
    let mut decoder = plain(ALL);
    let good = payload();
    let batch: Vec<_> = (0..=good.len()).map(|end| Some(good[..end].to_vec())).collect();
    let decoded = decode(&mut decoder, &batch);
    // A cut between two fields of the message is a shorter message.
    let bad: Vec<_> = decoded.errors.iter().map(|error| error.row).collect();
    let texts = rows(&decoded);
    let alone: Vec<_> =
        batch.iter().map(|row| rows(&decode(&mut decoder, std::slice::from_ref(row)))).collect();
    assert_eq!(texts, alone.concat());
    assert_eq!(batch.len() - bad.len(), 13, "{bad:?}");
    // A byte of it with any other value.
    for at in 0..good.len() {
        let batch = (0..=255).map(|byte| {
            let mut row = good.clone();
            row[at] = byte;
            Some(row)
        });
        decode(&mut decoder, &batch.collect::<Vec<_>>());
    }
}

#[test]
fn lengths_and_groups_beyond_the_payload_are_errors() {
    let began = Instant::now();
    let mut decoder = plain(ALL);
    for number in [2, 3, 4, 5, 7, 9, 10, 11, 99] {
        for length in [1, 0x7fff_ffff, 0xffff_ffff, 1 << 40, i64::MAX as u64, u64::MAX] {
            let tag = varint(u64::from(number << 3 | 2_u32));
            for before in [vec![], len(number, ""), int(1, 1)] {
                let error = failure(&mut decoder, &[before, tag.clone(), varint(length)]);
                assert!(error.contains("a length exceeds the message"), "{error}");
            }
        }
    }
    let open = |number: u32, count: usize| varint(u64::from(number << 3 | 3)).repeat(count);
    for count in [1, 99, 100, 101, 100_000] {
        let error = failure(&mut decoder, &[open(50, count)]);
        assert!(error.contains("within a group") || error.contains("nested too deep"), "{error}");
        assert!(failure(&mut decoder, &[open(12, count)]).contains("group"));
    }
    let nested = |count| [open(50, count), varint(50 << 3 | 4).repeat(count)].concat();
    assert!(row(&mut decoder, &[nested(100), int(1, 5)]).starts_with("(a=5 "));
    assert!(failure(&mut decoder, &[nested(101)]).contains("nested too deep"));
    for (bytes, expected) in [
        (vec![50 << 3 & 0x7f | 4], "a group ends that did not begin"),
        ([open(50, 1), varint(51 << 3 | 4)].concat(), "a group ends that did not begin"),
        ([open(12, 1), varint(11 << 3 | 4)].concat(), "a group ends that did not begin"),
        (vec![0], "invalid number"),
        (vec![6 | 1 << 3], "invalid wire type"),
        (vec![7 | 1 << 3], "invalid wire type"),
        (varint(1 << 33), "invalid number"),
        ([vec![8], vec![0xff; 10]].concat(), "more than ten bytes"),
        (vec![8, 0xff, 0xff], "within a number"),
        (vec![0xff; 50], "more than ten bytes"),
    ] {
        let error = failure(&mut decoder, &[bytes]);
        assert!(error.contains(expected), "{error}, not {expected}");
    }
    assert!(began.elapsed() < 4 * SOON, "{:?}", began.elapsed());
}

#[test]
fn random_bytes_never_panic_or_hang() {
    let began = Instant::now();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut registered = registered(ALL, &[(1, ALL)]);
    let mut plain = plain(ALL);
    for _ in 0..300 {
        let batch: Vec<_> = (0..20)
            .map(|_| {
                let length = usize::try_from(next() % 40).unwrap();
                // Small numbers reach deeper than random bytes.
                (0..length)
                    .map(|_| (next() % if next() % 3 == 0 { 256 } else { 110 }) as u8)
                    .collect::<Vec<u8>>()
            })
            .collect();
        decode(&mut plain, &batch.iter().cloned().map(Some).collect::<Vec<_>>());
        decode(&mut registered, &batch.iter().map(|row| Some(with_id(1, &[row]))).collect::<Vec<_>>());
    }
    assert!(began.elapsed() < 4 * SOON, "{:?}", began.elapsed());
}

#[test]
fn a_few_bytes_do_not_become_millions_of_cells() {
    let began = Instant::now();
    let wide: String = (1..2_000).map(|number| format!("int64 f{number} = {number};")).collect();
    let schema = proto3(&format!(
        "message M {{ repeated W w = 1; map<int32, W> m = 2; oneof o {{ W a = 3; int32 b = 4; }} int32 c = 5; }}
         message W {{ {wide} }}"
    ));
    let mut decoder = plain(&schema);
    let limit = "it has too many columns for its size";
    let bomb = len(1, "").repeat(10_000);
    let switches = [len(3, ""), int(4, 1)].concat().repeat(10_000);
    for bomb in [bomb, len(2, "").repeat(10_000), switches] {
        let batch = [Some(int(5, 1)), Some(bomb), Some(len(1, "").repeat(20)), Some(int(5, 2))];
        let decoded = decode(&mut decoder, &batch);
        let (row, reason) = crate::support::only_error(&decoded);
        assert_eq!((row, reason.split_once(": ").map_or(&*reason, |(_, reason)| reason)), (1, limit));
    }
    // Items with some content are fine.
    let item = len(1, (1..20).map(|number| int(number, 1 << 40)).collect::<Vec<_>>().concat());
    assert_eq!(decode(&mut decoder, &[Some(item.repeat(1_000))]).errors, []);
    assert!(began.elapsed() < 4 * SOON, "{:?}", began.elapsed());
}

#[test]
fn large_maps_and_lists_cost_linear_time() {
    let began = Instant::now();
    let mut decoder = plain(&proto3(
        "import \"google/protobuf/struct.proto\";
         message M { map<int32, int32> m = 1; google.protobuf.Struct s = 2; repeated int32 l = 3; string t = 4; }",
    ));
    let entries = (0..20_000).map(|key| len(1, [int(1, key % 10_000), int(2, key)].concat()));
    let structs =
        (0..5_000).map(|key: u64| len(2, len(1, [len(1, key.to_string()), len(2, int(4, 1))].concat())));
    let texts = (0..5_000).map(|_| len(4, "x".repeat(100)));
    let payload = entries.chain(structs).chain(texts).chain((0..20_000).map(|value| int(3, value)));
    let decoded = decode(&mut decoder, &[Some(payload.collect::<Vec<_>>().concat())]);
    assert_eq!(decoded.errors, []);
    let row = rows(&decoded).remove(0);
    assert!(row.contains("9999: 19999") && row.contains("4999"), "the last of equal keys");
    assert!(began.elapsed() < 4 * SOON, "{:?}", began.elapsed());
}

#[test]
fn schemas_without_columns_are_errors() {
    let began = Instant::now();
    let chain = |levels: usize| {
        let types = (0..levels).map(|level| format!("message M{level} {{ M{} m = 1; }}", level + 1));
        proto3(&format!("{} message M{levels} {{ int32 x = 1; }}", types.collect::<String>()))
    };
    let doubling = (0..30).map(|level| format!("message M{level} {{ M{0} a = 1; M{0} b = 2; }}", level + 1));
    let doubling = proto3(&format!("{} message M30 {{ int32 x = 1; }}", doubling.collect::<String>()));
    let nested = format!("{}{}", "message A { ".repeat(5_000), "}".repeat(5_000));
    for (schema, expected) in [
        ("message {".to_owned(), "not a valid Protobuf schema: schema.proto:1:"),
        (String::new(), "it has no message"),
        (proto3("message M { Unknown x = 1; }"), "schema.proto:2:13: name 'Unknown' is not defined"),
        (proto3("message M { int32 a = 1; int32 b = 1; }"), "schema.proto:2:36: field number"),
        (proto3("import \"google/protobuf/none.proto\"; message M { int32 a = 1; }"), "not found"),
        (proto3("import \"schema.proto\"; message M { int32 a = 1; }"), "cycle"),
        (proto3("message M { M m = 1; }"), "the message M is recursive, which Arrow has no type for"),
        (proto3("message M { map<int32, N> m = 1; } message N { repeated M m = 1; }"), "recursive"),
        (
            proto3(
                "import \"google/protobuf/descriptor.proto\"; message M { google.protobuf.DescriptorProto d = 1; }",
            ),
            "recursive",
        ),
        ("edition = \"2023\"; message M { int32 a = 1; }".to_owned(), "editions are not implemented"),
        (doubling, "more than 10000 types"),
        (chain(70), "nested more than 60 levels deep"),
        (chain(5_000), "nested more than 60 levels deep"),
        (nested, "cannot become Arrow columns: it is nested more than 40 levels deep"),
    ] {
        let error = try_plain(&schema).unwrap_err().to_string();
        assert!(error.contains(expected), "{schema:.100}: {error}, not {expected}");
    }
    assert!(try_plain(&chain(55)).is_ok());
    assert!(began.elapsed() < 4 * SOON, "{:?}", began.elapsed());
}

#[test]
fn references_are_bounded_in_number_and_may_be_shared() {
    let mut shared = proto(&proto3("message F0 { int32 x = 1; }"));
    for level in 1..40 {
        let text = proto3(&format!("import \"f{0}\"; message F{level} {{ F{0} f = 1; }}", level - 1));
        let name = format!("f{}", level - 1);
        // Two references to the same schema: a tree of a million million nodes, if each were visited.
        shared = with_imports(&text, &[(&name, &shared), (&name, &shared)]);
        shared.references[1].schema = shared.references[0].schema.clone();
    }
    assert!(ColumnDecoder::new(&shared, WireFormat::None, Header::Value).is_ok());
    let file = proto(&proto3("message X { int32 x = 1; }"));
    let names: Vec<_> = (0..300).map(|number| format!("f{number}")).collect();
    let imports: Vec<_> = names.iter().map(|name| (name.as_str(), &file)).collect();
    let many = with_imports(&proto3("message M { int32 a = 1; }"), &imports);
    let error = ColumnDecoder::new(&many, WireFormat::None, Header::Value).unwrap_err().to_string();
    assert!(error.contains("more than 200 references"), "{error}");
}
