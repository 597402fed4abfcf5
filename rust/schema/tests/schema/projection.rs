//! Proves: a column has the selected fields in the order of the schema, in all formats, also within lists, maps and
//! unions. What is not selected is neither checked nor required, and a wrong name is an error that helps.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_schema::{DataType, Field};
use ottla_schema::{RegisteredSchema, SchemaId, SchemaType, WireFormat};

use crate::protobuf_support::{group, int, len, proto, proto3, row, rows};
use crate::support::*;

const ORDER: &str = r#"{"type": "record", "name": "Order", "fields": [
    {"name": "id", "type": "long"},
    {"name": "customer", "type": ["null", {"type": "record", "name": "Customer", "fields": [
        {"name": "name", "type": "string"},
        {"name": "address", "type": {"type": "record", "name": "Address", "fields": [
            {"name": "street", "type": "string"}, {"name": "city", "type": "string"}]}}]}]},
    {"name": "items", "type": {"type": "array", "items": {"type": "record", "name": "Item", "fields": [
        {"name": "name", "type": "string"}, {"name": "price", "type": "double"}]}}},
    {"name": "places", "type": {"type": "map", "values": "Address"}},
    {"name": "paid", "type": ["int", "string", "Item", "null"]}]}"#;

fn order() -> Vec<u8> {
    let address = |street: &[u8], city: &[u8]| [bytes(street), bytes(city)].concat();
    let customer = [long(1), bytes(b"Ann"), address(b"Long Street", b"Bern")].concat();
    let item = |name: &[u8], price: f64| [bytes(name), price.to_le_bytes().to_vec()].concat();
    let items = [long(2), item(b"pen", 1.5), item(b"ink", 2.5), long(0)].concat();
    let places = [long(1), bytes(b"home"), address(b"Short Street", b"Basel"), long(0)].concat();
    let paid = [long(2), item(b"coin", 9.5)].concat();
    [long(7), customer, items, places, paid].concat()
}

fn names(data_type: &DataType) -> String {
    match data_type {
        DataType::Struct(fields) => {
            let fields: Vec<_> =
                fields.iter().map(|field| format!("{}{}", field.name(), names(field.data_type()))).collect();
            format!("({})", fields.join(" "))
        }
        DataType::List(items) => format!("[{}]", names(items.data_type())),
        DataType::Map(entries, _) => format!("{{{}}}", names(entries.data_type())),
        _ => String::new(),
    }
}

#[test]
fn fields_of_avro_are_selected_within_records_arrays_maps_and_unions() {
    let schema = avro(ORDER);
    for (fields, expected) in [
        (&["id"][..], "(id)"),
        (&["paid", "id"], "(id paid(member0 member1 member2(name price)))"),
        (&["customer.address.city"], "(customer(address(city)))"),
        (&["customer.address", "customer.address.city"], "(customer(address(street city)))"),
        (&["items.price"], "(items[(price)])"),
        (
            &["places.city", "customer.address.street"],
            "(customer(address(street)) places{(key value(city))})",
        ),
        (&["paid.member2.name"], "(paid(member2(name)))"),
        (&["paid.member2.name", "paid.member0"], "(paid(member0 member2(name)))"),
        (&["paid.member1"], "(paid(member1))"),
    ] {
        let decoder = projected(&schema, fields, WireFormat::None).unwrap();
        assert_eq!(names(decoder.data_type()), expected, "{fields:?}");
    }
    let fields =
        ["customer.address.city", "items.price", "places.city", "paid.member1", "paid.member2.price"];
    let mut decoder = projected(&schema, &fields, WireFormat::None).unwrap();
    let column = decode_struct(&mut decoder, &[Some(order()), None]);
    let city = column.column(0).as_struct().column(0).as_struct().column(0).clone();
    assert_eq!(city.as_string::<i32>().value(0), "Bern");
    let prices = column.column(1).as_list::<i32>().value(0);
    assert_eq!(prices.as_struct().column(0).as_primitive::<Float64Type>().values(), &[1.5, 2.5]);
    let places = column.column(2).as_map().value(0);
    assert_eq!(places.column(0).as_string::<i32>().value(0), "home");
    assert_eq!(places.column(1).as_struct().column(0).as_string::<i32>().value(0), "Basel");
    let paid = column.column(3).as_struct();
    assert!(paid.is_valid(0) && paid.column(0).is_null(0));
    let price = paid.column(1).as_struct().column(0).clone();
    assert_eq!(price.as_primitive::<Float64Type>().value(0), 9.5);
    // A branch that is not selected is no null, but all of its members are.
    let mut decoder = projected(&schema, &["paid.member0"], WireFormat::None).unwrap();
    let column = decode_struct(&mut decoder, &[Some(order())]);
    let paid = column.column(0).as_struct();
    assert!(paid.is_valid(0) && paid.column(0).is_null(0));
}

