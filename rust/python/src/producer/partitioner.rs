//! Custom partitioners, which are a Python callable for each record or an object for whole columns of
//! keys; and the Java client's partition for keys.
//!
//! Invariants: a custom partitioner is called only for records without a partition, and before any
//! record of the call is sent, so that its exception reaches the caller with nothing in flight. Its
//! result is checked.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array as _, ArrayRef, BinaryArray, Int32Array, StructArray};
use arrow_schema::{DataType, Field, FieldRef};
use ottla_client::{Error, Kind};
use pyo3::PyVisit;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyInt, PyString};

use crate::convert::errors;
use crate::convert::nested_calls::nested;
use crate::convert::number;
use crate::garbage::{Traverse, Visited};
use crate::producer::arrow_array::Array;
use crate::producer::arrow_rows::{Pair, chunks, columns, speaks_arrow};
use crate::producer::owned_rows::OwnedRows;
use crate::producer::record::OwnedRecord;

/// The keyword argument; a string is the configuration key of the same name.
const KEYWORD: &str = "partitioner";

/// The method for many records, `(topic, keys, partitions)`. A callable is called for
/// each record, `(topic, key, value, partitions)`.
const BATCH_METHOD: &str = "partition_batch";

/// A custom partitioner.
pub(crate) struct CustomPartitioner(Py<PyAny>);

impl Traverse for CustomPartitioner {
    fn traverse(&self, visit: &PyVisit<'_>) -> Visited {
        self.0.traverse(visit)
    }
}

