//! The first bytes that came over a stream: when they are no TLS, they say what they are.

use std::io;

use crate::environment::read_observer::ReadObserver;

/// How a stream began.
#[derive(Debug, Default)]
pub struct Heard {
    first: [u8; 4],
    count: usize,
}

impl Heard {
    /// The first four bytes, or as many as came.
    pub(super) fn first(&self) -> &[u8] {
        self.first.get(..self.count).unwrap_or_default()
    }
}

impl ReadObserver for Heard {
    fn on_read(&mut self, read: &io::Result<&[u8]>) {
        let room = self.first.iter_mut().skip(self.count);
        for (place, byte) in room.zip(*read.as_ref().unwrap_or(&&[][..])) {
            *place = *byte;
            self.count += 1;
        }
    }
}
