//! Proves: the nesting of every schema and payload is bounded before anything recurses over it, on a stack of 512 KiB.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ottla_schema::{ColumnDecoder, Header, RegisteredSchema, SchemaType, WireFormat};
use prost_reflect::prost::Message;
use prost_reflect::prost_types::uninterpreted_option::NamePart;
use prost_reflect::prost_types::{DescriptorProto, FileDescriptorProto, MessageOptions, UninterpretedOption};

use crate::protobuf_support::*;
use crate::support::*;

fn open(schema: &RegisteredSchema) -> Result<ColumnDecoder, String> {
    ColumnDecoder::new(schema, WireFormat::None, Header::Value).map_err(|error| error.to_string())
}

/// A schema with an option whose value is nested so deep.
fn with_option(depth: usize, open: &str, close: &str) -> String {
    let value = [open.repeat(depth), close.repeat(depth)].concat();
    proto3(&format!(
        "import \"google/protobuf/descriptor.proto\";
         message A {{ option (my) = {{ {value} }}; int32 a = 1; }}
         message O {{ optional O o = 1; repeated O l = 2; }}
         extend google.protobuf.MessageOptions {{ optional O my = 50000; }}"
    ))
}

#[test]
fn options_of_protobuf_are_nested_so_deep_at_most() {
    on_small_stack(|| {
        for (start, end) in [("o {", "}"), ("o <", ">"), ("o: {", "}"), ("l: [{", "}]"), ("l: [<", ">]")] {
            for depth in [0, 1, 8, 17] {
                let compiled = open(&proto(&with_option(depth, start, end)));
                assert!(compiled.is_ok(), "{start} {depth}: {compiled:?}");
            }
            for depth in [40, 400, 4_000, 100_000] {
                let error = open(&proto(&with_option(depth, start, end))).unwrap_err();
                assert!(error.contains("nested more than 40 levels deep"), "{start} {depth}: {error}");
            }
        }
        let deepest = with_option(38, "o {", "}");
        assert!(open(&proto(&deepest)).is_ok());
        // Never closed, and in an imported file.
        assert!(open(&proto(&with_option(100_000, "o {", ""))).is_err());
        let import = proto(&with_option(4_000, "o {", "}"));
        let importing =
            with_imports(&proto3("import \"a.proto\"; message M { int32 a = 1; }"), &[("a.proto", &import)]);
        assert!(open(&importing).unwrap_err().contains("nested more than 40 levels deep"));
    });
}

#[test]
fn brackets_in_texts_and_comments_do_not_nest() {
    let many = "{[<(".repeat(100);
    let schema = format!(
        "// {many}\n/* {many} \" */ syntax = \"proto3\"; /**/ import 'google/protobuf/descriptor.proto';
         extend google.protobuf.MessageOptions {{ optional string note = 50000; }}
         message M {{ option (note) = \"\\\"{many}\" '{many}\\'\"'; int32 a = 1; // it's {many}
         }}"
    );
    let compiled = open(&proto(&schema));
    assert!(compiled.is_ok(), "{compiled:?}");
}

#[test]
fn messages_of_protobuf_are_nested_so_deep_at_most() {
    on_small_stack(|| {
        let nested = |start: &str, depth: usize, end: &str| {
            format!("syntax = \"proto2\"; message M {{ {} {} }}", start.repeat(depth), end.repeat(depth))
        };
        let group = "optional group G = 1 { optional int32 a = 2; ";
        for (start, end) in
            [("message A { optional int32 a = 2; ", "}"), (group, "}"), ("oneof o { group G = 1 { ", "}}")]
        {
            let text =
                nested(start, 15, end).replacen("message M {", "message M { optional int32 z = 99;", 1);
            assert!(open(&proto(&text)).is_ok(), "{start}: {:?}", open(&proto(&text)));
            for depth in [40, 5_000, 100_000] {
                assert!(open(&proto(&nested(start, depth, end))).is_err(), "{start} {depth}");
            }
        }
    });
}

/// A message nested so deep, whose option is text.
fn descriptor(depth: usize, aggregate: &str) -> FileDescriptorProto {
    let name = NamePart { name_part: "my".to_owned(), is_extension: true };
    let option = UninterpretedOption {
        name: vec![name],
        aggregate_value: Some(aggregate.to_owned()),
        ..UninterpretedOption::default()
    };
    let options = MessageOptions { uninterpreted_option: vec![option], ..MessageOptions::default() };
    let field = open(&proto(&proto3("message M { int32 a = 1; }")));
    assert!(field.is_ok());
    let mut message = DescriptorProto { name: Some("A".to_owned()), ..DescriptorProto::default() };
    for _ in 1..depth {
        message = DescriptorProto {
            name: Some("A".to_owned()),
            nested_type: vec![message],
            ..DescriptorProto::default()
        };
    }
    message.options = Some(options);
    message.field = vec![prost_reflect::prost_types::FieldDescriptorProto {
        name: Some("a".to_owned()),
        number: Some(1),
        label: Some(1),
        r#type: Some(5),
        ..Default::default()
    }];
    FileDescriptorProto {
        name: Some("a.proto".to_owned()),
        message_type: vec![message],
        syntax: Some("proto3".to_owned()),
        ..FileDescriptorProto::default()
    }
}

