//! [`Credentials`]: acquired from a keytab or a credential cache.

use std::ffi::CString;
use std::ptr::null_mut;

use super::types::{Handle, INDEFINITE, INITIATE, KERBEROS, KeyValue, KeyValues, OidSet};
use super::{Library, Name};
use crate::Error;

/// The client's credentials.
#[derive(Debug)]
pub struct Credentials {
    library: &'static Library,
    pub(super) handle: Handle,
}

// SAFETY: as for `Name`.
unsafe impl Send for Credentials {}

impl Credentials {
    /// Acquires credentials from a store: pairs of a key such as `client_keytab` or `ccache`, and a path.
    /// They are those of `name`, or of the store's default principal.
    ///
    /// # Errors
    /// [`Error::CallFailed`] if there are none, [`Error::MissingFunction`] if the library does not support
    /// stores.
    pub fn acquire(
        library: &'static Library,
        name: Option<&Name>,
        store: &[(&str, &str)],
    ) -> Result<Self, Error> {
        let function = "gss_acquire_cred_from";
        let lacks = || Error::MissingFunction { library: "of this system".to_owned(), function };
        let acquire = library.acquire_cred_from.ok_or_else(lacks)?;
        let texts = store.iter().map(|(key, value)| Ok((CString::new(*key)?, CString::new(*value)?)));
        let texts = texts.collect::<Result<Vec<_>, std::ffi::NulError>>().map_err(|_| Error::NulByte)?;
        let pairs = texts.iter().map(|(key, value)| KeyValue { key: key.as_ptr(), value: value.as_ptr() });
        let pairs: Vec<KeyValue> = pairs.collect();
        let count = u32::try_from(pairs.len()).unwrap_or(0);
        let store = KeyValues { count, elements: pairs.as_ptr() };
        let mechanisms = OidSet { count: 1, elements: &KERBEROS };
        let (mut minor, mut handle) = (0, null_mut());
        let desired = name.map_or(null_mut(), |name| name.handle);
        // SAFETY: the name, the set and the store with its texts outlive the call, which copies what it
        // keeps; unused results are null, as the header allows.
        let major = unsafe {
            acquire(
                &mut minor,
                desired,
                INDEFINITE,
                &mechanisms,
                INITIATE,
                &store,
                &mut handle,
                null_mut(),
                null_mut(),
            )
        };
        let credentials = Self { library, handle };
        library.check("acquiring credentials", major, minor).map(|()| credentials)
    }
}

impl Drop for Credentials {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: the handle is the library's own or null, and is not used after this.
        unsafe { (self.library.release_cred)(&mut minor, &mut self.handle) };
    }
}
