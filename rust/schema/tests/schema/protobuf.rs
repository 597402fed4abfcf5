//! Proves: each type of Protobuf becomes its column, and each rule of the wire format holds.

use arrow_schema::DataType;

use crate::protobuf_support::*;
use crate::support::{decode, only_error};

#[test]
fn scalars_have_columns_that_hold_all_their_values() {
    let types = [
        "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32",
        "sfixed64", "float", "double", "bool", "string", "bytes",
    ];
    let fields = types.iter().zip(1..).map(|(ty, number)| format!("{ty} {ty}_ = {number};"));
    let mut decoder = plain(&proto3(&format!("message M {{ {} }}", fields.collect::<String>())));
    let DataType::Struct(fields) = decoder.data_type() else { panic!("a struct") };
    let types: Vec<_> = fields.iter().map(|field| field.data_type().clone()).collect();
    let decimal = DataType::Decimal128(20, 0);
    use DataType::{Binary, Boolean, Float32, Float64, Int32, Int64, Utf8};
    let mut expected = vec![Int32, Int64, Int64, decimal.clone(), Int32, Int64, Int64, decimal, Int32, Int64];
    expected.extend([Float32, Float64, Boolean, Utf8, Binary]);
    assert_eq!(types, expected);
    assert!(fields.iter().all(|field| !field.is_nullable() && field.metadata().is_empty()));
    // The bits of a varint beyond the type's are dropped.
    let smallest = [
        int(1, i64::from(i32::MIN)),
        int(2, i64::MIN),
        int(3, 0),
        int(4, 0),
        int(5, i64::from(u32::MAX) | 1 << 32),
        int(6, -1),
        fixed32(7, [0; 4]),
        fixed64(8, [0; 8]),
        fixed32(9, i32::MIN.to_le_bytes()),
        fixed64(10, i64::MIN.to_le_bytes()),
        fixed32(11, f32::MIN.to_le_bytes()),
        fixed64(12, f64::NEG_INFINITY.to_le_bytes()),
        int(13, 0),
        len(14, ""),
        len(15, ""),
    ];
    assert_eq!(
        row(&mut decoder, &smallest),
        "(int32_=-2147483648 int64_=-9223372036854775808 uint32_=0 uint64_=0 sint32_=-2147483648 \
         sint64_=-9223372036854775808 fixed32_=0 fixed64_=0 sfixed32_=-2147483648 \
         sfixed64_=-9223372036854775808 float_=-3.4028235e38 double_=-inf bool_=false string_=\"\" bytes_=[])"
    );
    let largest = [
        int(1, i64::from(i32::MAX)),
        int(2, i64::MAX),
        int(3, i64::from(u32::MAX)),
        int(4, -1),
        int(5, i64::from(u32::MAX - 1)),
        int(6, -2),
        fixed32(7, [0xff; 4]),
        fixed64(8, [0xff; 8]),
        fixed32(9, i32::MAX.to_le_bytes()),
        fixed64(10, i64::MAX.to_le_bytes()),
        fixed32(11, f32::MAX.to_le_bytes()),
        fixed64(12, f64::NAN.to_le_bytes()),
        int(13, 2),
        len(14, "häß"),
        len(15, [0xff, 0]),
    ];
    assert_eq!(
        row(&mut decoder, &largest),
        "(int32_=2147483647 int64_=9223372036854775807 uint32_=4294967295 uint64_=18446744073709551615 \
         sint32_=2147483647 sint64_=9223372036854775807 fixed32_=4294967295 \
         fixed64_=18446744073709551615 sfixed32_=2147483647 sfixed64_=9223372036854775807 \
         float_=3.4028235e38 double_=NaN bool_=true string_=\"häß\" bytes_=[255, 0])"
    );
    let unset = row(&mut decoder, &[]);
    assert!(unset.starts_with("(int32_=0 int64_=0 uint32_=0 "), "{unset}");
}

#[test]
fn presence_decides_between_null_and_the_default() {
    let mut decoder = plain(&proto3(
        "message M { int32 a = 1; optional int32 b = 2; I m = 3; oneof o { string c = 4; I d = 5; }
         repeated int32 list = 6; map<string, int32> map = 7; E e = 8; optional E f = 9; }
         message I { int32 x = 1; } enum E { ZERO = 0; ONE = 1; }",
    ));
    let unset = "(a=0 b=null m=null c=null d=null list=[] map={} e=\"ZERO\" f=null)";
    assert_eq!(row(&mut decoder, &[]), unset);
    let set = [int(1, 0), int(2, 0), len(3, ""), len(5, ""), int(9, 0)];
    let set_to_defaults = "(a=0 b=0 m=(x=0) c=null d=(x=0) list=[] map={} e=\"ZERO\" f=\"ZERO\")";
    assert_eq!(row(&mut decoder, &set), set_to_defaults);
    let DataType::Struct(fields) = decoder.data_type() else { panic!("a struct") };
    let nullable: Vec<_> = fields.iter().filter(|field| field.is_nullable()).map(|it| it.name()).collect();
    assert_eq!(nullable, ["b", "m", "c", "d", "f"]);

    let rows_of_both =
        decode(&mut decoder, &[Some(set.concat()), None, Some(vec![]), Some(set.concat()), Some(vec![])]);
    assert_eq!(rows(&rows_of_both), [set_to_defaults, "null", unset, set_to_defaults, unset]);
}

