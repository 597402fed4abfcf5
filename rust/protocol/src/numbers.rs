//! [`visit_numbers`]: looks at the integers of a response without decoding it.

use crate::api::ApiKey;
pub use crate::fields::{Number, Stop};
use crate::fields::{Visitor, visit_fields};

/// Calls `visit` with each integer of 16 or 32 bits in the response, in order; `body` are its bytes after the
/// correlation id, or their beginning. Returns the length of the response.
///
/// # Errors
/// If the bytes end before the response does, or are malformed; `visit` got the numbers in front of that place.
pub fn visit_numbers(
    api: ApiKey,
    version: i16,
    body: &[u8],
    visit: &mut dyn FnMut(Number),
) -> Result<usize, Stop> {
    visit_fields(api, version, body, &mut Numbers(visit))
}

struct Numbers<'a>(&'a mut dyn FnMut(Number));

impl Visitor for Numbers<'_> {
    fn number(&mut self, number: Number) {
        (self.0)(number);
    }
}
