//! The way of all records into the buffer: append them without waiting, and wait for the memory that they lack.
//!
//! Invariant: memory that a record has waited for goes to that record, or back to `buffer.memory`.

use std::sync::Arc;

use tokio::time::{Instant, timeout_at};

use super::{BufferReservation, Delivery, Producer};
use crate::error::{Error, Kind, Result};

/// The result of an attempt to send without waiting.
#[derive(Debug)]
pub enum SendResult<T = Delivery> {
    /// The record was accepted.
    Accepted(T),
    /// `buffer.memory` has no space for this many bytes.
    BufferFull(usize),
}

impl Producer {
    /// Repeats an attempt to send until it is accepted, and waits for buffer memory before each repetition: until
    /// the deadline, or `max.block.ms` after the first wait begins.
    ///
    /// # Errors
    /// The error of the attempt; [`Kind::Timeout`] if there was no memory in time.
    pub async fn append_when_free<T>(
        &self,
        deadline: Option<Instant>,
        mut attempt: impl FnMut(Option<BufferReservation>) -> Result<SendResult<T>>,
    ) -> Result<T> {
        match attempt(None)? {
            SendResult::Accepted(accepted) => Ok(accepted),
            SendResult::BufferFull(bytes) => self.append_after(bytes, deadline, attempt).await,
        }
    }

    /// As [`Producer::append_when_free`], after an attempt that lacked memory for so many bytes.
    ///
    /// # Errors
    /// As those of [`Producer::append_when_free`].
    pub async fn append_after<T>(
        &self,
        mut bytes: usize,
        deadline: Option<Instant>,
        mut attempt: impl FnMut(Option<BufferReservation>) -> Result<SendResult<T>>,
    ) -> Result<T> {
        let deadline = deadline.unwrap_or_else(|| self.max_block_deadline());
        loop {
            let reservation = self.reserve_buffer(bytes, deadline).await?;
            match attempt(Some(reservation))? {
                SendResult::Accepted(accepted) => return Ok(accepted),
                SendResult::BufferFull(more) => bytes = more,
            }
        }
    }

    /// Waits in line for `bytes` of buffer memory until a deadline: [`Producer::max_block_deadline`]
    /// at the start of the call that needs them.
    pub async fn reserve_buffer(&self, bytes: usize, deadline: Instant) -> Result<BufferReservation> {
        let config = self.client().config();
        let memory = &self.inner.accumulator.memory;
        // While a sender waits for memory, no batch may linger.
        let _waiting = memory.register_waiter();
        self.inner.wake.notify_one();
        let began = Instant::now();
        let reserved = timeout_at(deadline, memory.reserve(bytes)).await;
        let metrics = &self.accumulator().metrics;
        metrics.buffer_wait.record(began.elapsed().as_nanos() as f64);
        if reserved.is_err() {
            metrics.buffer_exhausted.count();
        }
        match reserved {
            Ok(()) => Ok(BufferReservation::new(Arc::clone(&self.inner), bytes)),
            Err(_) => {
                let message = format!(
                    "buffer.memory ({} bytes) stayed full for max.block.ms ({} ms)",
                    config.buffer_memory,
                    config.max_block.as_millis()
                );
                let error = match self.inner.failure_since(began) {
                    Some(error) => error.prefixed(message).as_kind(Kind::Timeout),
                    None => {
                        let why = "records come faster than the brokers accept them";
                        Error::new(Kind::Timeout, format!("{message}: {why}"))
                    }
                };
                self.accumulator().record_refused(&error);
                Err(error)
            }
        }
    }
}