#[test]
fn proto2_has_presence_defaults_required_fields_and_groups() {
    let mut decoder = plain(
        "syntax = \"proto2\"; message M {
           required int32 id = 1;
           optional string text = 2 [default = \"x\"];
           optional group Detail = 3 { optional int32 x = 1; required I i = 2; }
           repeated group Item = 4 { optional string name = 1; }
           optional E e = 5 [default = B];
           map<string, E> map = 6;
           extensions 100 to 199;
         }
         message I { required bool ok = 1; }
         enum E { A = 5; B = 6; }
         extend M { optional int32 extra = 100; }",
    );
    assert_eq!(
        row(&mut decoder, &[int(1, 7), int(100, 1)]),
        "(id=7 text=null detail=null item=[] e=null map={})"
    );
    let detail = group(3, &[int(1, 4), len(2, int(1, 1))].concat());
    let items = [group(4, &len(1, "a")), group(4, &[]), group(4, &len(1, "b"))].concat();
    assert_eq!(
        row(&mut decoder, &[int(1, 7), detail, items, int(5, 6), len(6, len(1, "k"))]),
        "(id=7 text=null detail=(x=4 i=(ok=true)) item=[(name=\"a\"), (name=null), (name=\"b\")] e=\"B\" \
         map={\"k\": \"A\"})"
    );
    assert_eq!(failure(&mut decoder, &[len(2, "x")]), "field id: it is required, but missing");
    let incomplete = group(3, &len(2, ""));
    let error = "field detail.i.ok: it is required, but missing";
    assert_eq!(failure(&mut decoder, &[int(1, 7), incomplete.clone()]), error);
    // Its parts are merged before they are checked.
    let rest = group(3, &len(2, int(1, 0)));
    assert!(row(&mut decoder, &[int(1, 7), incomplete, rest]).contains("detail=(x=null i=(ok=false))"));
    let fields = decoder.data_type().to_string();
    assert!(fields.contains("\"id\": non-null Int32"), "{fields}");
}

#[test]
fn repeated_fields_are_packed_or_not_in_any_mixture() {
    let mut decoder = plain(&proto3(
        "message M { repeated sint32 a = 1; repeated double b = 2 [packed = false]; repeated string c = 3;
           repeated E d = 4; repeated uint64 e = 5; repeated bool f = 6; }
         enum E { A = 0; B = 1; }",
    ));
    let packed = [len(1, [2, 1, 4]), len(2, [1.5_f64.to_le_bytes(), 2.5_f64.to_le_bytes()].concat())];
    let mixed = [int(1, 5), packed.concat(), int(1, 6), fixed64(2, 0.5_f64.to_le_bytes())];
    let others = [len(3, "x"), len(4, [1, 0]), len(3, ""), int(4, 1), len(5, [7]), len(6, [0, 9])];
    assert_eq!(
        row(&mut decoder, &[mixed.concat(), others.concat(), len(1, "")]),
        "(a=[-3, 1, -1, 2, 3] b=[1.5, 2.5, 0.5] c=[\"x\", \"\"] d=[\"B\", \"A\", \"B\"] e=[7] f=[false, true])"
    );
    assert_eq!(failure(&mut decoder, &[len(2, [0; 9])]), "field b: it ends within a number");
    assert_eq!(failure(&mut decoder, &[len(1, [0, 0x80])]), "field a: it ends within a number");
}