#[test]
fn what_avro_does_not_select_may_be_missing_or_of_another_type() {
    let old = r#"{"type": "record", "name": "R", "fields": [
        {"name": "a", "type": "string"}, {"name": "b", "type": {"type": "array", "items": "string"}},
        {"name": "old", "type": "int"}]}"#;
    let new = r#"{"type": "record", "name": "R", "fields": [
        {"name": "added", "type": "int"}, {"name": "c", "type": "long", "aliases": ["old"]},
        {"name": "a", "type": "int"},
        {"name": "d", "type": "string", "default": "x"}, {"name": "e", "type": "int", "default": "wrong"}]}"#;
    let row = Some(with_id(1, &[&bytes(b"\xff"), &long(1), &bytes(b"t"), &long(0), &long(5)]));
    let mut whole = decoder(new, &[(1, old)]);
    assert_eq!(decode(&mut whole, std::slice::from_ref(&row)).errors.len(), 1);
    let mut part = projected(&avro(new), &["d", "c"], WireFormat::Confluent).unwrap();
    part.add(SchemaId::Id(1), &avro(old));
    let column = decode_struct(&mut part, std::slice::from_ref(&row));
    assert_eq!(column.column(0).as_primitive::<Int64Type>().value(0), 5);
    assert_eq!(column.column(1).as_string::<i32>().value(0), "x");
    // What is selected must be there.
    let mut part = projected(&avro(new), &["added"], WireFormat::Confluent).unwrap();
    part.add(SchemaId::Id(1), &avro(old));
    let (_, reason) = only_error(&decode(&mut part, &[row]));
    assert!(reason.contains("R.added is not written and has no default"), "{reason}");
    // Bytes that are passed over must be there, too.
    let mut part = projected(&avro(ORDER), &["id"], WireFormat::None).unwrap();
    let whole = order();
    let cut: Vec<_> = (0..whole.len()).map(|end| Some(whole[..end].to_vec())).collect();
    assert_eq!(decode(&mut part, &cut).errors.len(), cut.len());
    let rest = [&whole[..], b"x"].concat();
    assert_eq!(only_error(&decode(&mut part, &[Some(rest)])).0, 0);
}

