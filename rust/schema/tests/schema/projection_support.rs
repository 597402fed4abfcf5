//! Projects decoded columns, by another way than the decoders, and chooses fields at random.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, StructArray};
use arrow_schema::{DataType, Field, FieldRef};

/// A path as its names.
pub(crate) type Names = Vec<String>;

/// A path as its text, with all names in quotes.
pub(crate) fn quoted(path: &Names) -> String {
    let names: Vec<_> = path.iter().map(|name| format!("`{}`", name.replace('`', "``"))).collect();
    names.join(".")
}

/// All paths of a type.
pub(crate) fn paths(data_type: &DataType) -> Vec<Names> {
    match data_type {
        DataType::Struct(fields) => {
            let within = |field: &FieldRef| {
                let inner = paths(field.data_type()).into_iter();
                let own = std::iter::once(Vec::new()).chain(inner);
                own.map(|path| [vec![field.name().clone()], path].concat()).collect::<Vec<_>>()
            };
            fields.iter().flat_map(within).collect()
        }
        DataType::List(items) => paths(items.data_type()),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(pair) => paths(pair[1].data_type()),
            other => panic!("{other}"),
        },
        _ => Vec::new(),
    }
}

/// The part of a column that has these paths.
pub(crate) fn project(array: &ArrayRef, chosen: &[Names]) -> ArrayRef {
    if chosen.iter().any(Vec::is_empty) {
        return Arc::clone(array);
    }
    let renamed = |field: &Field, array: &ArrayRef| {
        Arc::new(Field::new(field.name(), array.data_type().clone(), field.is_nullable()))
    };
    match array.data_type() {
        DataType::Struct(fields) => {
            let (mut kept, mut columns) = (Vec::new(), Vec::new());
            for (field, column) in fields.iter().zip(array.as_struct().columns()) {
                let within = chosen.iter().filter(|path| path[0] == *field.name());
                let within: Vec<Names> = within.map(|path| path[1..].to_vec()).collect();
                if !within.is_empty() {
                    let column = project(column, &within);
                    kept.push(renamed(field, &column));
                    columns.push(column);
                }
            }
            Arc::new(StructArray::new(kept.into(), columns, array.nulls().cloned()))
        }
        DataType::List(items) => {
            let list = array.as_list::<i32>();
            let values = project(list.values(), chosen);
            let items = renamed(items, &values);
            Arc::new(ListArray::new(items, list.offsets().clone(), values, list.nulls().cloned()))
        }
        DataType::Map(entries, sorted) => {
            let map = array.as_map();
            let DataType::Struct(pair) = entries.data_type() else { panic!("{entries:?}") };
            let values = project(map.values(), chosen);
            let pair = vec![Arc::clone(&pair[0]), renamed(&pair[1], &values)];
            let columns = vec![Arc::clone(map.keys()), values];
            let inner = StructArray::new(pair.into(), columns, None);
            let entries = Arc::new(Field::new(entries.name(), inner.data_type().clone(), false));
            Arc::new(MapArray::new(entries, map.offsets().clone(), inner, map.nulls().cloned(), *sorted))
        }
        other => panic!("{other} has no fields"),
    }
}