#[test]
fn the_last_value_wins_and_messages_are_merged() {
    let mut decoder = plain(&proto3(
        "message M { int32 a = 1; string s = 2; I m = 3; oneof o { string c = 4; I d = 5; int64 e = 6; } }
         message I { int32 x = 1; string y = 2; repeated int32 z = 3; I2 deep = 4; } message I2 { int32 w = 1; }",
    ));
    let first = len(3, [int(1, 1), len(2, "long text"), int(3, 1), len(4, int(1, 8))].concat());
    let second = len(3, [len(2, "b"), int(3, 2), len(4, "")].concat());
    assert_eq!(
        row(&mut decoder, &[int(1, 1), len(2, "a longer text"), first, int(1, 2), len(2, "s"), second]),
        "(a=2 s=\"s\" m=(x=1 y=\"b\" z=[1, 2] deep=(w=8)) c=null d=null e=null)"
    );
    // A oneof holds its last field; a message that was replaced in between begins anew.
    let d = |x| len(5, [int(x, 1)].concat());
    let once = row(&mut decoder, &[len(4, "c"), d(1), int(6, 4)]);
    assert!(once.ends_with("c=null d=null e=4)"), "{once}");
    let merged = row(&mut decoder, &[d(1), d(3)]);
    assert!(merged.ends_with("d=(x=1 y=\"\" z=[1] deep=null) e=null)"), "{merged}");
    let anew = row(&mut decoder, &[d(1), d(3), len(4, "c"), d(3)]);
    assert!(anew.ends_with("c=null d=(x=0 y=\"\" z=[1] deep=null) e=null)"), "{anew}");
}

#[test]
fn maps_have_defaults_and_the_last_of_equal_keys() {
    let mut decoder = plain(&proto3(
        "message M { map<string, int32> a = 1; map<bool, I> b = 2; map<int32, E> c = 3;
           map<uint64, bytes> d = 4; map<int64, string> e = 5; }
         message I { int32 x = 1; optional int32 y = 2; } enum E { A = 0; B = 1; }",
    ));
    let a = |key: &str, value| len(1, [len(1, key), int(2, value)].concat());
    let parts = [
        a("k", 1),
        a("l", 2),
        a("k", 3),
        len(1, int(2, 4)),
        len(1, len(1, "only key")),
        len(2, ""),
        len(2, [int(1, 1), len(2, int(1, 5)), len(2, int(2, 6))].concat()),
        len(3, [int(1, -1), int(2, 1)].concat()),
        len(3, int(1, -1)),
        len(4, [int(1, -1), len(2, [1])].concat()),
        len(5, [int(1, 3), len(2, "x"), int(7, 7)].concat()),
    ];
    let expected = "(a={\"\": 4, \"k\": 3, \"l\": 2, \"only key\": 0} b={false: (x=0 y=null), \
         true: (x=5 y=6)} c={-1: \"A\"} d={18446744073709551615: [1]} e={3: \"x\"})";
    assert_eq!(row(&mut decoder, &parts), expected);
    // Offsets of the rows around duplicates stay right.
    let single = Some(a("k", 9));
    let decoded = decode(&mut decoder, &[single.clone(), Some(parts.concat()), Some(vec![]), single]);
    let texts = rows(&decoded);
    assert!(texts[0].starts_with("(a={\"k\": 9} ") && texts[3].starts_with("(a={\"k\": 9} "), "{texts:?}");
    assert_eq!((texts[1].as_str(), texts[2].as_str()), (expected, "(a={} b={} c={} d={} e={})"));
}

#[test]
fn enums_are_texts_and_unknown_numbers_are_decimal() {
    let mut decoder = plain(&proto3(
        "message M { repeated E e = 1; } enum E { option allow_alias = true;
           ZERO = 0; ONE = 1; UNO = 1; BIG = 2000000000; MINUS = -5; FAR = 1500; }",
    ));
    let numbers = [0, 1, 2_000_000_000, -5, 1_500, 2, -1, 1_501, i64::from(i32::MIN)];
    let parts: Vec<_> = numbers.iter().map(|number| int(1, *number)).collect();
    let expected = r#"(e=["ZERO", "ONE", "BIG", "MINUS", "FAR", "2", "-1", "1501", "-2147483648"])"#;
    assert_eq!(row(&mut decoder, &parts), expected);
}

#[test]
fn messages_without_fields_are_booleans() {
    let mut decoder = plain(&proto3(
        "import \"google/protobuf/empty.proto\";
         message M { oneof o { None a = 1; google.protobuf.Empty b = 2; } repeated None c = 3; }
         message None {}",
    ));
    assert_eq!(
        row(&mut decoder, &[len(1, ""), len(3, ""), len(3, int(9, 9))]),
        "(a=true b=null c=[true, true])"
    );
    assert_eq!(row(&mut decoder, &[len(2, "")]), "(a=null b=true c=[])");
    let error = try_plain(&proto3("message M {}")).unwrap_err().to_string();
    assert!(error.contains("the message M has no fields"), "{error}");
}

