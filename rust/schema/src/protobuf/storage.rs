//! The growing storage of columns: numbers, and strings or bytes.
//!
//! A storage has entries up to the last row that was set. Setting a later row pads the rows between, and finishing the
//! array pads the rows after it. So an absent field costs nothing, and the last value of a field wins.
//!
//! Invariants: only the last row may be set again. Truncation to a row removes all traces of the later rows.

use arrow_array::builder::BooleanBufferBuilder;
use arrow_array::types::ByteArrayType;
use arrow_array::{ArrowPrimitiveType, BooleanArray, GenericByteArray, PrimitiveArray};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, OffsetBuffer};
use arrow_schema::ArrowError;

use super::failure::Failure;
use super::input::Input;

/// One bit for each row: whether it is set.
#[derive(Debug, Default)]
pub(super) struct Bits(Vec<u8>);

impl Bits {
    #[inline]
    pub(super) fn set(&mut self, row: usize) {
        let at = row / 8;
        if at >= self.0.len() {
            self.0.resize(at + 1, 0);
        }
        if let Some(byte) = self.0.get_mut(at) {
            *byte |= 1 << (row % 8);
        }
    }

    pub(super) fn truncate(&mut self, rows: usize) {
        self.0.truncate(rows.div_ceil(8));
        if !rows.is_multiple_of(8)
            && let Some(byte) = self.0.get_mut(rows / 8)
        {
            *byte &= (1 << (rows % 8)) - 1;
        }
    }

    pub(super) fn finish(&mut self, rows: usize) -> Option<NullBuffer> {
        let mut bytes = std::mem::take(&mut self.0);
        bytes.resize(rows.div_ceil(8), 0);
        let nulls = NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(bytes), 0, rows));
        (nulls.null_count() > 0).then_some(nulls)
    }
}

/// A column of numbers.
#[derive(Debug)]
pub(super) struct Numbers<T> {
    values: Vec<T>,
    valid: Option<Bits>,
    /// The value of rows that are not set.
    default: T,
    /// The number of rows in the previous array, as an estimate for the next one.
    expected: usize,
}

impl<T: Copy> Numbers<T> {
    pub(super) fn new(default: T, is_nullable: bool) -> Self {
        Self { values: Vec::new(), valid: is_nullable.then(Bits::default), default, expected: 0 }
    }

    pub(super) fn is_nullable(&self) -> bool {
        self.valid.is_some()
    }

    #[inline]
    pub(super) fn set(&mut self, row: usize, value: T) {
        if row == self.values.len() && row < self.values.capacity() {
            self.values.push(value);
        } else {
            self.set_elsewhere(row, value);
        }
        if let Some(valid) = &mut self.valid {
            valid.set(row);
        }
    }

    fn set_elsewhere(&mut self, row: usize, value: T) {
        if let Some(last) = self.values.get_mut(row) {
            *last = value;
            return;
        }
        self.pad(row);
        self.values.push(value);
    }

