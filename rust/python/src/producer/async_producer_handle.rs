//! The state of an `AsyncProducer` besides its hooks: the core producer, the backlog of records that
//! wait, and the futures of records that do not.
//!
//! Invariant: no call blocks the loop's thread.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ottla_client::producer::{Producer as CoreProducer, SendResult, UnobservedFailure};
use pyo3::prelude::*;
use pyo3::{IntoPyObjectExt, PyVisit};

use crate::asyncio::{self, FutureCompleter, LoopCache, start};
use crate::convert::errors;
use crate::garbage::{Traverse, Visited};
use crate::producer::backlog::{Backlog, CancellationFlag, WaitingRecord, run_on_loop};
use crate::producer::base::HasCore;
use crate::producer::batch_args::BatchArgs;
use crate::producer::batch_delivery::AsyncBatchDelivery;
use crate::producer::delivery_groups::DeliveryGroups;
use crate::producer::hooks::Hooks;
use crate::producer::intercepted_rows::{self, AsyncRowSender};
use crate::producer::record::{OwnedRecord, RecordArgs};
use crate::producer::send_batch::Rows;
use crate::runtime::runtime;
use crate::token_callback;

pub(crate) struct AsyncProducerHandle {
    pub(crate) core: Arc<CoreProducer>,
    pub(crate) groups: Arc<DeliveryGroups>,
    pub(crate) backlog: Arc<Backlog>,
    /// The client was created for this producer and is closed with it.
    pub(crate) own_client: bool,
}

impl HasCore for CoreProducer {
    fn core(&self) -> &CoreProducer {
        self
    }
}

impl AsyncProducerHandle {
    /// Sends a record and returns its future.
    pub(crate) fn send<'py>(
        &self,
        py: Python<'py>,
        hooks: &Hooks,
        loop_cache: &LoopCache,
        args: &RecordArgs<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Self { core, groups, backlog, .. } = self;
        let mut record = OwnedRecord::new(args, &hooks.serializers)?;
        let (future, loop_handle) = loop_cache.future(py)?;
        let loop_queue = loop_handle.get().loop_queue();
        if backlog.is_empty()
            && let Some(writer) = core.cached_topic_writer(args.topic)
            && !writer.lacks_partition(record.partition)
        {
            if let Some(custom) = &hooks.partitioner {
                custom.assign_partition(py, args.topic, &mut record, writer.partition_count())?;
            }
            if let SendResult::Accepted(delivery) =
                record.try_send(core, &writer, None).map_err(|error| errors::raise(py, &error))?
            {
                let waiters = (Some(future.clone().unbind()), record.on_delivery);
                groups.add(delivery, record.timestamp, waiters, loop_queue);
                return Ok(future);
            }
        }
        let cancelled = Arc::new(AtomicBool::new(false));
        future.call_method1("add_done_callback", (CancellationFlag(Arc::clone(&cancelled)),))?;
        let promise = FutureCompleter::of(future.clone().unbind(), Arc::clone(loop_queue));
        let deadline = core.max_block_deadline();
        backlog.push(args.topic, WaitingRecord { record, promise, deadline, cancelled })?;
        Ok(future)
    }

    /// Starts to send many records, and returns a future of their `AsyncBatchDelivery`.
    pub(crate) fn send_batch<'py>(
        &self,
        py: Python<'py>,
        hooks: &Hooks,
        args: &BatchArgs<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let rows = Rows::new(py, args, hooks)?;
        let rows = rows.owned()?;
        let (core, topic) = (Arc::clone(&self.core), Arc::<str>::from(args.topic));
        let row_sender = AsyncRowSender {
            topic: Arc::clone(&topic),
            groups: Arc::clone(&self.groups),
            loop_queue: asyncio::running_loop_queue(py)?,
        };
        let custom = hooks.partitioner.clone();
        let work = async move {
            let mut rows = rows.encoded(&topic).await?;
            let highest = rows.highest_partition();
            let deadline = core.max_block_deadline();
            let writer = match core.topic_writer_for(&topic, highest, deadline).await {
                Ok(writer) => writer,
                Err(error) => {
                    row_sender.report_unsent(rows.into_intercepted(), error.clone());
                    return Err(error);
                }
            };
            if let Some(custom) = custom {
                let count = writer.partition_count();
                let assign = move |py: Python<'_>| {
                    if let Err(error) = custom.assign_partitions(py, &topic, &mut rows, count) {
                        intercepted_rows::report_unsent(py, &topic, rows.into_intercepted(), &error)?;
                        return Err(error);
                    }
                    Ok(rows)
                };
                match run_on_loop(&row_sender.loop_queue, deadline, assign).await {
                    Ok(assigned) => rows = assigned,
                    Err(failure) => return Ok(Err(failure)),
                }
            }
            Ok(Ok(rows.send(&core, &writer, &row_sender).await))
        };
        start(py, work, |py, sent| match sent {
            Ok((results, Ok(()))) => AsyncBatchDelivery::from(results).into_py_any(py),
            Ok((results, Err(error))) => {
                let accepted = results.count();
                let delivery = AsyncBatchDelivery::from(results);
                Err(errors::with_partial_delivery(py, errors::raise(py, &error), accepted, delivery))
            }
            Err(failure) => Err(failure.raise(py)),
        })
    }

    /// Closes the producer. `end` turns the unobserved failures and the result of closing into what the
    /// returned future raises.
    pub(crate) fn close<'py>(
        &self,
        py: Python<'py>,
        hooks: &Arc<Hooks>,
        timeout: Duration,
        end: impl FnOnce(Python<'_>, Option<UnobservedFailure>, PyResult<()>) -> PyResult<()> + Send + 'static,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Self { core, groups, backlog, own_client } = self;
        let backlog = Arc::clone(backlog);
        let own_client = own_client.then(|| core.client().clone());
        // In a task of its own: cancelling the future must not leave the producer half closed.
        let closing = runtime()?.spawn(async move {
            let closed = backlog.close(timeout).await;
            if let Some(client) = own_client {
                client.close();
            }
            closed
        });
        let work = async move {
            let ended = |error: tokio::task::JoinError| {
                let message = format!("closing ended early: {error}");
                ottla_client::Error::new(ottla_client::Kind::Closed, message)
            };
            // Return an error as a value: the interceptors are closed first.
            Ok(closing.await.map_err(ended).and_then(|closed| closed))
        };
        let (hooks, groups, core) = (Arc::clone(hooks), Arc::clone(groups), Arc::clone(core));
        start(py, work, move |py, closed: ottla_client::Result<()>| {
            hooks.interceptors.iter().try_for_each(|all| all.close(py))?;
            groups.failed.warn(py);
            core.warn_unobserved_failures();
            let unobserved = UnobservedFailure::total(
                groups.failed.take_all(py).into_iter().chain(core.unobserved_failure()),
            );
            end(py, unobserved, closed.map_err(|error| errors::raise(py, &error)))?;
            Ok(py.None())
        })
    }
}

impl Traverse for AsyncProducerHandle {
    fn traverse(&self, visit: &PyVisit<'_>) -> Visited {
        self.groups.failed.traverse(visit)?;
        if self.own_client { token_callback::traverse(self.core.client(), visit) } else { Ok(()) }
    }
}