impl CustomPartitioner {
    /// Takes the partitioner from the keyword arguments, unless it is a name.
    pub(crate) fn from_kwargs<'py>(
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Option<Self>, Option<Bound<'py, PyDict>>)> {
        let Some(kwargs) = kwargs else { return Ok((None, None)) };
        let partitioner = kwargs.get_item(KEYWORD)?;
        let Some(partitioner) = partitioner
            .filter(|partitioner| !partitioner.is_none() && !partitioner.is_instance_of::<PyString>())
        else {
            return Ok((None, Some(kwargs.clone())));
        };
        if !partitioner.is_callable() && !partitioner.hasattr(BATCH_METHOD)? {
            let ty = partitioner.get_type().name()?;
            let message = format!(
                "partitioner is of type {ty}; expected a name, a callable (topic, key, value, partitions) or an object with {BATCH_METHOD}(topic, keys, partitions)"
            );
            return Err(errors::config(kwargs.py(), message));
        }
        let rest = kwargs.copy()?;
        rest.del_item(KEYWORD)?;
        Ok((Some(Self(partitioner.unbind())), Some(rest)))
    }

    /// Chooses the partition of one record.
    pub(crate) fn choose(
        &self,
        py: Python<'_>,
        topic: &str,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        count: usize,
    ) -> PyResult<i32> {
        let custom = self.0.bind(py);
        if !custom.is_callable() {
            let keys: ArrayRef = Arc::new(BinaryArray::from(vec![key]));
            let chosen = self.choose_batch(py, topic, keys, count)?;
            return chosen.first().copied().ok_or_else(|| invalid_result(py, topic, "nothing", count));
        }
        let bytes = |data: Option<&[u8]>| data.map(|data| PyBytes::new(py, data));
        let returned = nested("the partitioner", || custom.call1((topic, bytes(key), bytes(value), count)))?;
        check_partition(topic, &returned, count)
    }

    /// Chooses the partitions of a column of keys.
    fn choose_batch(&self, py: Python<'_>, topic: &str, keys: ArrayRef, count: usize) -> PyResult<Vec<i32>> {
        let rows = keys.len();
        let returned = nested("the partitioner", || {
            self.0.bind(py).call_method1(BATCH_METHOD, (topic, Array::from(keys), count))
        })?;
        let mut chosen = Vec::with_capacity(rows);
        if speaks_arrow(&returned)? {
            for chunk in chunks("partitions", &returned)? {
                for row in 0..chunk.len() {
                    let partition = match chunk.data_type() {
                        _ if chunk.is_null(row) => None,
                        DataType::Int32 => Some(i64::from(chunk.as_primitive::<Int32Type>().value(row))),
                        DataType::Int64 => Some(chunk.as_primitive::<Int64Type>().value(row)),
                        ty => return Err(invalid_result(py, topic, &format!("an array of {ty}"), count)),
                    };
                    let partition = partition.ok_or_else(|| invalid_result(py, topic, "a null", count))?;
                    chosen.push(check_range(py, topic, partition, count)?);
                }
            }
        } else {
            for item in returned.try_iter().map_err(|_| invalid_type(topic, &returned, count))? {
                chosen.push(check_partition(topic, &item?, count)?);
            }
        }
        if chosen.len() == rows {
            return Ok(chosen);
        }
        let what = format!("{} partitions for {rows} keys", chosen.len());
        Err(invalid_result(py, topic, &what, count))
    }

    /// Assigns a partition to a record that names none.
    pub(crate) fn assign_partition(
        &self,
        py: Python<'_>,
        topic: &str,
        record: &mut OwnedRecord,
        count: usize,
    ) -> PyResult<()> {
        if record.partition.is_none() {
            let [key, value] = record.as_slices();
            record.partition = Some(self.choose(py, topic, key, value, count)?);
        }
        Ok(())
    }

    /// Assigns partitions to all rows that name none.
    pub(crate) fn assign_partitions(
        &self,
        py: Python<'_>,
        topic: &str,
        rows: &mut OwnedRows,
        count: usize,
    ) -> PyResult<()> {
        match rows {
            OwnedRows::Lists(rows) | OwnedRows::Intercepted(rows)
                if self.0.bind(py).hasattr(BATCH_METHOD)? =>
            {
                let keys: BinaryArray =
                    rows.iter().map(|row| row.as_slices()[0].map(<[u8]>::to_vec)).collect();
                let chosen = self.choose_batch(py, topic, Arc::new(keys), count)?;
                for (row, chosen) in rows.iter_mut().zip(chosen) {
                    row.partition = row.partition.or(Some(chosen));
                }
                Ok(())
            }
            OwnedRows::Lists(rows) | OwnedRows::Intercepted(rows) => {
                rows.iter_mut().try_for_each(|row| self.assign_partition(py, topic, row, count))
            }
            // They are chosen by the bytes of keys, once these are encoded.
            OwnedRows::Typed(..) => Ok(()),
            OwnedRows::Arrow(pairs, _) => pairs.iter_mut().try_for_each(|pair| {
                *pair = self.assign_column_partitions(py, topic, pair, count)?;
                Ok(())
            }),
        }
    }

    fn assign_column_partitions(
        &self,
        py: Python<'_>,
        topic: &str,
        pair: &Pair,
        count: usize,
    ) -> PyResult<Pair> {
        let rows = columns(pair).map_err(|error| errors::config(py, error.to_string()))?;
        let (keys, values) = pair;
        let table = values.as_struct_opt();
        let all = if self.0.bind(py).hasattr(BATCH_METHOD)? {
            let column = keys.as_ref().or_else(|| table.and_then(|table| table.column_by_name("key")));
            let none = || Arc::new(BinaryArray::new_null(values.len())) as ArrayRef;
            Some(self.choose_batch(py, topic, column.map_or_else(none, Arc::clone), count)?)
        } else {
            None
        };
        let mut chosen = Vec::with_capacity(values.len());
        for row in 0..values.len() {
            let Some(fields) = rows.row(row) else { break };
            chosen.push(match (fields.partition, &all) {
                (Some(partition), _) => partition,
                (None, Some(all)) => all.get(row).copied().unwrap_or_default(),
                (None, None) => self.choose(py, topic, fields.key, fields.value, count)?,
            });
        }
        let table = with_partitions(keys.as_ref(), values, chosen);
        Ok((None, table.map_err(|error| errors::config(py, error.to_string()))?))
    }
}

