//! Proves: Apicurio's `Ref` and AWS Glue's number say which message a payload is, also one that is nested; and
//! schemas may be descriptors, as the serializers of Python register them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ottla_schema::{
    ColumnDecoder, DecodedColumn, EncodedRows, Header, RegisteredSchema, SchemaId, SchemaReference,
    SchemaType, WireFormat,
};
use prost_reflect::prost::Message;
use prost_reflect::prost_types::{FileDescriptorProto, FileDescriptorSet};
use protox::Compiler;
use protox::file::{File, FileResolver};

use crate::protobuf_support::*;
use crate::support::decode;

/// The example of AWS: B is 0, B.A is 1, B.A.D is 2, and B.C is 3; here with A, and the entries of a map.
const SCHEMA: &str = "package p;
    message B { message C { int32 x = 1; } message A { message D { int32 x = 1; } map<string, string> m = 2; int32 x = 1; }
      int32 x = 1; }
    message A { int32 x = 1; message E { int32 x = 1; } }
    message F { int32 x = 1; message E { int32 x = 1; } }";

fn decoded(message: &str, wire_format: WireFormat, id: &SchemaId, prefixes: &[Vec<u8>]) -> DecodedColumn {
    let schema = proto(&proto3(SCHEMA));
    let mut decoder = of_message(&schema, message, wire_format).unwrap();
    decoder.add(*id, &schema);
    let header = match id {
        SchemaId::Id64(id) => [&[0][..], &id.to_be_bytes()].concat(),
        SchemaId::Guid(guid) => [&[3, 0][..], guid].concat(),
        SchemaId::Id(_) | SchemaId::ContentId(_) | SchemaId::GlobalId(_) => panic!("{id}"),
    };
    let rows = prefixes.iter().map(|prefix| Some([&header[..], prefix, &int(1, 5)].concat()));
    decode(&mut decoder, &rows.collect::<Vec<_>>())
}

fn reasons(decoded: &DecodedColumn) -> Vec<&str> {
    decoded.errors.iter().map(|error| error.reason.as_str()).collect()
}

#[test]
fn apicurios_ref_names_the_message() {
    let named = |name: &str| {
        let message = len(1, name);
        [varint(message.len() as u64), message].concat()
    };
    let id = SchemaId::Id64(1 << 30);
    let apicurio =
        |message: &str, prefixes: &[Vec<u8>]| decoded(message, WireFormat::Apicurio, &id, prefixes);
    let a = apicurio("p.A", &[named("A"), named("B"), named("p.A"), named("X"), named(""), vec![], vec![0]]);
    assert_eq!(rows(&a)[..3], ["(x=5)", "null", "(x=5)"]);
    let malformed = "the name of the message (Apicurio's Ref) is malformed";
    assert_eq!(
        reasons(&a),
        [
            "the message is p.B, but the reader's is p.A",
            "the schema has no message \"X\"",
            malformed,
            malformed,
            malformed,
        ]
    );
    // A nested message has its simple name, if no other one has it.
    assert_eq!(apicurio("p.B.A.D", &[named("D")]).errors, []);
    assert_eq!(apicurio("p.B.A", &[named("p.B.A")]).errors, []);
    assert_eq!(reasons(&apicurio("p.B.A", &[named("A")])), ["the message is p.A, but the reader's is p.B.A"]);
    assert_eq!(reasons(&apicurio("p.A.E", &[named("E")])), ["the schema has several messages \"E\""]);
    // Fields of a later version are skipped.
    let later = [len(1, "A"), int(9, 1)].concat();
    let later = [varint(later.len() as u64), later].concat();
    assert_eq!(apicurio("p.A", &[later]).errors, []);
}

#[test]
fn apicurios_header_names_the_message_with_or_without_a_ref() {
    let schema = proto(&proto3(SCHEMA));
    let message = len(1, "A");
    let with_ref = [varint(message.len() as u64), message, int(1, 5)].concat();
    let rows: [(&[u8], &[u8]); 4] =
        [(b"A", &with_ref), (b"A", &int(1, 5)), (b"B", &int(1, 5)), (b"\xff", &[])];
    let mut decoder = of_message(&schema, "p.A", WireFormat::Apicurio).unwrap();
    decoder.add(SchemaId::ContentId(7), &schema);
    let decoded = decoder.decode_rows(&NamedRows(&rows)).unwrap();
    assert_eq!(crate::protobuf_support::rows(&decoded)[..2], ["(x=5)", "(x=5)"]);
    let expected =
        ["the message is p.B, but the reader's is p.A", "the name of the message in its header is not UTF-8"];
    assert_eq!(reasons(&decoded), expected);
}

/// Values with the name of their message in a header, as the id.
struct NamedRows<'a>(&'a [(&'a [u8], &'a [u8])]);

impl EncodedRows for NamedRows<'_> {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn bytes(&self, row: usize) -> Option<&[u8]> {
        Some(self.0[row].1)
    }

    fn header(&self, row: usize, name: &str) -> Option<&[u8]> {
        match name {
            "apicurio.value.contentId" => Some(&[0, 0, 0, 0, 0, 0, 0, 7]),
            "apicurio.protobuf.type" => Some(self.0[row].0),
            _ => None,
        }
    }
}

