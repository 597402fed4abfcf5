//! Buffers that the library allocates or only reads.

use std::ptr::null_mut;

use super::super::types::Buffer;
use super::Library;

/// A buffer that the library allocates; released on drop.
pub(in crate::ffi) struct LibraryBuffer<'a> {
    library: &'a Library,
    pub(in crate::ffi) buffer: Buffer,
}

impl<'a> LibraryBuffer<'a> {
    pub(in crate::ffi) fn new(library: &'a Library) -> Self {
        Self { library, buffer: Buffer { length: 0, value: null_mut() } }
    }

    pub(in crate::ffi) fn bytes(&self) -> Vec<u8> {
        if self.buffer.value.is_null() {
            return Vec::new();
        }
        // SAFETY: the library has set `value` to `length` bytes, valid until they are released.
        unsafe { std::slice::from_raw_parts(self.buffer.value.cast::<u8>(), self.buffer.length) }.to_vec()
    }
}

impl Drop for LibraryBuffer<'_> {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: the buffer is empty or the library's, and is not used after this.
        unsafe { (self.library.release_buffer)(&mut minor, &mut self.buffer) };
    }
}

/// A buffer that the library only reads; valid as long as `bytes`.
pub(in crate::ffi) fn borrowed(bytes: &[u8]) -> Buffer {
    Buffer { length: bytes.len(), value: bytes.as_ptr().cast_mut().cast() }
}
