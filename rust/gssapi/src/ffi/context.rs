//! [`Context`]: the security context of one exchange, on the initiator's side.

use std::ptr::{self, null, null_mut};

use super::library::buffer::{LibraryBuffer, borrowed};
use super::types::{CONTINUE_NEEDED, FLAGS, Handle, KERBEROS};
use super::{Credentials, Library, Name};
use crate::{Error, Step};

/// A security context with a peer, initiated by this side; complete or not yet.
#[derive(Debug)]
pub struct Context {
    library: &'static Library,
    handle: Handle,
    target: Name,
    credentials: Option<Credentials>,
}

// SAFETY: as for `Name`.
unsafe impl Send for Context {}

impl Context {
    /// Creates a context with `target`, with these credentials or those of the environment.
    #[must_use]
    pub fn new(target: Name, credentials: Option<Credentials>) -> Self {
        Self { library: target.library, handle: null_mut(), target, credentials }
    }

    /// Continues the initialization with the peer's token, empty at first.
    ///
    /// # Errors
    /// [`Error::CallFailed`] if there is no ticket, the KDC cannot be reached, or the peer's token is
    /// invalid.
    pub fn step(&mut self, token: &[u8]) -> Result<Step, Error> {
        let (mut minor, mut output) = (0, LibraryBuffer::new(self.library));
        let input = borrowed(token);
        let input = if token.is_empty() { null() } else { ptr::from_ref(&input) };
        let credentials = self.credentials.as_ref().map_or(null_mut(), |credentials| credentials.handle);
        // SAFETY: credentials, target and context are the library's own handles, or null where the
        // header allows it; the token is only read; `output` owns the buffer that the call fills; unused
        // results are null.
        let major = unsafe {
            (self.library.init_sec_context)(
                &mut minor,
                credentials,
                &mut self.handle,
                self.target.handle,
                &KERBEROS,
                FLAGS,
                0,
                null(),
                input,
                null_mut(),
                &mut output.buffer,
                null_mut(),
                null_mut(),
            )
        };
        self.library.check("initializing the security context", major, minor)?;
        Ok(Step { token: output.bytes(), complete: major & CONTINUE_NEEDED == 0 })
    }

    /// Verifies and unwraps a message of the peer.
    ///
    /// # Errors
    /// [`Error::CallFailed`] if the message is not the peer's.
    pub fn unwrap(&mut self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let (mut minor, mut output) = (0, LibraryBuffer::new(self.library));
        // SAFETY: the context is the library's own handle, or null, which it refuses; the message is
        // only read; `output` owns the buffer that the call fills.
        let major = unsafe {
            (self.library.unwrap)(
                &mut minor,
                self.handle,
                &borrowed(message),
                &mut output.buffer,
                null_mut(),
                null_mut(),
            )
        };
        self.library.check("unwrapping the broker's offer", major, minor).map(|()| output.bytes())
    }

    /// Wraps a message with an integrity check, without encryption.
    ///
    /// # Errors
    /// [`Error::CallFailed`] if the context is not complete.
    pub fn wrap(&mut self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let (mut minor, mut output) = (0, LibraryBuffer::new(self.library));
        // SAFETY: as for `unwrap`.
        let major = unsafe {
            (self.library.wrap)(
                &mut minor,
                self.handle,
                0,
                0,
                &borrowed(message),
                null_mut(),
                &mut output.buffer,
            )
        };
        self.library
            .check("wrapping the response to the broker's offer", major, minor)
            .map(|()| output.bytes())
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: the handle is the library's own or null, and is not used after this; the last argument
        // may be null.
        unsafe { (self.library.delete_sec_context)(&mut minor, &mut self.handle, null_mut()) };
    }
}
