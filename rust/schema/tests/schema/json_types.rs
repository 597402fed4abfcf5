//! Every type that JSON is decoded to, alone and within every other: values, nulls and absent members, with malformed
//! rows between them, which leave no trace.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, Int64Array, LargeListArray, ListArray, MapArray, StringArray, StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, Fields, TimeUnit};

use crate::support::{decode_texts, json_decoder_of};

/// Converts with Arrow's own conversions, which are the oracle here.
fn cast(array: &ArrayRef, to: &DataType) -> ArrayRef {
    cast_with_options(array, to, &CastOptions { safe: false, ..CastOptions::default() }).unwrap()
}

/// A type, values in JSON, and the array of them.
struct Case {
    data_type: DataType,
    values: Vec<String>,
    array: ArrayRef,
}

/// Values that are written as in Arrow's conversion from text.
fn of_texts(data_type: DataType, texts: &[&str], in_quotes: bool) -> Case {
    let strings: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
    let values = texts.iter().map(|text| if in_quotes { format!("\"{text}\"") } else { (*text).to_owned() });
    Case { values: values.collect(), array: cast(&strings, &data_type), data_type }
}

fn leaves() -> Vec<Case> {
    use DataType::*;
    let mut cases = vec![
        of_texts(Boolean, &["true", "false", "true"], false),
        of_texts(Int8, &["-128", "127", "0"], false),
        of_texts(Int16, &["-32768", "32767", "0"], false),
        of_texts(Int32, &["-2147483648", "2147483647", "0"], false),
        of_texts(Int64, &["-9223372036854775808", "9223372036854775807", "0"], false),
        of_texts(UInt8, &["0", "255", "7"], false),
        of_texts(UInt16, &["0", "65535", "7"], false),
        of_texts(UInt32, &["0", "4294967295", "7"], false),
        of_texts(UInt64, &["0", "18446744073709551615", "7"], false),
        of_texts(Float32, &["-1.5", "3.4028235e38", "1e-45"], false),
        of_texts(Float64, &["-1.5", "1.7976931348623157e308", "5e-324"], false),
        of_texts(Utf8, &["", "a", "äß漢🎈"], true),
        of_texts(LargeUtf8, &["", "a", "äß漢🎈"], true),
        of_texts(Utf8View, &["", "short", "longer than the twelve bytes of a view"], true),
        of_texts(Date32, &["0000-01-01", "1970-01-01", "9999-12-31"], true),
        of_texts(Decimal128(5, 2), &["-999.99", "0.00", "1.5"], false),
        of_texts(Decimal128(38, 0), &["99999999999999999999999999999999999999", "-1", "0"], false),
        of_texts(Decimal128(38, 38), &["0.99999999999999999999999999999999999999", "0.1", "-0.1"], false),
        of_texts(Decimal256(76, 0), &[&"9".repeat(76), &format!("-{}", "9".repeat(76)), "0"], false),
        of_texts(Decimal256(40, 3), &["-1234567890123456789012345678901234567.125", "1", "0.001"], true),
    ];
    for unit in [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond] {
        let texts = ["1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z", "2024-02-29T12:34:56Z"];
        cases.push(of_texts(Timestamp(unit, None), &texts, true));
        cases.push(of_texts(Timestamp(unit, Some("+00:00".into())), &texts, true));
        // The names of zones are not known to Arrow's conversions here, and only name how a value is shown.
        let in_utc = of_texts(Timestamp(unit, None), &texts, true);
        let data_type = Timestamp(unit, Some("Europe/Berlin".into()));
        let seconds: Vec<i64> =
            cast(&in_utc.array, &Int64).as_primitive::<arrow_array::types::Int64Type>().values().to_vec();
        let array = cast(&(Arc::new(Int64Array::from(seconds)) as ArrayRef), &data_type);
        cases.push(Case { data_type, values: in_utc.values, array });
    }
    cases
}

fn item(data_type: &DataType) -> Arc<Field> {
    Arc::new(Field::new("item", data_type.clone(), true))
}

/// The case's values in lists of two, none, and one.
fn in_lists(case: &Case, is_large: bool) -> Case {
    let values = vec![
        format!("[{},{}]", case.values[0], case.values[1]),
        "[]".into(),
        format!("[{}]", case.values[2]),
    ];
    let (field, items) = (item(&case.data_type), Arc::clone(&case.array));
    let lengths = OffsetBuffer::<i32>::from_lengths([2, 0, 1]);
    let array: ArrayRef = match is_large {
        false => Arc::new(ListArray::new(field, lengths, items, None)),
        true => Arc::new(LargeListArray::new(field, OffsetBuffer::from_lengths([2, 0, 1]), items, None)),
    };
    Case { data_type: array.data_type().clone(), values, array }
}