    /// Appends the values of a packed field, which are never null. Returns the number of values.
    pub(super) fn extend(
        &mut self,
        row: usize,
        bytes: &[u8],
        read: impl Fn(&mut Input<'_>) -> Result<T, Failure>,
    ) -> Result<usize, Failure> {
        self.pad(row);
        let before = self.values.len();
        let mut input = Input::new(bytes);
        while !input.is_empty() {
            self.values.push(read(&mut input)?);
        }
        Ok(self.values.len() - before)
    }

    fn pad(&mut self, rows: usize) {
        if self.values.capacity() == 0 {
            self.values.reserve(self.expected.max(rows + 1));
        }
        if rows > self.values.len() {
            self.values.resize(rows, self.default);
        }
    }

    /// Returns whether this is the last row that was set.
    pub(super) fn has(&self, row: usize) -> bool {
        self.values.len() > row
    }

    pub(super) fn set_default(&mut self, row: usize) {
        self.set(row, self.default);
    }

    pub(super) fn truncate(&mut self, rows: usize) {
        self.values.truncate(rows);
        if let Some(valid) = &mut self.valid {
            valid.truncate(rows);
        }
    }

    pub(super) fn take(&mut self, rows: usize) -> (Vec<T>, Option<NullBuffer>) {
        self.pad(rows);
        self.expected = rows;
        let nulls = self.valid.as_mut().and_then(|valid| valid.finish(rows));
        (std::mem::take(&mut self.values), nulls)
    }

    pub(super) fn finish<A>(&mut self, rows: usize) -> Result<PrimitiveArray<A>, ArrowError>
    where
        T: ArrowNativeType,
        A: ArrowPrimitiveType<Native = T>,
    {
        let (values, nulls) = self.take(rows);
        PrimitiveArray::try_new(values.into(), nulls)
    }
}

impl Numbers<bool> {
    pub(super) fn finish_booleans(&mut self, rows: usize) -> BooleanArray {
        let (values, nulls) = self.take(rows);
        let mut bits = BooleanBufferBuilder::new(values.len());
        bits.append_slice(&values);
        BooleanArray::new(bits.finish(), nulls)
    }
}

/// A column of strings or bytes.
#[derive(Debug)]
pub(super) struct Texts {
    /// The start of each row, and the end of the last row. Empty at first.
    offsets: Vec<i32>,
    bytes: Vec<u8>,
    valid: Option<Bits>,
    default: &'static str,
    /// The number of rows and bytes in the previous array, as an estimate for the next one.
    expected: (usize, usize),
}

impl Texts {
    pub(super) fn new(default: &'static str, is_nullable: bool) -> Self {
        Self {
            offsets: Vec::new(),
            bytes: Vec::new(),
            valid: is_nullable.then(Bits::default),
            default,
            expected: (0, 0),
        }
    }

    pub(super) fn is_nullable(&self) -> bool {
        self.valid.is_some()
    }

    /// Returns the bytes that each row takes, set or not.
    pub(super) fn width(&self) -> usize {
        size_of::<i32>() + self.default.len()
    }

    #[inline]
    pub(super) fn set(&mut self, row: usize, value: &[u8]) -> Result<(), Failure> {
        if self.offsets.len() != row + 1 {
            self.go_to(row)?;
        }
        self.bytes.extend_from_slice(value);
        self.offsets.push(offset(self.bytes.len())?);
        if let Some(valid) = &mut self.valid {
            valid.set(row);
        }
        Ok(())
    }

    /// Pads the rows before this one, or removes its value.
    fn go_to(&mut self, row: usize) -> Result<(), Failure> {
        if self.offsets.is_empty() {
            self.offsets.reserve(self.expected.0);
            self.bytes.reserve(self.expected.1);
            self.offsets.push(0);
        }
        self.truncate_values(row);
        while self.offsets.len() < row + 1 {
            self.bytes.extend_from_slice(self.default.as_bytes());
            self.offsets.push(offset(self.bytes.len())?);
        }
        Ok(())
    }

    fn truncate_values(&mut self, rows: usize) {
        self.offsets.truncate(rows + 1);
        let end = self.offsets.last().map_or(0, |end| usize::try_from(*end).unwrap_or(0));
        self.bytes.truncate(end);
    }

    pub(super) fn has(&self, row: usize) -> bool {
        self.offsets.len() > row + 1
    }

    pub(super) fn set_default(&mut self, row: usize) -> Result<(), Failure> {
        self.set(row, self.default.as_bytes())
    }

    pub(super) fn truncate(&mut self, rows: usize) {
        self.truncate_values(rows);
        if let Some(valid) = &mut self.valid {
            valid.truncate(rows);
        }
    }

    pub(super) fn finish<T>(&mut self, rows: usize) -> Result<GenericByteArray<T>, ArrowError>
    where
        T: ByteArrayType<Offset = i32>,
    {
        let padded = self.go_to(rows);
        padded.map_err(|_| ArrowError::OffsetOverflowError(self.bytes.len()))?;
        self.expected = (self.offsets.len(), self.bytes.len());
        let nulls = self.valid.as_mut().and_then(|valid| valid.finish(rows));
        let offsets = OffsetBuffer::new(std::mem::take(&mut self.offsets).into());
        let bytes = Buffer::from_vec(std::mem::take(&mut self.bytes));
        GenericByteArray::try_new(offsets, bytes, nulls)
    }
}

/// Returns an offset in an Arrow array.
#[inline]
pub(super) fn offset(length: usize) -> Result<i32, Failure> {
    i32::try_from(length).map_err(|_| Failure::overflow())
}