#[test]
fn unknown_fields_and_other_wire_types_are_skipped() {
    let mut decoder =
        plain(&proto3("message M { int32 a = 1; string b = 20000; I c = 3; } message I { int32 x = 1; }"));
    let unknown = [
        int(2, 1),
        len(19_999, "unknown"),
        fixed32(536_870_911, [1; 4]),
        fixed64(5, [1; 8]),
        group(6, &[int(1, 1), group(7, &group(8, &len(9, "x"))), fixed32(1, [0; 4])].concat()),
    ];
    let others = [len(1, "text"), int(20_000, 1), group(3, &int(1, 1)), fixed64(1, [0; 8])];
    let known = [int(1, 5), len(20_000, "b"), len(3, int(1, 6))];
    let parts = [known[0].clone(), unknown.concat(), others.concat(), known[1].clone(), known[2].clone()];
    assert_eq!(row(&mut decoder, &parts), "(a=5 b=\"b\" c=(x=6))");
    assert_eq!(row(&mut decoder, &[unknown.concat(), others.concat()]), "(a=0 b=\"\" c=null)");
}

#[test]
fn texts_that_are_not_utf8_are_errors_of_their_rows() {
    let mut decoder = plain(&proto3("message M { string a = 1; repeated string b = 2; int32 c = 3; }"));
    let good = |text: &str| Some([len(1, text), len(2, text), int(3, 4)].concat());
    let bad = Some([int(3, 7), len(1, "x"), len(2, "y"), len(2, [0xe4, 0xbd])].concat());
    // The two rows together are UTF-8.
    let (half, other_half) = (Some(len(1, [0xc3])), Some(len(1, [0xa4])));
    let rows_of_batch = [good("ä"), bad, good("b"), half, other_half, good("")];
    for _ in 0..2 {
        let decoded = decode(&mut decoder, &rows_of_batch);
        let errors: Vec<_> = decoded.errors.iter().map(|error| (error.row, error.to_string())).collect();
        let reason = |field: &str| format!("field {field}: a text is not UTF-8");
        assert_eq!(errors, [(1, reason("b")), (3, reason("a")), (4, reason("a"))]);
        let texts = rows(&decoded);
        assert_eq!(texts[0], "(a=\"ä\" b=[\"ä\"] c=4)");
        assert_eq!(
            (texts[2].as_str(), texts[5].as_str()),
            ("(a=\"b\" b=[\"b\"] c=4)", "(a=\"\" b=[\"\"] c=4)")
        );
    }
}

#[test]
fn a_row_that_fails_half_way_leaves_no_trace() {
    let mut decoder = plain(
        "syntax = \"proto2\"; import \"google/protobuf/struct.proto\";
         import \"google/protobuf/timestamp.proto\"; import \"google/protobuf/wrappers.proto\";
         message M { optional int32 a = 1; optional string b = 2; repeated I c = 3; map<string, I> d = 4;
           oneof o { I e = 5; int64 f = 6; } optional google.protobuf.Struct g = 7; optional bool h = 8;
           optional google.protobuf.Timestamp i = 9; optional google.protobuf.StringValue j = 10;
           repeated uint64 k = 11; optional I last = 12; }
         message I { optional int32 x = 1; repeated string y = 2; oneof p { int32 z = 3; int32 w = 4; } }",
    );
    let i = [int(1, 1), len(2, "y"), int(3, 2)].concat();
    let json = len(1, [len(1, "k"), len(2, int(4, 1))].concat());
    let full = [
        int(1, 1),
        len(2, "b"),
        len(3, &i),
        len(3, &i),
        len(4, [len(1, "k"), len(2, &i)].concat()),
        len(5, &i),
        len(7, json),
        int(8, 1),
        len(9, int(1, 1)),
        len(10, len(1, "w")),
        len(11, [1, 2]),
        len(12, &i),
    ];
    let good = full.concat();
    let expected = row(&mut decoder, &full);
    let unset = row(&mut decoder, &[]);
    for end in 0..good.len() {
        let bad = [&good[..end], &[0xff; 100]].concat();
        let batch = [Some(good.clone()), Some(bad.clone()), Some(vec![]), Some(bad), Some(good.clone())];
        let decoded = decode(&mut decoder, &batch);
        assert_eq!(decoded.errors.len(), 2, "cut at {end}");
        assert_eq!(rows(&decoded), [&expected, "null", &unset, "null", &expected], "cut at {end}");
    }
}

#[test]
fn errors_name_their_field() {
    let mut decoder =
        plain(&proto3("message M { I i = 1; } message I { repeated J j = 1; } message J { string k = 1; }"));
    let decoded = decode(&mut decoder, &[None, Some(len(1, len(1, [0x0a, 5])))]);
    assert_eq!(only_error(&decoded), (1, "field i.j.k: a length exceeds the message".to_owned()));
}
