//! Skips whole JSON values that are not decoded.
//!
//! Invariant: skipped values are checked like decoded ones, without recursion.

use super::{Fault, Scanner};

/// The maximum nesting depth of a value that is skipped or kept as text.
const MAX_SKIPPED_DEPTH: u32 = u128::BITS;

impl Scanner<'_> {
    /// Consumes any value.
    pub(in crate::json) fn skip(&self) -> Result<(), Fault> {
        // One bit for each open level: whether it is an object.
        let mut objects = 0_u128;
        let mut depth = 0;
        loop {
            let is_object = match self.peek() {
                Some(b'{') => Some(true),
                Some(b'[') => Some(false),
                Some(b'"') => {
                    self.skip_string()?;
                    None
                }
                Some(b'-' | b'0'..=b'9') => {
                    self.number("a number")?;
                    None
                }
                Some(b'n') => {
                    self.null()?;
                    None
                }
                Some(b't' | b'f') => {
                    self.boolean()?;
                    None
                }
                _ => return Err(self.unexpected("a value")),
            };
            if let Some(is_object) = is_object {
                if depth == MAX_SKIPPED_DEPTH {
                    return Err(format!("it is nested more than {MAX_SKIPPED_DEPTH} levels deep"));
                }
                self.advance(1);
                if !self.accept(if is_object { b'}' } else { b']' }) {
                    objects = objects << 1 | u128::from(is_object);
                    depth += 1;
                    self.skip_key(is_object)?;
                    continue;
                }
            }
            loop {
                if depth == 0 {
                    return Ok(());
                }
                let in_object = objects & 1 == 1;
                if self.next_item(if in_object { b'}' } else { b']' })? {
                    self.skip_key(in_object)?;
                    break;
                }
                objects >>= 1;
                depth -= 1;
            }
        }
    }

    fn skip_key(&self, in_object: bool) -> Result<(), Fault> {
        if !in_object {
            return Ok(());
        }
        match self.peek() {
            Some(b'"') => self.skip_string()?,
            _ => return Err(self.unexpected("a key")),
        }
        self.expect(b':', "':'")
    }
}
