//! [`Library`]: opens the system's GSSAPI library and reports its errors.

pub(in crate::ffi) mod buffer;

use std::ffi::c_int;

use self::buffer::LibraryBuffer;
use super::types::{
    AcquireFrom, DeleteContext, DisplayStatus, ERRORS, Import, InitContext, KERBEROS, MAJOR, MAX_MESSAGES,
    MINOR, Release, ReleaseBuffer, Unwrap, Wrap,
};
use crate::Error;

/// The system's GSSAPI library. It stays open for the lifetime of the process.
pub struct Library {
    pub(super) import_name: Import,
    pub(super) release_name: Release,
    pub(super) release_cred: Release,
    pub(super) release_buffer: ReleaseBuffer,
    pub(super) init_sec_context: InitContext,
    pub(super) delete_sec_context: DeleteContext,
    pub(super) wrap: Wrap,
    pub(super) unwrap: Unwrap,
    pub(super) display_status: DisplayStatus,
    /// Available in MIT since 1.11 and in Heimdal since 8.
    pub(super) acquire_cred_from: Option<AcquireFrom>,
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Library")
    }
}

impl Library {
    /// Opens the first of these libraries that exists.
    ///
    /// # Errors
    /// [`Error::NotFound`] if none exists, [`Error::MissingFunction`] if it is not a GSSAPI library.
    pub fn open(names: &[&str]) -> Result<&'static Self, Error> {
        for name in names {
            // SAFETY: opening a library runs its initializers. The names are those of the system's GSSAPI
            // library, in the system's own directories, which is designed to be opened.
            if let Ok(opened) = unsafe { libloading::Library::new(name) } {
                return Self::load(name, opened);
            }
        }
        let tried = if names.is_empty() { "none: unsupported system".to_owned() } else { names.join(", ") };
        Err(Error::NotFound { tried })
    }

    fn load(name: &str, opened: libloading::Library) -> Result<&'static Self, Error> {
        // Never unloaded, so that its functions remain valid.
        let opened: &'static libloading::Library = Box::leak(Box::new(opened));
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the field's type is the one that RFC 2744's header declares.
                *unsafe { opened.get(concat!($name, "\0").as_bytes()) }
                    .map_err(|_| Error::MissingFunction { library: name.to_owned(), function: $name })?
            };
        }
        let library = Self {
            import_name: function!("gss_import_name"),
            release_name: function!("gss_release_name"),
            release_cred: function!("gss_release_cred"),
            release_buffer: function!("gss_release_buffer"),
            init_sec_context: function!("gss_init_sec_context"),
            delete_sec_context: function!("gss_delete_sec_context"),
            wrap: function!("gss_wrap"),
            unwrap: function!("gss_unwrap"),
            display_status: function!("gss_display_status"),
            // SAFETY: the field's type is that of MIT's and Heimdal's gssapi_ext.h.
            acquire_cred_from: unsafe { opened.get(b"gss_acquire_cred_from\0") }.ok().map(|f| *f),
        };
        Ok(Box::leak(Box::new(library)))
    }

    /// Returns the error of a failed call.
    pub(super) fn check(&self, operation: &'static str, major: u32, minor: u32) -> Result<(), Error> {
        if major & ERRORS == 0 {
            return Ok(());
        }
        let mut message = self.message(major, MAJOR);
        let details = self.message(minor, MINOR);
        if minor != 0 && !details.is_empty() {
            message = format!("{message} ({details})");
        }
        Err(Error::CallFailed { operation, message })
    }

    /// The library's messages about a status code.
    fn message(&self, status: u32, kind: c_int) -> String {
        let (mut more, mut messages) = (0, Vec::new());
        for _ in 0..MAX_MESSAGES {
            let (mut minor, mut text) = (0, LibraryBuffer::new(self));
            // SAFETY: all pointers point to live variables; `text` owns the buffer that the call fills.
            let major = unsafe {
                (self.display_status)(&mut minor, status, kind, &KERBEROS, &mut more, &mut text.buffer)
            };
            if major & ERRORS != 0 {
                break;
            }
            messages.push(String::from_utf8_lossy(&text.bytes()).into_owned());
            if more == 0 {
                break;
            }
        }
        messages.join("; ")
    }
}
