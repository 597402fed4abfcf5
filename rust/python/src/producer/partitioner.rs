//! A producer's own partitioner: a Python callable for each record, or an object that takes whole
//! columns of keys; and where the Java client would send keys.
//!
//! Invariants: it is asked about records that name no partition only, and before any record of its
//! call is sent, so that what it raises reaches the caller with nothing under way. What it returns
//! is checked.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array as _, ArrayRef, BinaryArray, Int32Array, StructArray};
use arrow_schema::{DataType, Field, FieldRef};
use ottla_client::{Error, Kind};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyCapsule, PyDict, PyInt, PyString, PyTuple};
use pyo3_arrow::ffi::{to_array_pycapsules, to_schema_pycapsule};

use crate::convert::errors;
use crate::convert::record::OwnedRecord;
use crate::producer::arrow_rows::{Pair, chunks, columns, speaks_arrow};
use crate::producer::send_batch::OwnedRows;

/// The keyword, and the key of the configuration that it is when it is a name.
const KEYWORD: &str = "partitioner";

/// The method that is asked about many records, `(topic, keys, partitions)`; a callable is asked about
/// one, `(topic, key, value, partitions)`.
const BATCH: &str = "partition_batch";

/// An Arrow array that any Arrow library takes over without a copy: ``pyarrow.array(array)``.
///
/// It implements Arrow's PyCapsule interface (``__arrow_c_array__``); ``len()`` is its length.
#[pyclass(frozen, module = "ottla")]
pub(crate) struct Array(ArrayRef);

impl From<ArrayRef> for Array {
    fn from(array: ArrayRef) -> Self {
        Self(array)
    }
}

#[pymethods]
impl Array {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        Ok(to_schema_pycapsule(py, self.0.data_type().clone())?)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let field = Arc::new(Field::new("", self.0.data_type().clone(), true));
        Ok(to_array_pycapsules(py, field, &self.0, requested_schema)?)
    }

    fn __repr__(&self) -> String {
        format!("Array(type={}, len={})", self.0.data_type(), self.0.len())
    }
}

/// A user's partitioner.
pub(crate) struct Custom(Py<PyAny>);

