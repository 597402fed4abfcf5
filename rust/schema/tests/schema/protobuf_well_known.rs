//! Proves: Google's well-known messages have columns of their own.

use arrow_schema::{DataType, TimeUnit};

use crate::protobuf_support::*;

const ALL: &str = "
    import \"google/protobuf/any.proto\"; import \"google/protobuf/duration.proto\";
    import \"google/protobuf/field_mask.proto\"; import \"google/protobuf/struct.proto\";
    import \"google/protobuf/timestamp.proto\"; import \"google/protobuf/wrappers.proto\";";

fn field(declaration: &str) -> String {
    proto3(&format!("{ALL} message M {{ {declaration} = 1; }}"))
}

#[test]
fn timestamps_and_durations_are_microseconds() {
    let mut timestamps = plain(&field("repeated google.protobuf.Timestamp t"));
    let time = |seconds, nanos| len(1, [int(1, seconds), int(2, nanos)].concat());
    let (first, last) = (time(-62_135_596_800, 0), time(253_402_300_799, 999_999_999));
    assert_eq!(
        row(&mut timestamps, &[time(1, 1_999), time(-1, 999_999_999), first, last, len(1, "")]),
        "(t=[1000001us, -1us, -62135596800000000us, 253402300799999999us, 0us])"
    );
    for (seconds, nanos) in [(-62_135_596_801, 0), (253_402_300_800, 0), (0, -1), (0, 1_000_000_000)] {
        let error = failure(&mut timestamps, &[time(seconds, nanos)]);
        assert_eq!(error, "field t: a google.protobuf.Timestamp is out of range");
    }
    let mut durations = plain(&field("google.protobuf.Duration t"));
    assert_eq!(row(&mut durations, &[time(-1, -1_999)]), "(t=-1000001us)");
    assert_eq!(row(&mut durations, &[time(315_576_000_000, 0)]), "(t=315576000000000000us)");
    assert!(failure(&mut durations, &[time(i64::MIN, 0)]).contains("out of range"));
    // Two occurrences are merged, but not with another row's.
    assert_eq!(row(&mut durations, &[len(1, int(1, 2)), len(1, int(2, 3_000))]), "(t=2000003us)");
    assert_eq!(row(&mut durations, &[len(1, int(2, 3_000))]), "(t=3us)");
    assert_eq!(row(&mut durations, &[]), "(t=null)");
    let DataType::Struct(fields) = durations.data_type() else { panic!("a struct") };
    assert_eq!(fields[0].data_type(), &DataType::Duration(TimeUnit::Microsecond));
}

#[test]
fn wrappers_are_nullable_values() {
    let mut decoder = plain(&proto3(&format!(
        "{ALL} message M {{ google.protobuf.Int32Value a = 1; google.protobuf.StringValue b = 2;
           google.protobuf.UInt64Value c = 3; google.protobuf.BytesValue d = 4;
           google.protobuf.BoolValue e = 5; google.protobuf.DoubleValue f = 6;
           google.protobuf.UInt32Value g = 7; google.protobuf.FloatValue h = 8;
           google.protobuf.Int64Value i = 9; repeated google.protobuf.Int32Value j = 10;
           map<string, google.protobuf.StringValue> k = 11; }}"
    )));
    let nothing = "(a=null b=null c=null d=null e=null f=null g=null h=null i=null j=[] k={})";
    assert_eq!(row(&mut decoder, &[]), nothing);
    let empty: Vec<_> = (1..12).map(|number| len(number, "")).collect();
    let defaults = "(a=0 b=\"\" c=0 d=[] e=false f=0.0 g=0 h=0.0 i=0 j=[0] k={\"\": \"\"})";
    assert_eq!(row(&mut decoder, &empty), defaults);
    let parts = [
        len(1, int(1, -1)),
        len(2, len(1, "x")),
        len(2, ""),
        len(3, int(1, -1)),
        len(4, len(1, [7])),
        len(5, int(1, 1)),
        len(6, fixed64(1, 1.5_f64.to_le_bytes())),
        len(7, int(1, 4_000_000_000)),
        len(8, fixed32(1, 0.5_f32.to_le_bytes())),
        len(9, [int(1, 1), int(2, 2), len(1, "unknown"), int(1, 3)].concat()),
        len(10, int(1, 4)),
        len(10, ""),
        len(11, [len(1, "k"), len(2, len(1, "v"))].concat()),
    ];
    assert_eq!(
        row(&mut decoder, &parts),
        "(a=-1 b=\"x\" c=18446744073709551615 d=[7] e=true f=1.5 g=4000000000 h=0.5 i=3 j=[4, 0] k={\"k\": \"v\"})"
    );
}

