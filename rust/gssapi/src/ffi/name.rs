//! [`Name`]: an imported name of a principal or a service.

use std::ptr::null_mut;

use super::Library;
use super::library::buffer::borrowed;
use super::types::{Handle, Oid, PRINCIPAL, SERVICE};
use crate::Error;

/// The name of a principal or a service.
#[derive(Debug)]
pub struct Name {
    pub(super) library: &'static Library,
    pub(super) handle: Handle,
}

// SAFETY: the library allows any one thread at a time to use a handle, and handles are not shared.
unsafe impl Send for Name {}

impl Name {
    /// Imports the name of a service on a host.
    ///
    /// # Errors
    /// [`Error::CallFailed`] if the library refuses it.
    pub fn service(library: &'static Library, service: &str, host: &str) -> Result<Self, Error> {
        Self::import(library, &format!("{service}@{host}"), &SERVICE)
    }

    /// Imports the name of a principal: `name@REALM`, or `name` in the default realm.
    ///
    /// # Errors
    /// [`Error::CallFailed`] if the library refuses it.
    pub fn principal(library: &'static Library, name: &str) -> Result<Self, Error> {
        Self::import(library, name, &PRINCIPAL)
    }

    fn import(library: &'static Library, text: &str, name_type: &'static Oid) -> Result<Self, Error> {
        let (mut minor, mut handle) = (0, null_mut());
        // SAFETY: the text is copied during the call; the name type is static.
        let major =
            unsafe { (library.import_name)(&mut minor, &borrowed(text.as_bytes()), name_type, &mut handle) };
        let name = Self { library, handle };
        library.check("importing a name", major, minor).map(|()| name)
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: the handle is the library's own or null, and is not used after this.
        unsafe { (self.library.release_name)(&mut minor, &mut self.handle) };
    }
}