#[test]
fn glues_number_counts_all_messages_by_their_names() {
    let id = SchemaId::Guid(*b"0123456789abcdef");
    let names = ["p.A", "p.A.E", "p.B", "p.B.A", "p.B.A.D", "", "p.B.C", "p.F", "p.F.E"];
    for (number, name) in names.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
        let prefixes: Vec<_> = (0..11).map(varint).collect();
        let decoded = decoded(name, WireFormat::Glue, &id, &prefixes);
        let good: Vec<_> = rows(&decoded).iter().map(|row| row.ends_with("x=5)")).collect();
        assert_eq!(good.iter().position(|good| *good), Some(number), "{name}");
        assert_eq!(decoded.errors.len(), 10);
        assert_eq!(decoded.errors.last().unwrap().reason, "the schema has no message with the number 10");
    }
    let cut = decoded("p.A", WireFormat::Glue, &id, &[vec![0x80; 11], varint(5)]);
    assert_eq!(
        reasons(&cut),
        ["the number of the message is malformed", "the message is p.B.A.MEntry, but the reader's is p.A",]
    );
}

struct Texts;

impl FileResolver for Texts {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        let part = "syntax = \"proto3\"; package a; message Part { int32 x = 1; }";
        let whole = "syntax = \"proto3\"; package w; import \"a/part.proto\";
            import \"google/protobuf/timestamp.proto\";
            message Whole { a.Part part = 1; google.protobuf.Timestamp at = 2; optional int32 y = 3; }";
        match name {
            "a/part.proto" => File::from_source(name, part),
            "whole.proto" => File::from_source(name, whole),
            _ => protox::file::GoogleFileResolver::new().open_file(name),
        }
    }
}

/// The files that protoc would write.
fn files() -> FileDescriptorSet {
    let mut compiler = Compiler::with_file_resolver(Texts);
    compiler.include_imports(true).open_file("whole.proto").unwrap();
    compiler.file_descriptor_set()
}

fn payload() -> Vec<Vec<u8>> {
    vec![len(1, int(1, 5)), len(2, int(1, 1))]
}

const ROW: &str = "(part=(x=5) at=1000000us y=null)";

#[test]
fn a_descriptor_set_is_a_schema() {
    let set = files();
    let bytes = set.encode_to_vec();
    for message in [None, Some("w.Whole")] {
        let schema = RegisteredSchema::of_descriptor_set(&bytes, message).unwrap();
        let mut decoder = ColumnDecoder::new(&schema, WireFormat::None, Header::Value).unwrap();
        assert_eq!(row(&mut decoder, &payload()), ROW);
    }
    let part = RegisteredSchema::of_descriptor_set(&bytes, Some("a.Part")).unwrap();
    let mut decoder = ColumnDecoder::new(&part, WireFormat::None, Header::Value).unwrap();
    assert_eq!(row(&mut decoder, &[int(1, 9)]), "(x=9)");
    let failure = |files: Vec<FileDescriptorProto>, message| {
        let bytes = FileDescriptorSet { file: files }.encode_to_vec();
        RegisteredSchema::of_descriptor_set(&bytes, message).unwrap_err().to_string()
    };
    let of = |name: &str| set.file.iter().find(|file| file.name() == name).unwrap().clone();
    let two = vec![of("a/part.proto"), of("google/protobuf/timestamp.proto")];
    let error = failure(two, None);
    assert!(error.contains("several files: a/part.proto, google/protobuf/timestamp.proto"), "{error}");
    assert!(failure(vec![of("whole.proto")], None).contains("the file a/part.proto is missing"));
    assert!(failure(vec![of("whole.proto")], Some("w.Whole.X")).contains("its first ones are w.Whole"));
    assert!(failure(Vec::new(), None).contains("there are none"));
    let mut circle = vec![of("a/part.proto"), of("whole.proto")];
    circle[0].dependency.push("whole.proto".to_owned());
    assert!(failure(circle.clone(), None).contains("import each other"));
    assert!(failure(circle, Some("w.Whole")).contains("imports a/part.proto, which imports it"));
    let mut unknown = of("a/part.proto");
    unknown.syntax = Some("proto9".to_owned());
    let schema = RegisteredSchema::of_descriptor_files([&unknown.encode_to_vec()[..]], None).unwrap();
    let error = ColumnDecoder::new(&schema, WireFormat::None, Header::Value).unwrap_err().to_string();
    assert!(error.contains("the syntax \"proto9\" is unknown"), "{error}");
}

/// As Confluent's serializers of Python register schemas, in a registry that keeps them so.
#[test]
fn the_text_of_a_schema_may_be_a_descriptor() {
    let set = files();
    let registered = |name: &str| {
        let file = set.file.iter().find(|file| file.name() == name).unwrap();
        RegisteredSchema::new(SchemaType::Protobuf, STANDARD.encode(file.encode_to_vec()))
    };
    let mut writer = registered("whole.proto");
    let (name, schema) = ("a/part.proto".into(), registered("a/part.proto").into());
    writer.references.push(SchemaReference { name, schema });
    // The reader's is a text, which the descriptor may refer to, too.
    let reader = proto3(
        "package w; import \"google/protobuf/timestamp.proto\";
         message Whole { optional google.protobuf.Timestamp at = 2; Part part = 1; message Part { int64 x = 1; } }",
    );
    let mut decoder = ColumnDecoder::new(&proto(&reader), WireFormat::Confluent, Header::Value).unwrap();
    decoder.add(SchemaId::Id(1), &writer);
    let framed = crate::support::with_id(1, &[&[0], &payload().concat()]);
    assert_eq!(row(&mut decoder, &[framed]), "(at=1000000us part=(x=5))");
    let text = proto("syntax = \"proto3\"; package a; message Part { int32 x = 1; }");
    writer.references[0].schema = text.into();
    let mut decoder = ColumnDecoder::new(&writer, WireFormat::None, Header::Value).unwrap();
    assert_eq!(row(&mut decoder, &payload()), ROW);
}
