//! Proves: data of older and newer writers' schemas are read by the reader's message, also within one column,
//! and the message indexes say which message a payload is.

use std::sync::Arc;

use arrow_array::{BinaryArray, ListArray, StringArray, StructArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};
use ottla_schema::{ColumnDecoder, Header, SchemaId, WireFormat};

use crate::protobuf_support::*;
use crate::support::{decode, long, only_error, with_id};

/// A payload of the first message.
fn first(id: u32, parts: &[Vec<u8>]) -> Vec<u8> {
    with_id(id, &[&[0], &parts.concat()])
}

#[test]
fn fields_are_added_removed_renumbered_and_promoted() {
    let old = proto3("message M { int32 a = 1; string gone = 2; string moved = 3; int32 list = 4; }");
    let new = proto3(
        "message M { string moved = 13; optional string added = 5; int64 a = 1; repeated int32 list = 4; }",
    );
    let mut decoder = registered(&new, &[(1, &old), (2, &new)]);
    let older = first(1, &[int(1, -1), len(2, "x"), len(3, "y"), int(4, 7)]);
    let newer = first(2, &[int(1, i64::MAX), len(13, "m"), len(5, "new"), len(4, [1, 2])]);
    let decoded = decode(&mut decoder, &[Some(older.clone()), Some(newer), None, Some(older)]);
    assert_eq!(decoded.errors, []);
    let old_row = "(moved=\"\" added=null a=-1 list=[7])";
    let new_row = "(moved=\"m\" added=\"new\" a=9223372036854775807 list=[1, 2])";
    assert_eq!(rows(&decoded), [old_row, new_row, "null", old_row]);
    // A reader with one value takes the last one of a list; enums and numbers are the same on the wire.
    let mut back = registered(&old, &[(2, &new)]);
    let repeated = first(2, &[int(4, 1), int(4, 2), int(1, 1 << 33)]);
    assert_eq!(row(&mut back, &[repeated]), "(a=0 gone=\"\" moved=\"\" list=2)");
}

#[test]
fn the_writers_message_must_be_the_readers() {
    let both = proto3("package p; message A { int32 a = 1; } message B { int32 b = 1; }");
    let swapped = proto3("package p; message B { int32 b = 1; } message A { int32 a = 1; }");
    let other = proto3("package q; message A { int32 a = 1; }");
    let mut decoder = registered(&both, &[(1, &both), (2, &swapped), (3, &other), (4, "message {")]);
    let index = |id, indexes: &[i64], value| {
        let indexes: Vec<u8> = indexes.iter().flat_map(|index| long(*index)).collect();
        Some(with_id(id, &[&indexes, &int(1, value)]))
    };
    let batch = [
        index(1, &[0], 1),
        index(1, &[1, 0], 2),
        index(1, &[1, 1], 3),
        index(2, &[0], 4),
        index(2, &[1, 1], 5),
        index(3, &[0], 6),
        index(4, &[0], 7),
        index(1, &[1, 2], 8),
        index(1, &[2, 0, 0], 9),
        index(1, &[-1], 10),
        index(1, &[i64::MAX, 1], 11),
        index(1, &[1, -1], 12),
        Some(with_id(1, &[])),
        Some(with_id(1, &[&[2]])),
        Some(with_id(1, &[&[0x80]])),
    ];
    let decoded = decode(&mut decoder, &batch);
    let good: Vec<_> = rows(&decoded).into_iter().filter(|row| row != "null").collect();
    assert_eq!(good, ["(a=1)", "(a=2)", "(a=5)"]);
    let reasons: Vec<_> = decoded.errors.iter().map(|error| (error.row, error.to_string())).collect();
    let not_a = |id| format!("schema {id}: the message is p.B, but the reader's is p.A");
    assert_eq!(reasons[0], (2, not_a(1)));
    assert_eq!(reasons[1], (3, not_a(2)));
    assert_eq!(reasons[2], (5, "schema 3: the message is q.A, but the reader's is p.A".to_owned()));
    assert!(
        reasons[3].1.starts_with("schema 4: not a valid Protobuf schema: schema.proto:1:"),
        "{reasons:?}"
    );
    assert_eq!(reasons[4].1, "schema 1: the schema has no message with the indexes [2]");
    assert_eq!(reasons.len(), 12);
    assert!(reasons[6..].iter().all(|(_, reason)| reason.contains("indexes")), "{reasons:#?}");
}

#[test]
fn nested_messages_are_selected_by_their_full_name() {
    let schema = proto3(
        "package p; message A { map<string, string> tags = 1; message B { message C { int32 x = 1; } }
         message D { int32 y = 1; } }",
    );
    let reader = proto(&schema);
    let select = |name: &str| {
        let new = of_message(&reader, name, WireFormat::Confluent);
        new.map(|mut decoder| {
            decoder.add(SchemaId::Id(1), &reader);
            decoder
        })
    };
    let payload = |indexes: &[i64], number| {
        let indexes: Vec<u8> = indexes.iter().flat_map(|index| long(*index)).collect();
        with_id(1, &[&indexes, &int(number, 5)])
    };
    assert_eq!(row(&mut select("p.A.B.C").unwrap(), &[payload(&[3, 0, 0, 0], 1)]), "(x=5)");
    // Java counts D as 1, other serializers as 2, after the entries of the map.
    let mut d = select("p.A.D").unwrap();
    assert_eq!(row(&mut d, &[payload(&[2, 0, 1], 1)]), "(y=5)");
    assert_eq!(row(&mut d, &[payload(&[2, 0, 2], 1)]), "(y=5)");
    assert!(failure(&mut d, &[payload(&[2, 0, 0], 1)]).contains("the message is p.A.B, "));
    for name in ["A", "p.A.TagsEntry", ""] {
        let error = select(name).unwrap_err().to_string();
        assert!(error.contains("its first ones are p.A"), "{error}");
    }
    let avro = crate::support::avro("\"int\"");
    assert!(of_message(&avro, "A", WireFormat::None).is_err());
}

