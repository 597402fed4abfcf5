//! `copy_rows` and `select_rows`: rows of several arrays in any order.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Int32Array, ListArray, RecordBatch, StringViewArray, StructArray};
use arrow_schema::{DataType, Field, Schema};
use ottla_schema::{copy_rows, select_rows};

fn numbers(values: impl IntoIterator<Item = i32>) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(values))
}

#[test]
fn rows_of_several_arrays_come_in_the_given_order() {
    let arrays = [numbers(0..5), numbers(10..15)];
    let places =
        [Some((1, 2)), Some((1, 3)), None, None, Some((0, 4)), Some((0, 0)), Some((0, 0)), Some((1, 1))];
    let copied = copy_rows(&DataType::Int32, &arrays, places.into_iter()).unwrap();
    let expected = [Some(12), Some(13), None, None, Some(4), Some(0), Some(0), Some(11)];
    assert_eq!(copied.as_primitive::<Int32Type>(), &Int32Array::from_iter(expected));
    let all = copy_rows(&DataType::Int32, &arrays, (0..5).map(|row| Some((0, row)))).unwrap();
    assert_eq!((&all, all.null_count()), (&arrays[0], 0));
    let nulls = copy_rows(&DataType::Int32, [], std::iter::repeat_n(None, 3)).unwrap();
    assert_eq!((nulls.len(), nulls.null_count()), (3, 3));
    assert!(copy_rows(&DataType::Int32, &arrays, std::iter::empty()).unwrap().is_empty());
}

#[test]
fn nested_rows_and_views_are_copied() {
    let texts: ArrayRef = Arc::new(StringViewArray::from(vec!["short", "longer than twelve bytes", ""]));
    let lists =
        ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None]), None, Some(vec![])]);
    let rows = StructArray::from(vec![
        (Arc::new(Field::new("texts", DataType::Utf8View, false)), texts),
        (Arc::new(Field::new("lists", lists.data_type().clone(), true)), Arc::new(lists) as ArrayRef),
    ]);
    let rows: ArrayRef = Arc::new(rows);
    let order = [Some((0, 2)), None, Some((0, 0)), Some((0, 1))];
    let copied = copy_rows(rows.data_type(), [&rows], order.into_iter()).unwrap();
    copied.to_data().validate_full().unwrap();
    for (at, place) in order.into_iter().enumerate() {
        match place {
            Some((_, row)) => assert_eq!(&copied.slice(at, 1), &rows.slice(row, 1)),
            None => assert!(copied.is_null(at)),
        }
    }
}

#[test]
fn selected_rows_keep_the_schema_and_their_number() {
    let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Int32, false)]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![numbers(0..6)]).unwrap();
    let selected = select_rows(&batch, [0, 1, 4].into_iter()).unwrap();
    assert_eq!(selected, RecordBatch::try_new(schema, vec![numbers([0, 1, 4])]).unwrap());
    let empty = batch.project(&[]).unwrap();
    assert_eq!(select_rows(&empty, [3, 5].into_iter()).unwrap().num_rows(), 2);
}
