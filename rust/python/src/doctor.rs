//! The doctor's facts as plain Python values. `ottla.doctor` turns them into dataclasses and derives the
//! findings.

use std::time::{Duration, UNIX_EPOCH};

use ottla_client::Endpoint;
use ottla_client::admin::transactions::OpenTransaction;
use ottla_client::doctor::{
    AddressFacts, BrokerFacts, CoordinatorFacts, EndpointFacts, Facts, LogDirFacts, PartitionFacts, Progress,
    ProgressState, QuorumFacts, Step, Targets, TlsFacts, TopicFacts, View, VoterFacts,
    examine as examine_core, examine_with_progress,
};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::JoinSet;

use crate::client_of::engine_of;
use crate::config;
use crate::convert::errors;
use crate::convert::number;
use crate::runtime::{runtime, seconds, wait, wait_for};

/// The default timeout of all checks together.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Run the checks of ``ottla.diagnose`` and return what they found, as plain values.
///
/// ``on_step`` is called on this thread, with the fields of a ``DiagnosisStep`` as a dict.
#[pyfunction]
#[pyo3(signature = (bootstrap=None, config=None, *, topic=None, group=None, timeout=None, on_step=None, **kwargs))]
#[expect(clippy::too_many_arguments, reason = "the keyword arguments of a Python function")]
pub(crate) fn examine<'py>(
    py: Python<'py>,
    bootstrap: Option<&Bound<'_, PyAny>>,
    config: Option<&Bound<'_, PyAny>>,
    topic: Option<String>,
    group: Option<String>,
    #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    on_step: Option<&Bound<'_, PyAny>>,
    kwargs: Option<&Bound<'_, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    let client = bootstrap.map(engine_of).transpose()?.flatten();
    let (config, environment) = match client {
        Some(_) if config.is_some() || kwargs.is_some_and(|kwargs| !kwargs.is_empty()) => {
            let message = "a diagnosis of a client takes its configuration from it: give no other";
            return Err(errors::config(py, message.to_owned()));
        }
        Some(client) => (client.config().clone(), client.environment().clone()),
        None => config::config(py, bootstrap, config, kwargs)?,
    };
    let timeout = seconds(timeout, TIMEOUT)?;
    let targets = Targets { topic, group };
    let Some(on_step) = on_step else {
        let facts = wait_for(py, examine_core(config, environment, targets, timeout))?;
        return facts_dict(py, &facts);
    };
    let (sender, mut receiver) = unbounded_channel();
    // The checks run on the runtime, so that a slow callback delays none of them. Dropping the set, after an
    // exception of the callback or Ctrl-C, ends them.
    let mut examination = JoinSet::new();
    examination.spawn_on(
        examine_with_progress(config, environment, targets, timeout, Some(sender)),
        runtime()?.handle(),
    );
    while let Some(progress) = wait(py, receiver.recv())? {
        on_step.call1((progress_dict(py, &progress)?,))?;
    }
    match wait(py, examination.join_next())? {
        Some(Ok(facts)) => facts_dict(py, &facts.map_err(|error| errors::raise(py, &error))?),
        Some(Err(_)) | None => Err(PyRuntimeError::new_err("the checks ended without a result")),
    }
}

type Dict<'py> = PyResult<Bound<'py, PyDict>>;

/// Builds a dict from fields and their values.
macro_rules! dict {
    ($py:expr, $($name:ident: $value:expr),* $(,)?) => {{
        let dict = PyDict::new($py);
        $(dict.set_item(stringify!($name), $value)?;)*
        Ok(dict)
    }};
}

fn list<'py, T>(
    py: Python<'py>,
    items: impl IntoIterator<Item = T>,
    convert: impl Fn(Python<'py>, T) -> Dict<'py>,
) -> PyResult<Bound<'py, PyList>> {
    let items = items.into_iter().map(|item| convert(py, item)).collect::<PyResult<Vec<_>>>()?;
    PyList::new(py, items)
}

fn facts_dict<'py>(py: Python<'py>, facts: &Facts) -> Dict<'py> {
    dict! { py,
        security_protocol: &facts.security_protocol,
        bootstrap: list(py, &facts.bootstrap, endpoint)?,
        cluster: facts.cluster.as_ref().map(|cluster| view(py, cluster)).transpose()?,
        topics: facts.topics.as_ref().map(|topics| topic(py, topics)).transpose()?,
        quorum: facts.quorum.as_ref().map(|facts| quorum(py, facts)).transpose()?,
        brokers: list(py, &facts.brokers, broker)?,
        coordinator: facts.coordinator.as_ref().map(|facts| coordinator(py, facts)).transpose()?,
        open_transactions: list(py, &facts.open_transactions, open_transaction)?,
        seconds: facts.duration.as_secs_f64(),
    }
}

fn progress_dict<'py>(py: Python<'py>, progress: &Progress) -> Dict<'py> {
    let (state, message) = match &progress.state {
        ProgressState::Started => ("started", ""),
        ProgressState::Passed => ("passed", ""),
        ProgressState::Failed(message) => ("failed", &**message),
    };
    dict! { py,
        phase: progress.phase.name(),
        target: &progress.target,
        check: progress.check.name(),
        state: state,
        message: message,
        seconds: progress.duration.as_secs_f64(),
    }
}

