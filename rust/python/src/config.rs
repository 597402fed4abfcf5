//! Configuration from Python: a mapping of dotted names (the first argument, or `config`), and keyword
//! arguments with underscores. Every class and function that takes a configuration calls this.

use ottla_client::config::{OTHER_CLIENT_KEYS, Row, Value, rows};
use ottla_client::consumer::group::GroupSettings;
use ottla_client::environment::Environment;
use ottla_client::producer::Producer;
use ottla_client::{Client, Config};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyMapping, PyString};

use crate::convert::errors;
use crate::convert::mapping;
use crate::convert::number::is_index;
use crate::convert::text::utf8;
use crate::token_callback;

/// The key of the token callback, by its dotted name.
const TOKEN_CALLBACK: &str = "sasl.oauth.token";

/// Returns the configuration of a client and its environment.
///
/// A mapping in place of the addresses is the configuration, as in confluent-kafka. Keyword arguments win
/// over the mapping. The environment gets the token callback: a callable, or one that the configuration
/// names.
pub(crate) fn config(
    py: Python<'_>,
    bootstrap: Option<&Bound<'_, PyAny>>,
    mapping: Option<&Bound<'_, PyAny>>,
    kwargs: Option<&Bound<'_, PyDict>>,
) -> PyResult<(Config, Environment)> {
    let (bootstrap, mapping) = match bootstrap.filter(|first| first.cast::<PyMapping>().is_ok()) {
        Some(_) if mapping.is_some_and(|mapping| !mapping.is_none()) => {
            let message =
                "the configuration was passed twice, as the first argument and as config: pass one mapping";
            return Err(errors::config(py, message));
        }
        Some(first) => (None, Some(first)),
        None => (bootstrap, mapping),
    };
    let mut pairs: Vec<(String, Value)> = Vec::new();
    let mut environment = Environment::default();
    let example = "{\"linger.ms\": 5}";
    let mut push = |name: &Bound<'_, PyAny>, item: &Bound<'_, PyAny>| -> PyResult<()> {
        let name = mapping::key(name, "config", example)?;
        if item.is_none() {
            return Ok(());
        }
        if name.replace('_', ".") == TOKEN_CALLBACK {
            environment.token_provider = Some(token_callback::provider(item)?);
            return Ok(());
        }
        // Before the value, which may be of a type that no key has, such as another client's callback.
        Config::check_key(&name).map_err(|error| errors::raise(py, &error))?;
        let value = value(&name, item)?;
        pairs.push((name, value));
        Ok(())
    };
    if let Some(mapping) = mapping.filter(|mapping| !mapping.is_none()) {
        for (name, value) in mapping::items(mapping, "config", example)? {
            push(&name, &value)?;
        }
    }
    if let Some(kwargs) = kwargs {
        for (name, value) in kwargs {
            push(&name, &value)?;
        }
    }
    if let Some(bootstrap) = bootstrap.filter(|bootstrap| !bootstrap.is_none()) {
        pairs.push(("bootstrap.servers".to_owned(), value("bootstrap", bootstrap)?));
    }
    let config = Config::from_pairs(pairs.iter().map(|(name, value)| (name.as_str(), value.clone())));
    let config = config.map_err(|error| errors::raise(py, &error))?;
    let named = config.sasl_oauthbearer_token_provider.trim();
    if !named.is_empty() {
        if environment.token_provider.is_some() {
            let message = "sasl_oauth_token and sasl.oauthbearer.token.provider are both set: choose one";
            return Err(errors::config(py, message));
        }
        environment.token_provider = Some(token_callback::named_provider(py, named, config.addresses())?);
    }
    Ok((config, environment))
}

/// Converts the value of a key.
pub(crate) fn value(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    // First, because a bool is an int in Python.
    if value.is_instance_of::<PyBool>() {
        Ok(Value::Bool(value.extract()?))
    } else if value.is_instance_of::<PyInt>() || is_index(value)? {
        let number = value
            .extract()
            .map_err(|_| errors::config(value.py(), format!("{name}: the number is too large")))?;
        Ok(Value::Int(number))
    } else if value.is_instance_of::<PyFloat>() {
        Ok(Value::Float(value.extract()?))
    } else if value.is_instance_of::<PyString>() {
        Ok(Value::Str(utf8(name, value.cast()?)?.to_string()))
    } else if let Ok(items) = value.extract::<Vec<String>>() {
        Ok(Value::List(items))
    } else {
        let ty = value.get_type().name()?.to_string();
        let message = format!(
            "{name}: a value of type {ty} cannot be used; expected a str, a number, a bool or a list of str"
        );
        Err(errors::config(value.py(), message))
    }
}

/// Creates a client, which does not connect. Without the GIL: deriving the key of a key store takes seconds.
pub(crate) fn new_client(py: Python<'_>, config: Config, environment: Environment) -> PyResult<Client> {
    py.detach(|| Client::new(config, environment)).map_err(|error| errors::raise(py, &error))
}

/// Check a configuration without a broker, as the classes do when they are created.
///
/// Args:
///     config: configuration by Kafka's dotted names. Keyword arguments are the same names with
///         underscores, and take precedence. See ``Client``.
///
/// Raises:
///     ConfigError: a key or a value is invalid, or values contradict each other; a file that the
///         configuration names cannot be used.
#[pyfunction]
#[pyo3(signature = (config=None, /, **kwargs))]
pub(crate) fn check_config(
    py: Python<'_>,
    config: Option<&Bound<'_, PyAny>>,
    kwargs: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    let (config, environment) = self::config(py, None, config, kwargs)?;
    let client = new_client(py, config, environment)?;
    let checked = GroupSettings::try_from(client.config()).and_then(|_| Producer::new(client));
    checked.map(drop).map_err(|error| errors::raise(py, &error))
}

/// A key of the configuration: name, type, default, bounds, meaning.
pub(crate) type RowTuple = (&'static str, &'static str, String, Option<(i64, i64)>, &'static str);

/// Return all configuration keys: name, type, default, bounds and meaning of each.
#[pyfunction]
pub(crate) fn config_rows() -> Vec<RowTuple> {
    rows().into_iter().map(row_tuple).collect()
}

pub(crate) fn row_tuple(row: Row) -> RowTuple {
    (row.name, row.ty, row.default, (row.bounds != (0, 0)).then_some(row.bounds), row.doc)
}

/// A key of another client: name, client, the row that it sets (if any), and its mapping as Markdown.
type OtherClientTuple = (&'static str, &'static str, Option<&'static str>, String);

/// Return the known keys of other clients: name, client, the key that each sets, and its
/// mapping as Markdown.
#[pyfunction]
pub(crate) fn other_client_config_rows() -> Vec<OtherClientTuple> {
    OTHER_CLIENT_KEYS.iter().map(|key| (key.name, key.client, key.row(), key.describe())).collect()
}

/// Return the keys and values of a Java properties file: its comments, escapes and continuations
/// are those of Java.
///
/// Raises:
///     ConfigError: an escape ``\uXXXX`` is half of a character.
#[pyfunction]
pub(crate) fn read_properties(py: Python<'_>, text: &str) -> PyResult<Vec<(String, String)>> {
    ottla_client::config::read_properties(text).map_err(|error| errors::raise(py, &error))
}

/// Return the configuration key that a name of any client sets, or None.
#[pyfunction]
pub(crate) fn config_row_of(name: &str) -> Option<&'static str> {
    Config::row_of(name)
}