#[test]
fn structs_are_json() {
    let mut decoder = plain(&proto3(&format!(
        "{ALL} message M {{ google.protobuf.Struct s = 1; google.protobuf.Value v = 2;
           repeated google.protobuf.ListValue l = 3; map<string, google.protobuf.Value> m = 4; }}"
    )));
    let entry = |key: &str, value: Vec<u8>| len(1, [len(1, key), len(2, value)].concat());
    let number = |value: f64| fixed64(2, value.to_le_bytes());
    let list = [len(1, number(1.0)), len(1, number(-0.5)), len(1, number(1e300)), len(1, "")].concat();
    let inner = [entry("t", int(4, 1)), entry("n", int(1, 0))].concat();
    let parts = [
        len(1, [entry("a", len(3, "\"x\"\n")), entry("b", len(6, &list))].concat()),
        len(1, [entry("c", len(5, &inner)), entry("a", number(9_007_199_254_740_993.0))].concat()),
        len(2, len(3, "text")),
        len(2, number(3.0)),
        len(3, &list),
        len(3, ""),
        len(4, len(1, "k")),
    ];
    assert_eq!(
        row(&mut decoder, &parts).replace('\\', ""),
        r#"(s="{"a":9007199254740992.0,"b":[1,-0.5,1e+300,null],"c":{"n":null,"t":true}}" v="3" l=["[1,-0.5,1e+300,null]", "[]"] m={"k": "null"})"#
    );
    assert_eq!(row(&mut decoder, &[]), "(s=null v=null l=[] m={})");
    assert_eq!(row(&mut decoder, &[len(1, ""), len(2, "")]), "(s=\"{}\" v=\"null\" l=[] m={})");
    // A struct that comes twice is merged, as any message.
    let twice = row(&mut decoder, &[len(1, entry("a", int(4, 1))), len(1, entry("b", int(4, 0)))]);
    assert!(twice.replace('\\', "").starts_with(r#"(s="{"a":true,"b":false}""#), "{twice}");
    for bad in [number(f64::NAN), number(f64::INFINITY)] {
        assert!(failure(&mut decoder, &[len(2, bad)]).contains("not finite"));
    }
    assert!(failure(&mut decoder, &[len(2, len(3, [0xff]))]).contains("not UTF-8"));
    let mut deep = int(4, 1);
    for _ in 0..40 {
        deep = len(5, entry("k", deep));
    }
    assert!(row(&mut decoder, &[len(2, &deep)]).contains("true"));
    for _ in 0..20 {
        deep = len(5, entry("k", deep));
    }
    assert_eq!(
        failure(&mut decoder, &[len(2, &deep)]),
        "field v: a google.protobuf.Value is nested too deep"
    );
}

#[test]
fn other_messages_of_google_are_plain() {
    let mut any = plain(&field("google.protobuf.Any a"));
    let value = [len(1, "type.googleapis.com/x.Y"), len(2, [8, 1])].concat();
    assert_eq!(row(&mut any, &[len(1, &value)]), "(a=(type_url=\"type.googleapis.com/x.Y\" value=[8, 1]))");
    let mut mask = plain(&field("google.protobuf.FieldMask a"));
    assert_eq!(row(&mut mask, &[len(1, len(1, "x.y"))]), "(a=(paths=[\"x.y\"]))");
    // A message of the same name in another file is not Google's.
    let own = "package google.protobuf; message M { Timestamp t = 1; } message Timestamp { string s = 1; }";
    assert_eq!(row(&mut plain(&proto3(own)), &[len(1, len(1, "x"))]), "(t=(s=\"x\"))");
}

/// As Confluent's serializers know them: a schema that imports them has no references.
#[test]
fn googles_common_types_are_known_without_a_reference() {
    for (file, ty, columns) in [
        ("calendar_period", "CalendarPeriod", "\"CALENDAR_PERIOD_UNSPECIFIED\""),
        ("color", "Color", "(red=0.0 green=0.0 blue=0.0 alpha=null)"),
        ("date", "Date", "(year=0 month=0 day=0)"),
        (
            "datetime",
            "DateTime",
            "(year=0 month=0 day=0 hours=0 minutes=0 seconds=0 nanos=0 utc_offset=null time_zone=null)",
        ),
        ("datetime", "TimeZone", "(id=\"\" version=\"\")"),
        ("dayofweek", "DayOfWeek", "\"DAY_OF_WEEK_UNSPECIFIED\""),
        ("decimal", "Decimal", "(value=\"\")"),
        ("expr", "Expr", "(expression=\"\" title=\"\" description=\"\" location=\"\")"),
        ("fraction", "Fraction", "(numerator=0 denominator=0)"),
        ("interval", "Interval", "(start_time=null end_time=null)"),
        ("latlng", "LatLng", "(latitude=0.0 longitude=0.0)"),
        ("localized_text", "LocalizedText", "(text=\"\" language_code=\"\")"),
        ("money", "Money", "(currency_code=\"\" units=0 nanos=0)"),
        ("month", "Month", "\"MONTH_UNSPECIFIED\""),
        ("phone_number", "PhoneNumber", "(e164_number=null short_code=null extension=\"\")"),
        (
            "postal_address",
            "PostalAddress",
            "(revision=0 region_code=\"\" language_code=\"\" postal_code=\"\" sorting_code=\"\" administrative_area=\"\" locality=\"\" sublocality=\"\" address_lines=[] recipients=[] organization=\"\")",
        ),
        ("quaternion", "Quaternion", "(x=0.0 y=0.0 z=0.0 w=0.0)"),
        ("timeofday", "TimeOfDay", "(hours=0 minutes=0 seconds=0 nanos=0)"),
    ] {
        let text =
            format!("import \"google/type/{file}.proto\"; message M {{ repeated google.type.{ty} v = 1; }}");
        let mut decoder = plain(&proto3(&text));
        let value = if columns.starts_with('(') { len(1, "") } else { len(1, [0]) };
        assert_eq!(row(&mut decoder, &[value]), format!("(v=[{columns}])"));
    }
    let money = "import \"google/type/money.proto\"; message M { google.type.Money price = 1; }";
    let price = len(1, [len(1, "EUR"), int(2, -5), int(3, -500_000_000)].concat());
    let expected = "(price=(currency_code=\"EUR\" units=-5 nanos=-500000000))";
    assert_eq!(row(&mut plain(&proto3(money)), std::slice::from_ref(&price)), expected);
    // A schema of that name among the references comes first.
    let own = proto("syntax = \"proto3\"; package google.type; message Money { string currency_code = 1; }");
    let schema = with_imports(&proto3(money), &[("google/type/money.proto", &own)]);
    let mut decoder = ottla_schema::ColumnDecoder::new(
        &schema,
        ottla_schema::WireFormat::None,
        ottla_schema::Header::Value,
    );
    assert_eq!(row(decoder.as_mut().unwrap(), &[price]), "(price=(currency_code=\"EUR\"))");
}