fn open_transaction<'py>(py: Python<'py>, open: &OpenTransaction) -> Dict<'py> {
    let known = open.transaction.as_ref();
    dict! { py,
        topic: &*open.topic,
        partition: open.partition,
        start_offset: open.start_offset,
        producer_id: open.producer.producer_id,
        last_timestamp: open.producer.last_timestamp,
        transactional_id: known.map(|known| &known.transactional_id),
        start_time: known.and_then(|known| known.started),
        timeout: known.map(|known| known.timeout.as_secs_f64()),
        is_hanging: open.is_hanging,
    }
}

fn step<'py>(py: Python<'py>, step: &Step) -> Dict<'py> {
    let failure = step.failure.as_ref();
    dict! { py,
        check: step.check.name(),
        seconds: step.duration.as_secs_f64(),
        reason: failure.map(|failure| failure.reason.name()),
        message: failure.map(|failure| &failure.message),
        code: failure.and_then(|failure| failure.code).map(|code| code.name()),
    }
}

fn host_and_port<'py>(py: Python<'py>, endpoint: &Endpoint) -> Dict<'py> {
    dict! { py, host: &endpoint.host, port: endpoint.port }
}

fn endpoint<'py>(py: Python<'py>, facts: &EndpointFacts) -> Dict<'py> {
    dict! { py,
        host: &facts.endpoint.host,
        port: facts.endpoint.port,
        dns: step(py, &facts.dns)?,
        addresses: list(py, &facts.addresses, address)?,
    }
}

fn address<'py>(py: Python<'py>, facts: &AddressFacts) -> Dict<'py> {
    let apis = PyDict::new(py);
    for api in &facts.apis {
        apis.set_item(api.name, (api.min, api.max))?;
    }
    dict! { py,
        ip: facts.address.ip().to_string(),
        port: facts.address.port(),
        steps: list(py, &facts.steps, step)?,
        tls: facts.tls.as_ref().map(|facts| tls(py, facts)).transpose()?,
        apis: apis,
        release: facts.release,
        gateway: &facts.gateway,
        mechanisms: &facts.mechanisms,
        view: facts.view.as_ref().map(|cluster| view(py, cluster)).transpose()?,
        node: facts.node,
        other_clusters: &facts.other_clusters,
        other_nodes: &facts.other_nodes,
    }
}

fn tls<'py>(py: Python<'py>, facts: &TlsFacts) -> Dict<'py> {
    let not_after = facts.not_after.and_then(|until| until.duration_since(UNIX_EPOCH).ok());
    dict! { py,
        version: &facts.version,
        cipher: &facts.cipher,
        subject: &facts.subject,
        issuer: &facts.issuer,
        names: &facts.names,
        not_after: not_after.map(|until| until.as_secs_f64()),
        client_certificate_requested: facts.client_certificate_requested,
    }
}

fn view<'py>(py: Python<'py>, view: &View) -> Dict<'py> {
    let brokers = list(py, &view.brokers, |py, broker| {
        let dict = host_and_port(py, &broker.endpoint)?;
        dict.set_item("id", broker.id)?;
        dict.set_item("rack", &broker.rack)?;
        Ok(dict)
    })?;
    dict! { py, cluster_id: &view.cluster_id, brokers: brokers }
}

fn topic<'py>(py: Python<'py>, facts: &TopicFacts) -> Dict<'py> {
    dict! { py,
        step: step(py, &facts.step)?,
        name: &facts.name,
        error: facts.error.map(|code| code.name()),
        topics: facts.topics,
        partitions: facts.partitions,
        leaderless: &facts.leaderless,
        leaderless_count: facts.leaderless_count,
        under_replicated: facts.under_replicated,
        missing_brokers: &facts.missing_brokers,
    }
}

fn broker<'py>(py: Python<'py>, facts: &BrokerFacts) -> Dict<'py> {
    dict! { py,
        id: facts.id,
        rack: &facts.rack,
        leads: facts.leads,
        replicas: facts.replicas,
        log_dirs: list(py, &facts.log_dirs, log_dir)?,
        endpoint: endpoint(py, &facts.endpoint)?,
        partitions: list(py, &facts.partitions, partition)?,
    }
}

fn log_dir<'py>(py: Python<'py>, facts: &LogDirFacts) -> Dict<'py> {
    dict! { py,
        path: &facts.path,
        error: facts.error.map(|code| code.name()),
        total_bytes: facts.total_bytes,
        usable_bytes: facts.usable_bytes,
    }
}

fn quorum<'py>(py: Python<'py>, facts: &QuorumFacts) -> Dict<'py> {
    dict! { py,
        steps: list(py, &facts.steps, step)?,
        leader: facts.leader,
        voters: list(py, &facts.voters, voter)?,
    }
}

fn voter<'py>(py: Python<'py>, facts: &VoterFacts) -> Dict<'py> {
    dict! { py, id: facts.id, lag_ms: facts.lag_ms }
}

fn partition<'py>(py: Python<'py>, facts: &PartitionFacts) -> Dict<'py> {
    dict! { py,
        topic: &facts.topic,
        partition: facts.partition,
        steps: list(py, &facts.steps, step)?,
        start: facts.start,
        end: facts.end,
        leader_now: facts.leader_now,
    }
}

fn coordinator<'py>(py: Python<'py>, facts: &CoordinatorFacts) -> Dict<'py> {
    dict! { py,
        group: &facts.group,
        steps: list(py, &facts.steps, step)?,
        broker: facts.broker,
        state: &facts.state,
        members: facts.members,
    }
}
