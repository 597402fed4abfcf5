//! The Python module `ottla._core`: each call converts its arguments, releases the GIL, calls the
//! core and converts the result.
//!
//! One file per noun. Importing it starts no thread and no runtime; the first client creates the
//! process's runtime (`runtime.rs`). Its type stubs are in `python/ottla/_core/`.

mod admin;
mod argument_kinds;
mod asyncio;
mod client;
mod client_of;
mod compat;
mod config;
mod consumer;
mod convert;
mod dead_letters;
mod doctor;
mod error_codes;
mod faults;
mod gateway;
mod logging;
mod mock;
mod producer;
mod runtime;
mod scan;
mod schema_registry;
mod token_callback;
mod typed;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    runtime::register_fork_hooks(module.py())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<admin::sync::Admin>()?;
    module.add_class::<admin::asynchronous::AsyncAdmin>()?;
    module.add_class::<admin::call::AdminCall>()?;
    module.add_class::<admin::transactions::OpenTransaction>()?;
    module.add_class::<admin::transactions::ProducerState>()?;
    module.add_class::<admin::transactions::TransactionDescription>()?;
    module.add_class::<admin::transactions::TransactionListing>()?;
    module.add_class::<producer::PreparedTransaction>()?;
    module.add_class::<convert::record_batch::RecordBatch>()?;
    module.add_class::<client::base::ClientBase>()?;
    module.add_class::<client::asynchronous::AsyncClient>()?;
    module.add_class::<client::async_events::AsyncEvents>()?;
    module.add_class::<producer::base::ProducerBase>()?;
    module.add_class::<producer::asynchronous::AsyncProducer>()?;
    module.add_class::<producer::batch_delivery::AsyncBatchDelivery>()?;
    module.add_class::<producer::batch_delivery::BatchDelivery>()?;
    module.add_class::<producer::callbacks::DeliveryReports>()?;
    module.add_class::<client::sync::Client>()?;
    module.add_class::<client::request_statistics::ApiStatistics>()?;
    module.add_class::<client::request_statistics::RequestStatistics>()?;
    module.add_class::<client::request_statistics::SlowRequest>()?;
    module.add_class::<client::connection_status::ConnectionStatus>()?;
    module.add_class::<client::cluster::Broker>()?;
    module.add_class::<client::cluster::Cluster>()?;
    module.add_class::<client::cluster::Partition>()?;
    module.add_class::<client::cluster::Topic>()?;
    module.add_class::<consumer::AsyncConsumerBase>()?;
    module.add_class::<consumer::Consumer>()?;
    module.add_class::<consumer::ConsumerBase>()?;
    module.add_class::<consumer::MemberSubscription>()?;
    module.add_class::<consumer::GroupMetadata>()?;
    module.add_class::<consumer::OffsetAndMetadata>()?;
    module.add_class::<consumer::ConsumerCall>()?;
    module.add_class::<consumer::RebalanceChange>()?;
    module.add_class::<consumer::Record>()?;
    module.add_class::<consumer::Watermarks>()?;
    module.add_class::<compat::ConsumerRecord>()?;
    module.add_function(wrap_pyfunction!(compat::consumer_records, module)?)?;
    module.add_class::<compat::Message>()?;
    module.add_class::<compat::MessageProducer>()?;
    module.add_class::<compat::MessageReader>()?;
    module.add_class::<compat::ReportQueue>()?;
    module.add_class::<compat::OffsetStore>()?;
    module.add_class::<consumer::share::AsyncShareConsumerBase>()?;
    module.add_class::<consumer::share::ShareConsumer>()?;
    module.add_class::<consumer::share::ShareConsumerBase>()?;
    module.add_class::<client::events::Event>()?;
    module.add_class::<client::events::Events>()?;
    module.add_class::<logging::LogEvents>()?;
    module.add_class::<gateway::Gateway>()?;
    module.add_class::<mock::MockCluster>()?;
    module.add_class::<convert::offsets::OffsetAndTimestamp>()?;
    module.add_class::<producer::arrow_array::Array>()?;
    module.add_class::<producer::delivery::Delivery>()?;
    module.add_class::<producer::sync::Producer>()?;
    module.add_class::<producer::record_metadata::RecordMetadata>()?;
    module.add_class::<mock::MockRegistry>()?;
    module.add_class::<scan::Scan>()?;
    module.add_class::<scan::AsyncScanBase>()?;
    module.add_class::<schema_registry::asynchronous::AsyncRegistry>()?;
    module.add_class::<schema_registry::schema::Compatibility>()?;
    module.add_class::<schema_registry::schema::Schema>()?;
    module.add_class::<schema_registry::schema::SchemaReference>()?;
    module.add_class::<schema_registry::setting::RegistrySetting>()?;
    module.add_class::<schema_registry::sync::Registry>()?;
    module.add_class::<typed::ColumnFormat>()?;
    module.add_class::<dead_letters::DeadLetters>()?;
    module.add_class::<typed::Avro>()?;
    module.add_class::<typed::ArrowType>()?;
    module.add_class::<typed::Json>()?;
    module.add_class::<typed::Protobuf>()?;
    module.add_function(wrap_pyfunction!(admin::call::error_of_code, module)?)?;
    module.add_function(wrap_pyfunction!(argument_kinds::is_bool, module)?)?;
    module.add_function(wrap_pyfunction!(argument_kinds::is_index, module)?)?;
    module.add_function(wrap_pyfunction!(argument_kinds::is_text, module)?)?;
    module.add_function(wrap_pyfunction!(error_codes::error_codes, module)?)?;
    module.add_function(wrap_pyfunction!(error_codes::repetition_of, module)?)?;
    module.add_function(wrap_pyfunction!(error_codes::proves_no_change, module)?)?;
    module.add_function(wrap_pyfunction!(client_of::client_of, module)?)?;
    module.add_function(wrap_pyfunction!(client_of::async_client_of, module)?)?;
    module.add_function(wrap_pyfunction!(config::check_config, module)?)?;
    module.add_function(wrap_pyfunction!(config::config_row_of, module)?)?;
    module.add_function(wrap_pyfunction!(config::config_rows, module)?)?;
    module.add_function(wrap_pyfunction!(doctor::examine, module)?)?;
    module.add_function(wrap_pyfunction!(schema_registry::registry_config_rows, module)?)?;
    module.add_function(wrap_pyfunction!(config::other_client_config_rows, module)?)?;
    module.add_function(wrap_pyfunction!(typed::schema_limit_rows, module)?)?;
    module.add_function(wrap_pyfunction!(typed::check_schema_limits, module)?)?;
    module.add_function(wrap_pyfunction!(typed::infer_json, module)?)?;
    module.add_function(wrap_pyfunction!(typed::encode_printed, module)?)?;
    module.add_function(wrap_pyfunction!(producer::partitioner::partitions_for_keys, module)?)?;
    module.add_function(wrap_pyfunction!(producer::sync::partition_for_key, module)?)?;
    Ok(())
}