/// Adds a column of partitions to keys and values, or to a table.
fn with_partitions(
    keys: Option<&ArrayRef>,
    values: &ArrayRef,
    chosen: Vec<i32>,
) -> Result<ArrayRef, arrow_schema::ArrowError> {
    let mut columns: Vec<(FieldRef, ArrayRef)> = Vec::new();
    let mut push = |name: &str, array: &ArrayRef| {
        let field = Arc::new(Field::new(name, array.data_type().clone(), true));
        columns.push((field, Arc::clone(array)));
    };
    let mut nulls = None;
    match values.as_struct_opt() {
        Some(table) => {
            nulls = table.nulls().cloned();
            let others = table.fields().iter().zip(table.columns());
            others
                .filter(|(field, _)| field.name() != "partition")
                .for_each(|(f, array)| push(f.name(), array));
        }
        None => {
            keys.into_iter().for_each(|keys| push("key", keys));
            push("value", values);
        }
    }
    push("partition", &(Arc::new(Int32Array::from(chosen)) as ArrayRef));
    let (fields, arrays): (Vec<FieldRef>, Vec<ArrayRef>) = columns.into_iter().unzip();
    Ok(Arc::new(StructArray::try_new(fields.into(), arrays, nulls)?))
}

/// The error for an invalid result of a partitioner.
fn invalid_result(py: Python<'_>, topic: &str, what: &str, count: usize) -> PyErr {
    let last = count.saturating_sub(1);
    let message =
        format!("the partitioner returned {what}; expected for each record an int from 0 to {last}");
    errors::raise(py, &Error::new(Kind::Config, message).topic(topic))
}

fn invalid_type(topic: &str, returned: &Bound<'_, PyAny>, count: usize) -> PyErr {
    let ty = returned.get_type().name().map_or_else(|_| "something".to_owned(), |name| name.to_string());
    invalid_result(returned.py(), topic, &format!("an object of type {ty}"), count)
}

fn check_range(py: Python<'_>, topic: &str, partition: i64, count: usize) -> PyResult<i32> {
    let known = usize::try_from(partition).is_ok_and(|partition| partition < count);
    let partition32 = i32::try_from(partition).ok().filter(|_| known);
    partition32.ok_or_else(|| invalid_result(py, topic, &partition.to_string(), count))
}

fn check_partition(topic: &str, returned: &Bound<'_, PyAny>, count: usize) -> PyResult<i32> {
    // A bool is an int in Python, and an error here.
    if returned.is_instance_of::<PyBool>() {
        return Err(invalid_type(topic, returned, count));
    }
    match returned.extract::<i64>() {
        Ok(partition) => check_range(returned.py(), topic, partition, count),
        Err(_) if returned.is_instance_of::<PyInt>() => {
            Err(invalid_result(returned.py(), topic, "an int that is far too large", count))
        }
        Err(_) => Err(invalid_type(topic, returned, count)),
    }
}

/// Return the partition of each key, as the Java client's default partitioner chooses it.
///
/// Args:
///     keys: binary or text, as an Arrow array, chunked array or column.
///     partitions: the topic's number of partitions.
///
/// Returns:
///     An Arrow array of int32, in one chunk; null for a null.
///
/// Raises:
///     ConfigError: the keys have another type, or ``partitions`` is 0.
///     TypeError: the keys are not Arrow data.
#[pyfunction]
pub(crate) fn partitions_for_keys(
    py: Python<'_>,
    keys: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = number::partitions)] partitions: usize,
) -> PyResult<Array> {
    if partitions == 0 {
        return Err(errors::config(py, "partitions is 0: expected the topic's number of partitions"));
    }
    let chunks = chunks("keys", keys)?;
    let mut chosen: Vec<Option<i32>> = Vec::with_capacity(chunks.iter().map(|chunk| chunk.len()).sum());
    for chunk in chunks {
        let pair = (None, chunk);
        // RecordColumns of keys and of values have the same types.
        let column = columns(&pair).map_err(|error| errors::config(py, error.to_string()))?;
        py.detach(|| {
            for row in 0..column.len() {
                let key = column.row(row).and_then(|fields| fields.value);
                chosen.push(key.map(|key| ottla_client::producer::partition_for_key(key, partitions)));
            }
        });
    }
    Ok(Array::from(Arc::new(Int32Array::from(chosen)) as ArrayRef))
}