#[test]
fn without_ids_there_are_no_indexes() {
    let schema = proto3("message A { int32 a = 1; } message B { string b = 1; }");
    assert_eq!(row(&mut plain(&schema), &[int(1, 3)]), "(a=3)");
    let new = of_message(&proto(&schema), "B", WireFormat::None);
    assert_eq!(row(&mut new.unwrap(), &[len(1, "x")]), "(b=\"x\")");
}

#[test]
fn indexes_are_in_the_header_with_the_id() {
    let schema = proto3("message A { int32 a = 1; } message B { int32 b = 1; }");
    let reader = proto(&schema);
    let new = of_message(&reader, "B", WireFormat::Confluent);
    let mut decoder = new.unwrap();
    let guid = *b"0123456789abcdef";
    let header = |indexes: &[u8]| [&[1][..], &guid, indexes].concat();
    let headers = [header(&[2, 2]), header(&[0]), header(&[2, 2, 0]), header(&[])];
    let entries = StructArray::from(vec![
        (
            Arc::new(Field::new("key", DataType::Utf8, true)),
            Arc::new(StringArray::from(vec!["__value_schema_id"; 4])) as _,
        ),
        (
            Arc::new(Field::new("value", DataType::Binary, true)),
            Arc::new(BinaryArray::from_iter_values(&headers)) as _,
        ),
    ]);
    use arrow_array::Array;
    let field = Arc::new(Field::new("item", entries.data_type().clone(), true));
    let headers =
        ListArray::new(field, OffsetBuffer::new(vec![0, 1, 2, 3, 4].into()), Arc::new(entries), None);
    let column = BinaryArray::from_iter_values([int(1, 7), int(1, 8), int(1, 9), int(1, 10)]);
    assert_eq!(decoder.missing(&column, Some(&headers)), [SchemaId::Guid(guid)]);
    decoder.add(SchemaId::Guid(guid), &reader);
    let decoded = decoder.decode(&column, Some(&headers)).unwrap();
    assert_eq!(rows(&decoded), ["(b=7)", "null", "null", "null"]);
    let reasons: Vec<_> = decoded.errors.iter().map(|error| error.reason.as_str()).collect();
    assert_eq!(
        reasons,
        [
            "the message is A, but the reader's is B",
            "bytes are left after the message indexes in the header",
            "the message indexes are malformed",
        ]
    );
}

#[test]
fn imports_are_references_googles_files_or_confluents() {
    let zip = proto(&proto3("package a; message Zip { string code = 1; }"));
    let address = with_imports(
        &proto3("package a; import public \"zip.proto\"; message Address { Zip zip = 1; }"),
        &[("zip.proto", &zip)],
    );
    let person = with_imports(
        &proto3(
            "package p; import \"a/address.proto\"; import \"confluent/meta.proto\";
             import \"confluent/type/decimal.proto\"; import \"confluent/type/variant.proto\";
             message Person { a.Address home = 1 [(confluent.field_meta) = { doc: \"where\", tags: [\"PII\"],
                 rules: [{ name: \"r\", expr: \"this.zip != null\" }] }];
               a.Zip zip = 2; confluent.type.Decimal pay = 3; confluent.type.Variant any = 4; }",
        ),
        &[("a/address.proto", &address)],
    );
    let mut decoder = ColumnDecoder::new(&person, WireFormat::Confluent, Header::Value).unwrap();
    decoder.add(SchemaId::Id(1), &person);
    let home = len(1, len(1, len(1, "8000")));
    let text = row(&mut decoder, &[first(1, &[home, len(3, int(3, 2))])]);
    assert_eq!(text, "(home=(zip=(code=\"8000\")) zip=null pay=(value=[] precision=0 scale=2) any=null)");
    // The message of an imported file can be read, too.
    let zips = of_message(&person, "a.Zip", WireFormat::None);
    assert_eq!(row(&mut zips.unwrap(), &[len(1, "9")]), "(code=\"9\")");
    let alone = proto(&person.text);
    let error = ColumnDecoder::new(&alone, WireFormat::None, Header::Value).unwrap_err().to_string();
    assert!(error.contains("import 'a/address.proto' not found"), "{error}");
}

#[test]
fn a_schema_of_another_type_is_an_error_of_its_rows() {
    let mut decoder = registered(&proto3("message M { int32 a = 1; }"), &[]);
    decoder.add(SchemaId::Id(1), &crate::support::avro("\"int\""));
    let decoded = decode(&mut decoder, &[Some(first(1, &[int(1, 1)]))]);
    assert!(only_error(&decoded).1.contains("of type AVRO"));
}