fn in_maps(case: &Case, key_type: &DataType) -> Case {
    let [first, second, third] = [&case.values[0], &case.values[1], &case.values[2]];
    let values = vec![format!("{{\"a\":{first},\"\":{second}}}"), "{}".into(), format!("{{\"ä\": {third}}}")];
    let keys = cast(&(Arc::new(StringArray::from(vec!["a", "", "ä"])) as ArrayRef), key_type);
    let fields: Fields =
        vec![Field::new("key", key_type.clone(), false), Field::new("value", case.data_type.clone(), true)]
            .into();
    let entries = StructArray::new(fields.clone(), vec![keys, Arc::clone(&case.array)], None);
    let field = Arc::new(Field::new("entries", DataType::Struct(fields), false));
    let array: ArrayRef =
        Arc::new(MapArray::new(field, OffsetBuffer::from_lengths([2, 0, 1]), entries, None, false));
    Case { data_type: array.data_type().clone(), values, array }
}

/// The case's values as a required member, before an optional one that is null, present or absent.
fn in_structs(case: &Case) -> Case {
    let others = [",\"b\":null", ",\"b\":\"x\"", ""];
    let values = case.values.iter().zip(others).map(|(value, other)| format!("{{\"a\":{value}{other}}}"));
    let fields: Fields =
        vec![Field::new("a", case.data_type.clone(), false), Field::new("b", DataType::Utf8, true)].into();
    let other = StringArray::from(vec![None, Some("x"), None]);
    let array: ArrayRef =
        Arc::new(StructArray::new(fields, vec![Arc::clone(&case.array), Arc::new(other)], None));
    Case { data_type: array.data_type().clone(), values: values.collect(), array }
}

/// Decodes the case's values with nulls and malformed rows between them.
fn check(case: &Case) {
    let [first, second, third] = [&case.values[0], &case.values[1], &case.values[2]];
    // A value that lacks its end, or has too much of it.
    let cut = |value: &str| value[..value.len() - 1].to_owned() + "\u{1}";
    let rows =
        [first.as_str(), "null", &cut(third), second, &format!("{third}]"), &cut(first), third, "null"];
    let mut decoder = json_decoder_of(case.data_type.clone());
    for _ in 0..2 {
        let decoded = decode_texts(&mut decoder, &rows);
        let malformed: Vec<_> = decoded.errors.iter().map(|error| error.row).collect();
        assert_eq!(malformed, [2, 4, 5], "{}: {:?}", case.data_type, decoded.errors);
        let nulls: Vec<_> = (0..rows.len()).filter(|row| decoded.array.is_null(*row)).collect();
        assert_eq!(nulls, [1, 2, 4, 5, 7], "{}", case.data_type);
        for (row, expected) in [(0, 0), (3, 1), (6, 2)] {
            assert_eq!(&decoded.array.slice(row, 1), &case.array.slice(expected, 1), "{}", case.data_type);
        }
        decoded.array.to_data().validate_full().unwrap();
    }
}

/// A struct that is null, with members that are null within it.
#[test]
fn a_null_struct_has_null_members() {
    let case = in_structs(&in_structs(&of_texts(DataType::Int32, &["1", "2", "3"], false)));
    let decoded = decode_texts(&mut json_decoder_of(case.data_type.clone()), &[&case.values[0], "null"]);
    let rows = decoded.array.as_struct();
    assert_eq!(rows.nulls(), Some(&NullBuffer::from(vec![true, false])));
    assert!(rows.columns().iter().all(|column| column.is_null(1)));
    assert!(rows.column(0).as_struct().columns().iter().all(|column| column.is_null(1)));
}

#[test]
fn every_type_is_decoded_alone_and_within_others() {
    for case in leaves() {
        check(&case);
        let nested = [
            in_lists(&case, false),
            in_lists(&case, true),
            in_maps(&case, &DataType::Utf8),
            in_maps(&case, &DataType::LargeUtf8),
            in_maps(&case, &DataType::Utf8View),
            in_structs(&case),
        ];
        for case in nested {
            check(&case);
            check(&in_structs(&case));
            check(&in_lists(&case, true));
            check(&in_maps(&case, &DataType::Utf8));
        }
    }
}
