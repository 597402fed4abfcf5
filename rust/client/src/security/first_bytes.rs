//! The first bytes that a peer sends: if they are not TLS, they identify its protocol.

use std::io;

use crate::environment::read_observer::ReadObserver;

/// The first bytes read from a stream, at most four.
#[derive(Debug, Default)]
pub struct FirstBytes {
    bytes: [u8; 4],
    count: usize,
}

impl FirstBytes {
    /// The first four bytes, or as many as were read.
    pub(super) fn as_slice(&self) -> &[u8] {
        self.bytes.get(..self.count).unwrap_or_default()
    }
}

impl ReadObserver for FirstBytes {
    fn on_read(&mut self, read: &io::Result<&[u8]>) {
        let free = self.bytes.iter_mut().skip(self.count);
        for (slot, byte) in free.zip(*read.as_ref().unwrap_or(&&[][..])) {
            *slot = *byte;
            self.count += 1;
        }
    }
}