#[test]
fn descriptors_are_nested_so_deep_at_most() {
    on_small_stack(|| {
        let text = |file: &FileDescriptorProto| proto(&STANDARD.encode(file.encode_to_vec()));
        // An option that is still text is not parsed.
        for aggregate in ["", "o {", &"o {".repeat(100_000)] {
            assert!(open(&text(&descriptor(1, aggregate))).is_ok());
        }
        assert!(open(&text(&descriptor(40, ""))).is_ok());
        let error = open(&text(&descriptor(41, ""))).unwrap_err();
        assert!(error.contains("nested more than 40 levels deep"), "{error}");
        assert!(open(&text(&descriptor(90, ""))).is_err());
    });
    // A deeper one cannot be built with the structs: its bytes.
    on_small_stack(|| {
        let mut message = Vec::new();
        for _ in 0..10_000 {
            message = len(3, message);
        }
        let file = [len(1, "a.proto"), len(4, message)].concat();
        assert!(open(&proto(&STANDARD.encode(&file))).is_err());
        assert!(RegisteredSchema::of_descriptor_files([&file[..]], None).is_err());
        assert!(RegisteredSchema::of_descriptor_set(&len(1, file), None).is_err());
    });
}

#[test]
fn json_schemas_are_nested_so_deep_at_most() {
    on_small_stack(|| {
        let json = |text: &str| open(&RegisteredSchema::new(SchemaType::Json, text));
        for (start, inner, end) in [
            (r#"{"properties": {"a": "#, r#"{"type": "integer"}"#, "}}"),
            (r#"{"items": "#, r#"{"type": "integer"}"#, "}"),
            (r#"{"additionalProperties": "#, r#"{"type": "integer"}"#, "}"),
            (r#"{"allOf": ["#, r#"{"type": "integer"}"#, "]}"),
            (r#"{"anyOf": [{"type": "null"}, "#, r#"{"type": "integer"}"#, "]}"),
            (r#"{"oneOf": [{"items": {"type": "string"}}, "#, r#"{"items": {"type": "integer"}}"#, "]}"),
            (r#"{"default": "#, "1", "}"),
            ("[", "", "]"),
        ] {
            for depth in [1, 20, 29, 40, 49, 59, 99, 127, 5_000, 100_000] {
                let text = format!("{}{inner}{}", start.repeat(depth), end.repeat(depth));
                let compiled = json(&text);
                assert!(depth < 5_000 || compiled.is_err(), "{text:.80}");
                if let Ok(mut decoder) = compiled {
                    decode_texts(
                        &mut decoder,
                        &["{}", "[]", "1", &"[".repeat(100_000), &r#"{"a":"#.repeat(100_000)],
                    );
                }
            }
        }
        let chain = |levels: usize| {
            let defs = (0..levels)
                .map(|at| format!("\"d{at}\": {{\"anyOf\": [{{\"$ref\": \"#/$defs/d{}\"}}]}},", at + 1));
            let defs: String = defs.collect();
            format!(
                "{{\"$ref\": \"#/$defs/d0\", \"$defs\": {{{defs} \"d{levels}\": {{\"type\": \"integer\"}}}}}}"
            )
        };
        assert!(json(&chain(40)).is_ok());
        assert!(json(&chain(2_000)).is_err());
    });
}

#[test]
fn avro_schemas_are_nested_so_deep_at_most() {
    on_small_stack(|| {
        for (start, end) in [
            (r#"{"type": "array", "items": "#, "}"),
            (r#"{"type": "map", "values": "#, "}"),
            (r#"{"type": "#, "}"),
            (r#"["null", "#, "]"),
            (r#"["null", {"type": "array", "items": "#, "}]"),
            (r#"{"type": "record", "name": "R", "fields": [{"name": "a", "type": "#, "}]}"),
            (r#"{"type": "int", "default": "#, "}"),
        ] {
            for depth in [1, 20, 29, 39, 59, 60, 127, 5_000, 100_000] {
                let mut text = start.repeat(depth);
                for at in 0..depth.min(200) {
                    text = text.replacen("\"R\"", &format!("\"R{at}\""), 1);
                }
                let text = format!("{text}\"int\"{}", end.repeat(depth));
                let compiled = open(&avro(&text));
                assert!(depth < 5_000 || compiled.is_err(), "{text:.80}");
                if let Ok(mut decoder) = compiled {
                    let rows: Vec<_> = [0_u8, 1, 2, 0xff].iter().map(|byte| Some(vec![*byte; 200])).collect();
                    decode(&mut decoder, &rows);
                }
            }
        }
    });
}

#[test]
fn payloads_are_nested_so_deep_at_most() {
    on_small_stack(|| {
        let schema =
            proto3("import \"google/protobuf/struct.proto\"; message M { google.protobuf.Value v = 1; }");
        let mut decoder = plain(&schema);
        let list = |depth: usize| {
            let mut value = int(1, 0);
            for _ in 0..depth {
                value = len(6, len(1, value));
            }
            len(1, value)
        };
        assert_eq!(decode(&mut decoder, &[Some(list(49))]).errors, []);
        for depth in [51, 1_000, 10_000] {
            assert!(failure(&mut decoder, &[list(depth)]).contains("nested too deep"));
        }
    });
}