impl Custom {
    /// Takes the partitioner out of a producer's keywords, unless it is a name.
    pub(crate) fn take<'py>(
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Option<Self>, Option<Bound<'py, PyDict>>)> {
        let Some(kwargs) = kwargs else { return Ok((None, None)) };
        let given = kwargs.get_item(KEYWORD)?;
        let Some(given) = given.filter(|given| !given.is_none() && !given.is_instance_of::<PyString>())
        else {
            return Ok((None, Some(kwargs.clone())));
        };
        if !given.is_callable() && !given.hasattr(BATCH)? {
            let ty = given.get_type().name()?;
            let words = format!(
                "partitioner is of type {ty}; expected a name, a callable (topic, key, value, partitions) or an object with {BATCH}(topic, keys, partitions)"
            );
            return Err(errors::config(kwargs.py(), words));
        }
        let rest = kwargs.copy()?;
        rest.del_item(KEYWORD)?;
        Ok((Some(Self(given.unbind())), Some(rest)))
    }

    /// The partition for one record.
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
            return chosen.first().copied().ok_or_else(|| wrong(py, topic, "nothing", count));
        }
        let bytes = |data: Option<&[u8]>| data.map(|data| PyBytes::new(py, data));
        let answer = custom.call1((topic, bytes(key), bytes(value), count))?;
        checked(topic, &answer, count)
    }

    /// The partitions for a column of keys.
    fn choose_batch(&self, py: Python<'_>, topic: &str, keys: ArrayRef, count: usize) -> PyResult<Vec<i32>> {
        let rows = keys.len();
        let answer = self.0.bind(py).call_method1(BATCH, (topic, Array(keys), count))?;
        let mut chosen = Vec::with_capacity(rows);
        if speaks_arrow(&answer)? {
            for chunk in chunks("partitions", &answer)? {
                for row in 0..chunk.len() {
                    let partition = match chunk.data_type() {
                        _ if chunk.is_null(row) => None,
                        DataType::Int32 => Some(i64::from(chunk.as_primitive::<Int32Type>().value(row))),
                        DataType::Int64 => Some(chunk.as_primitive::<Int64Type>().value(row)),
                        ty => return Err(wrong(py, topic, &format!("an array of {ty}"), count)),
                    };
                    let partition = partition.ok_or_else(|| wrong(py, topic, "a null", count))?;
                    chosen.push(within(py, topic, partition, count)?);
                }
            }
        } else {
            for item in answer.try_iter().map_err(|_| wrong_type(topic, &answer, count))? {
                chosen.push(checked(topic, &item?, count)?);
            }
        }
        if chosen.len() == rows {
            return Ok(chosen);
        }
        let what = format!("{} partitions for {rows} keys", chosen.len());
        Err(wrong(py, topic, &what, count))
    }

    /// Gives a record its partition, unless it names one.
    pub(crate) fn place_record(
        &self,
        py: Python<'_>,
        topic: &str,
        fields: &mut OwnedRecord,
        count: usize,
    ) -> PyResult<()> {
        if fields.partition.is_none() {
            let [key, value] = fields.as_slices();
            fields.partition = Some(self.choose(py, topic, key, value, count)?);
        }
        Ok(())
    }

    /// Gives all rows a partition that name none.
    pub(crate) fn place(
        &self,
        py: Python<'_>,
        topic: &str,
        rows: &mut OwnedRows,
        count: usize,
    ) -> PyResult<()> {
        match rows {
            OwnedRows::Lists(rows) | OwnedRows::Told(rows) if self.0.bind(py).hasattr(BATCH)? => {
                let keys: BinaryArray =
                    rows.iter().map(|row| row.as_slices()[0].map(<[u8]>::to_vec)).collect();
                let chosen = self.choose_batch(py, topic, Arc::new(keys), count)?;
                for (row, chosen) in rows.iter_mut().zip(chosen) {
                    row.partition = row.partition.or(Some(chosen));
                }
                Ok(())
            }
            OwnedRows::Lists(rows) | OwnedRows::Told(rows) => {
                rows.iter_mut().try_for_each(|row| self.place_record(py, topic, row, count))
            }
            OwnedRows::Arrow(pairs) => pairs.iter_mut().try_for_each(|pair| {
                *pair = self.place_columns(py, topic, pair, count)?;
                Ok(())
            }),
        }
    }

    fn place_columns(&self, py: Python<'_>, topic: &str, pair: &Pair, count: usize) -> PyResult<Pair> {
        let rows = columns(pair).map_err(|error| errors::config(py, error.to_string()))?;
        let (keys, values) = pair;
        let table = values.as_struct_opt();
        let all = if self.0.bind(py).hasattr(BATCH)? {
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

/// Columns of records with these partitions.
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

/// The error for what a partitioner must not return.
fn wrong(py: Python<'_>, topic: &str, what: &str, count: usize) -> PyErr {
    let last = count.saturating_sub(1);
    let words = format!("the partitioner returned {what}; expected for each record an int from 0 to {last}");
    errors::raise(py, &Error::new(Kind::Config, words).topic(topic))
}

fn wrong_type(topic: &str, answer: &Bound<'_, PyAny>, count: usize) -> PyErr {
    let ty = answer.get_type().name().map_or_else(|_| "something".to_owned(), |name| name.to_string());
    wrong(answer.py(), topic, &format!("an object of type {ty}"), count)
}

fn within(py: Python<'_>, topic: &str, partition: i64, count: usize) -> PyResult<i32> {
    let known = usize::try_from(partition).is_ok_and(|partition| partition < count);
    let partition32 = i32::try_from(partition).ok().filter(|_| known);
    partition32.ok_or_else(|| wrong(py, topic, &partition.to_string(), count))
}

fn checked(topic: &str, answer: &Bound<'_, PyAny>, count: usize) -> PyResult<i32> {
    // A bool is an int to Python, and a mistake here.
    if answer.is_instance_of::<PyBool>() {
        return Err(wrong_type(topic, answer, count));
    }
    match answer.extract::<i64>() {
        Ok(partition) => within(answer.py(), topic, partition, count),
        Err(_) if answer.is_instance_of::<PyInt>() => {
            Err(wrong(answer.py(), topic, "an int that is far too large", count))
        }
        Err(_) => Err(wrong_type(topic, answer, count)),
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
    partitions: usize,
) -> PyResult<Array> {
    if partitions == 0 {
        return Err(errors::config(py, "partitions is 0: expected the topic's number of partitions"));
    }
    let chunks = chunks("keys", keys)?;
    let mut chosen: Vec<Option<i32>> = Vec::with_capacity(chunks.iter().map(|chunk| chunk.len()).sum());
    for chunk in chunks {
        let pair = (None, chunk);
        // A column of keys is read as one of values is.
        let column = columns(&pair).map_err(|error| errors::config(py, error.to_string()))?;
        py.detach(|| {
            for row in 0..column.len() {
                let key = column.row(row).and_then(|fields| fields.value);
                chosen.push(key.map(|key| ottla_client::producer::partition_for_key(key, partitions)));
            }
        });
    }
    Ok(Array(Arc::new(Int32Array::from(chosen))))
}
