//! The Python module `ottla._core`: convert, release the GIL, call, convert back.
//!
//! One file per noun. Nothing starts at import: no thread, no runtime; the first client makes the
//! process's runtime (`runtime.rs`). The typed face of all this is `python/ottla/_core.pyi`.

mod admin;
mod arrow;
mod arrow_rows;
mod async_client;
mod async_producer;
mod asyncio;
mod awaited;
mod backlog;
mod batch_delivery;
mod callbacks;
mod calls;
mod client;
mod cluster;
mod config;
mod consumer;
mod delivery;
mod doctor;
mod engine;
mod errors;
mod events;
mod exit;
mod failed_futures;
mod given_client;
mod hooks;
mod interceptors;
mod list_rows;
mod logging;
mod mock;
mod moment;
mod offsets;
mod partitioner;
mod producer;
mod record;
mod rows;
mod runs;
mod runtime;
mod scan;
mod send_batch;
mod serializers;
mod tokens;
mod told_rows;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    runtime::notice_forks(module.py())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<admin::Admin>()?;
    module.add_class::<arrow::RecordBatch>()?;
    module.add_class::<async_client::AsyncClient>()?;
    module.add_class::<async_client::AsyncEvents>()?;
    module.add_class::<async_producer::AsyncProducer>()?;
    module.add_class::<batch_delivery::AsyncBatchDelivery>()?;
    module.add_class::<batch_delivery::BatchDelivery>()?;
    module.add_class::<callbacks::DeliveryReports>()?;
    module.add_class::<client::Client>()?;
    module.add_class::<client::ConnectionStatus>()?;
    module.add_class::<cluster::Broker>()?;
    module.add_class::<cluster::Cluster>()?;
    module.add_class::<cluster::Partition>()?;
    module.add_class::<cluster::Topic>()?;
    module.add_class::<consumer::AsyncConsumerBase>()?;
    module.add_class::<consumer::Consumer>()?;
    module.add_class::<consumer::ConsumerBase>()?;
    module.add_class::<consumer::MemberSubscription>()?;
    module.add_class::<consumer::GroupMetadata>()?;
    module.add_class::<consumer::OffsetAndMetadata>()?;
    module.add_class::<consumer::RebalanceChange>()?;
    module.add_class::<consumer::Record>()?;
    module.add_class::<events::Event>()?;
    module.add_class::<events::Events>()?;
    module.add_class::<logging::LogEvents>()?;
    module.add_class::<mock::MockCluster>()?;
    module.add_class::<offsets::OffsetAndTimestamp>()?;
    module.add_class::<partitioner::Array>()?;
    module.add_class::<delivery::Delivery>()?;
    module.add_class::<producer::Producer>()?;
    module.add_class::<delivery::RecordMetadata>()?;
    module.add_class::<scan::Scan>()?;
    module.add_function(wrap_pyfunction!(config::config_row_of, module)?)?;
    module.add_function(wrap_pyfunction!(config::config_rows, module)?)?;
    module.add_function(wrap_pyfunction!(doctor::examine, module)?)?;
    module.add_function(wrap_pyfunction!(config::foreign_config_rows, module)?)?;
    module.add_function(wrap_pyfunction!(partitioner::partitions_for_keys, module)?)?;
    module.add_function(wrap_pyfunction!(producer::partition_for_key, module)?)?;
    Ok(())
}
