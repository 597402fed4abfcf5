//! Arguments that are numbers: one function for each name, which is the `from_py_with` of the parameter.
//!
//! Invariants: a bool is no number, although Python counts it among the integers: `True` is mostly the value of another
//! argument, and never partition, offset or second 1. The same holds for numpy's bools; its integers are numbers. An error
//! names the argument, shows what was passed, and says what is expected.

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};

use super::errors;

/// The longest text of an argument in a message.
const SHOWN: usize = 100;

/// Whether a value is a bool, of Python or numpy.
pub(crate) fn is_bool(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if value.is_exact_instance_of::<PyInt>() || value.is_exact_instance_of::<PyFloat>() {
        return Ok(false);
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(true);
    }
    let name = value.get_type().name()?;
    // The older one has an underscore.
    Ok(name == "bool" || name == "bool_")
}

/// Whether a value is an integer, such as numpy's, and no bool.
pub(crate) fn is_index(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if value.is_exact_instance_of::<PyInt>() {
        return Ok(true);
    }
    Ok(value.hasattr(intern!(value.py(), "__index__"))? && !is_bool(value)?)
}

/// A type of a parameter that is a number, or may be None.
pub(crate) trait Number: Sized {
    /// Converts an argument; `expected` describes it in an error.
    fn of(value: &Bound<'_, PyAny>, name: &str, expected: &str) -> PyResult<Self>;
}

macro_rules! numbers {
    ($($ty:ty),*) => {$(
        impl Number for $ty {
            #[inline]
            fn of(value: &Bound<'_, PyAny>, name: &str, expected: &str) -> PyResult<Self> {
                // The usual case, at the cost of one comparison.
                if value.is_exact_instance_of::<PyInt>()
                    && let Ok(number) = value.extract()
                {
                    return Ok(number);
                }
                if is_bool(value)? {
                    return Err(wrong_type(value, name, expected));
                }
                value.extract().map_err(|error: PyErr| explain(error, value, name, expected))
            }
        }
    )*};
}
numbers!(u8, i16, u16, i32, u32, i64, u64, usize, f64);

impl<N: Number> Number for Option<N> {
    fn of(value: &Bound<'_, PyAny>, name: &str, expected: &str) -> PyResult<Self> {
        if value.is_none() { Ok(None) } else { N::of(value, name, expected).map(Some) }
    }
}

fn explain(error: PyErr, value: &Bound<'_, PyAny>, name: &str, expected: &str) -> PyErr {
    let py = value.py();
    if error.is_instance_of::<PyOverflowError>(py) {
        return errors::config(
            py,
            format!("{name} is {}, which is out of range: expected {expected}", shown(value)),
        );
    }
    // Others are raised by a conversion of the value's own.
    if error.is_instance_of::<PyTypeError>(py) { wrong_type(value, name, expected) } else { error }
}

fn wrong_type(value: &Bound<'_, PyAny>, name: &str, expected: &str) -> PyErr {
    let ty = value.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
    let message = format!("{name} is the {ty} {}: expected {expected}", shown(value));
    errors::argument_type(value.py(), message)
}

fn shown(value: &Bound<'_, PyAny>) -> String {
    let text = value.repr().map_or_else(|_| "it".to_owned(), |text| text.to_string());
    text.chars().take(SHOWN).collect()
}

/// An integer within another argument, such as the number of a partition. The caller's error names that argument.
pub(crate) struct Integer<T>(pub(crate) T);

impl<T: Number> FromPyObject<'_, '_> for Integer<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        T::of(&object, "a number", "an int").map(Self)
    }
}

macro_rules! arguments {
    ($($name:ident: $expected:literal;)*) => {$(
        pub(crate) fn $name<N: Number>(value: &Bound<'_, PyAny>) -> PyResult<N> {
            N::of(value, stringify!($name), $expected)
        }
    )*};
}

arguments! {
    before: "an offset, such as 0";
    broker: "the id of a broker, such as 1";
    brokers: "an int, such as 1";
    default_partitions: "an int, such as 1";
    delivery_count: "an int, such as 1";
    fault: "an int, such as 1";
    first_offset: "an offset, such as 0";
    generation: "an int, such as 1";
    group_heartbeat_interval: "seconds, such as 1.5";
    group_initial_delay: "seconds, such as 1.5";
    group_session_timeout: "seconds, such as 1.5";
    last_offset: "an offset, such as 0";
    leader_epoch: "an int, such as 1";
    level: "an int, such as 1";
    max_message_bytes: "an int, such as 1";
    max_records: "an int, such as 1";
    max_rows: "an int, such as 1";
    offset: "an offset, such as 0";
    partition: "the number of a partition, such as 0";
    partitions: "an int, such as 1";
    port: "an int, such as 1";
    producer_epoch: "an int, such as 1";
    producer_id: "an int, such as 1";
    protocol: "an int, such as 1";
    replication: "an int, such as 1";
    running_longer_than: "seconds, such as 1.5";
    session_lifetime: "seconds, such as 1.5";
    share_lock_duration: "seconds, such as 1.5";
    skip: "an int, such as 1";
    start_offset: "an offset, such as 0";
    target_bytes: "an int, such as 1";
    timeout: "seconds, such as 1.5";
    times: "an int, such as 1";
    timestamp: "milliseconds since 1970";
    timestamp_type: "an int, such as 1";
    to: "the id of a broker, such as 1";
    transaction_max_timeout: "seconds, such as 1.5";
    transaction_version: "an int, such as 1";
    version: "a version, such as 1";
}