/// Two records of one structure: the branch is the one that has the writer's name, whatever is selected.
#[test]
fn selection_does_not_change_the_branch_of_a_union() {
    let record =
        |name: &str, fields: &str| format!(r#"{{"type": "record", "name": "{name}", "fields": [{fields}]}}"#);
    let (x, y) = (r#"{"name": "x", "type": "int"}"#, r#"{"name": "y", "type": "int"}"#);
    let reader = format!("[{}, {}]", record("n.A", &format!("{x}, {y}")), record("n.B", x));
    // Not n.A, since it has y, which is not selected.
    let writer = record("C", x);
    let mut part = projected(&avro(&reader), &["member0.x", "member1.x"], WireFormat::Confluent).unwrap();
    part.add(SchemaId::Id(1), &avro(&writer));
    let column = decode_struct(&mut part, &[Some(with_id(1, &[&long(5)]))]);
    assert!(column.column(0).is_null(0) && column.column(1).is_valid(0));
}

const SHOP: &str = "package shop;
    message Order { int64 id = 1; Customer customer = 2; repeated Item items = 3; map<string, Item> by_name = 4;
      oneof paid { string card = 5; Item coin = 6; int32 cash = 9; } Order previous = 7; Node node = 8; }
    message Customer { string name = 1; Address address = 2; }
    message Address { string street = 1; string city = 2; }
    message Item { string name = 1; double price = 2; }
    message Node { int32 value = 1; repeated Node children = 2; }";

#[test]
fn fields_of_protobuf_are_selected_within_messages_lists_and_maps() {
    let schema = proto(&proto3(SHOP));
    let address = [len(1, "Long Street"), len(2, "Bern")].concat();
    let item =
        |name: &str, price: f64| [len(1, name), [&[2 << 3 | 1][..], &price.to_le_bytes()].concat()].concat();
    let entry = [len(1, "k"), len(2, item("map", 3.5))].concat();
    let order = [
        int(1, 7),
        len(2, [len(1, "Ann"), len(2, address)].concat()),
        len(3, item("pen", 1.5)),
        len(3, item("ink", 2.5)),
        len(4, entry),
        len(6, item("coin", 9.5)),
        len(7, [int(1, 6), len(7, int(1, 5))].concat()),
        len(8, [int(1, 1), len(2, int(1, 2)), len(2, [int(1, 3), len(2, int(1, 4))].concat())].concat()),
    ];
    for (fields, expected) in [
        (&["id"][..], "(id=7)"),
        (&["customer.address.city", "id"], "(id=7 customer=(address=(city=\"Bern\")))"),
        (&["items.price"], "(items=[(price=1.5), (price=2.5)])"),
        (&["by_name.price"], "(by_name={\"k\": (price=3.5)})"),
        (&["coin.name"], "(coin=(name=\"coin\"))"),
        (&["card"], "(card=null)"),
        // A recursive message can be decoded to a depth.
        (&["previous.id", "previous.previous.id"], "(previous=(id=6 previous=(id=5)))"),
        (&["node.value", "node.children.value"], "(node=(value=1 children=[(value=2), (value=3)]))"),
    ] {
        let mut decoder = projected(&schema, fields, WireFormat::None).unwrap();
        assert_eq!(row(&mut decoder, &order), expected, "{fields:?}");
    }
    let recursive = projected(&schema, &["node"], WireFormat::None).unwrap_err().to_string();
    assert!(recursive.contains("the message shop.Node is recursive"), "{recursive}");
    // What is passed over must be there.
    let mut decoder = projected(&schema, &["id"], WireFormat::None).unwrap();
    let whole = order.concat();
    let cut = Some(whole[..whole.len() - 1].to_vec());
    assert_eq!(decode(&mut decoder, &[cut, Some(len(2, [0xff; 3]))]).errors.len(), 1);
}

#[test]
fn a_field_of_a_oneof_that_is_not_selected_replaces_one_that_is() {
    let schema = proto(&proto3(SHOP));
    let mut decoder = projected(&schema, &["card", "id"], WireFormat::None).unwrap();
    let all = [
        [len(5, "x"), int(9, 1)].concat(),
        [int(9, 1), len(5, "x")].concat(),
        [len(5, "x"), len(6, "")].concat(),
        // Another wire type: an unknown field.
        [len(5, "x"), len(9, "")].concat(),
        [len(5, "x"), int(9, 1), len(5, "y")].concat(),
    ];
    let decoded = decode(&mut decoder, &all.map(Some));
    let card = |text: &str| format!("(id=0 card={text})");
    assert_eq!(rows(&decoded), ["null", "\"x\"", "null", "\"x\"", "\"y\""].map(card));
    let group_schema = proto(
        "syntax = \"proto2\"; message M { oneof o { int32 a = 1; group G = 2 { required int32 b = 1; } }
           required int32 c = 3; }",
    );
    let mut decoder = projected(&group_schema, &["a"], WireFormat::None).unwrap();
    let all = [[int(1, 1), group(2, &[])].concat(), [group(2, &[]), int(1, 1)].concat()];
    let decoded = decode(&mut decoder, &all.map(Some));
    assert_eq!(decoded.errors, []);
    assert_eq!(rows(&decoded), ["(a=null)", "(a=1)"]);
}

#[test]
fn keys_of_json_are_selected_and_the_others_may_have_any_value() {
    let schema = r#"{"type": "object", "properties": {
        "id": {"type": "integer"}, "customer": {"type": "object", "properties": {
            "name": {"type": "string"}, "city": {"type": "string"}}, "required": ["name"]},
        "items": {"type": "array", "items": {"type": "object", "properties": {
            "price": {"type": "number"}, "name": {"type": "string"}}}},
        "by_name": {"type": "object", "additionalProperties": {"type": "object", "properties": {
            "price": {"type": "number"}}}},
        "http.method": {"type": "string"}, "any": {}}, "required": ["id", "customer"]}"#;
    let schema = RegisteredSchema::new(SchemaType::Json, schema);
    let fields = ["items.price", "customer.city", "by_name.price", "`http.method`"];
    let mut decoder = projected(&schema, &fields, WireFormat::None).unwrap();
    assert_eq!(
        names(decoder.data_type()),
        "(customer(city) items[(price)] by_name{(key value(price))} http.method)"
    );
    let text = r#"{"customer": {"name": 5, "city": "Bern"}, "id": "x", "id": {}, "any": [1, {}],
        "items": [{"price": 1.5, "name": null}, {"name": [], "price": 2}], "by_name": {"k": {"price": 3, "x": 1}},
        "http.method": "GET"}"#;
    let array = decode_good(&mut decoder, &[text, r#"{"customer": {}}"#]);
    let array = array.as_struct();
    assert_eq!(array.column(0).as_struct().column(0).as_string::<i32>().value(0), "Bern");
    let prices = array.column(1).as_list::<i32>().value(0);
    assert_eq!(prices.as_struct().column(0).as_primitive::<Float64Type>().values(), &[1.5, 2.0]);
    assert_eq!(array.column(3).as_string::<i32>().value(0), "GET");
    // What is not selected must be JSON; what is selected is checked.
    assert!(reason(&mut decoder, r#"{"customer": {"name": nul}}"#).contains("expected"));
    assert_eq!(reason(&mut decoder, "{}"), "$.customer: it is missing");
    // A type that JSON cannot be decoded to does not matter, unless it is selected.
    let of = |fields: &[&str]| {
        let interval = DataType::Interval(arrow_schema::IntervalUnit::DayTime);
        let pair = vec![Field::new("a", DataType::Int64, true), Field::new("b", interval, true)];
        projected_json(&Field::new("value", DataType::Struct(pair.into()), true), fields)
    };
    assert!(of(&["a"]).is_ok() && of(&["b"]).is_err());
}

#[test]
fn a_name_that_is_not_there_is_an_error_that_lists_those_that_are() {
    let json = r#"{"type": "object", "properties": {"id": {"type": "integer"}, "list": {"items": {"properties": {
        "price": {"type": "number"}}}}}}"#;
    let schemas: [RegisteredSchema; 3] =
        [avro(ORDER), proto(&proto3(SHOP)), RegisteredSchema::new(SchemaType::Json, json)];
    let failure = |schema: usize, field: &str| {
        let error = projected(&schemas[schema], &[field], WireFormat::None).unwrap_err().to_string();
        error.strip_prefix("fields: there is no field ").unwrap_or_else(|| panic!("{error}")).to_owned()
    };
    for (schema, field, expected) in [
        (0, "idd", "\"idd\"; similar names are id"),
        (0, "zzz", "\"zzz\"; it has id, customer, items, places, paid"),
        (0, "customer.adress.city", "\"adress\" in customer; similar names are address"),
        (0, "items.element.price", "\"element\" in items; it has name, price"),
        (0, "places.value.city", "\"value\" in places; it has street, city"),
        (0, "paid.Item", "\"Item\" in paid; it has member0, member1, member2"),
        (0, "paid.member0.x", "\"x\" in paid.member0, which has no fields"),
        (0, "id.x", "\"x\" in id, which has no fields"),
        (1, "customer.address.Citi", "\"Citi\" in customer.address; similar names are city"),
        (1, "by_name.key", "\"key\" in by_name; it has name, price"),
        (1, "card.x", "\"x\" in card, which has no fields"),
        (2, "list.prise", "\"prise\" in list; similar names are price"),
        (2, "id.x", "\"x\" in id, which has no fields"),
    ] {
        assert_eq!(failure(schema, field), expected, "{field}");
    }
    let error = projected(&avro("\"string\""), &["x"], WireFormat::None).unwrap_err();
    assert_eq!(error.to_string(), "fields: there is no field \"x\": the values have no fields");
    let deep = format!("{}id", "previous.".repeat(59));
    let error = projected(&schemas[1], &[&deep], WireFormat::None).unwrap_err().to_string();
    assert!(error.contains("levels deep"), "{error}");
}
