//! Skips values that the reader does not have.
//!
//! Invariant: no array item takes zero bytes, so the payload bounds the work. Values of records within themselves have a
//! limit of levels, and those that are open are on the heap, since the thread of a consumer may have a small stack.

use super::fault::Fault;
use super::input::Input;
use super::recursive::MAX_LEVELS;
use super::skip_step::{RecursiveSkips, Skip};

impl Skip {
    pub(super) fn run(&self, input: &mut Input<'_>) -> Result<(), Fault> {
        let skips = input.skips();
        let Some(first) = self.begin(input, skips)? else { return Ok(()) };
        let mut open = vec![first];
        while let Some(value) = open.last_mut() {
            match value.next(input)? {
                Some(skip) => {
                    if let Some(value) = skip.begin(input, skips)? {
                        if open.len() == MAX_LEVELS {
                            return Err(Fault::Nested);
                        }
                        open.push(value);
                    }
                }
                None => {
                    open.pop();
                }
            }
        }
        Ok(())
    }

    /// Skips a value without others in it, or begins one.
    fn begin<'a>(
        &'a self,
        input: &mut Input<'_>,
        skips: Option<&'a RecursiveSkips>,
    ) -> Result<Option<Open<'a>>, Fault> {
        let mut skip = self;
        loop {
            match skip {
                Self::Bytes(count) => return input.take(*count).map(|_| None),
                Self::Int => return input.int().map(|_| None),
                Self::Long => return input.long().map(|_| None),
                Self::Lengthed => return input.bytes().map(|_| None),
                Self::Array(items) => return Ok(Some(Open::Blocks { items, has_keys: false, left: 0 })),
                Self::Map(items) => return Ok(Some(Open::Blocks { items, has_keys: true, left: 0 })),
                Self::Record(fields) => return Ok(Some(Open::Record(fields.iter()))),
                Self::Union(branches) => {
                    let number = input.long()?;
                    let branch = usize::try_from(number).ok().and_then(|number| branches.get(number));
                    skip = branch.ok_or(Fault::Branch(number))?;
                }
                Self::Recursive(index) => {
                    let skips = skips.ok_or(Fault::Internal)?;
                    skip = skips.skips.get(*index).ok_or(Fault::Internal)?;
                }
            }
        }
    }
}

/// A value that was begun.
enum Open<'a> {
    /// The fields to come.
    Record(std::slice::Iter<'a, Skip>),
    /// An array, or a map, whose items have keys; `left` items of the block are to be skipped.
    Blocks { items: &'a Skip, has_keys: bool, left: usize },
}

impl<'a> Open<'a> {
    fn next(&mut self, input: &mut Input<'_>) -> Result<Option<&'a Skip>, Fault> {
        match self {
            Self::Record(fields) => Ok(fields.next()),
            Self::Blocks { items, has_keys, left } => {
                if *left == 0 {
                    *left = input.skip_blocks()?;
                    if *left == 0 {
                        return Ok(None);
                    }
                }
                *left -= 1;
                if *has_keys {
                    input.bytes()?;
                }
                Ok(Some(items))
            }
        }
    }
}
