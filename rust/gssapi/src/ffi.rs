//! The calls into the library, and nothing else: the only `unsafe` there is.
//!
//! The types and signatures are those of RFC 2744's header, which MIT and Heimdal share on the
//! systems that [`crate::NAMES`] is not empty for. Invariants: pointers that the library keeps are to memory that
//! lives as long as the process or as the call; what it gives is released by the `Drop` of what
//! owns it; a library is never unloaded, since it may have put destructors into threads.

#![allow(unsafe_code, reason = "a C library is called; each block says why it is sound")]

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::{self, null, null_mut};

use crate::{Error, Step};

/// `gss_buffer_desc`.
#[repr(C)]
struct Buffer {
    length: usize,
    value: *mut c_void,
}

/// `gss_OID_desc`.
#[repr(C)]
struct Oid {
    length: u32,
    elements: *const c_void,
}

/// `gss_OID_set_desc`.
#[repr(C)]
struct OidSet {
    count: usize,
    elements: *const Oid,
}

/// `gss_key_value_element_desc`.
#[repr(C)]
struct KeyValue {
    key: *const c_char,
    value: *const c_char,
}

/// `gss_key_value_set_desc`.
#[repr(C)]
struct KeyValues {
    count: u32,
    elements: *const KeyValue,
}

// SAFETY: it points to bytes that live for ever and that nobody changes.
unsafe impl Sync for Oid {}

/// The mechanism: 1.2.840.113554.1.2.2.
static KERBEROS: Oid = oid(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02");
/// The form of `service@host`: 1.2.840.113554.1.2.1.4.
static SERVICE: Oid = oid(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x04");
/// The form of a principal's name: 1.2.840.113554.1.2.2.1.
static PRINCIPAL: Oid = oid(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x01");

const fn oid(bytes: &'static [u8]) -> Oid {
    Oid { length: bytes.len() as u32, elements: bytes.as_ptr().cast() }
}

/// Mutual authentication, sequence, integrity.
const FLAGS: u32 = 2 | 8 | 32;
const CONTINUE_NEEDED: u32 = 1;
/// Calling and routine errors; the rest is information.
const ERRORS: u32 = 0xffff_0000;
const INITIATE: c_int = 1;
const INDEFINITE: u32 = u32::MAX;
const MAJOR: c_int = 1;
const MINOR: c_int = 2;
/// A status has no more messages than this.
const MESSAGES: usize = 8;

type Handle = *mut c_void;
type Import = unsafe extern "C" fn(*mut u32, *const Buffer, *const Oid, *mut Handle) -> u32;
type Release = unsafe extern "C" fn(*mut u32, *mut Handle) -> u32;
type ReleaseBuffer = unsafe extern "C" fn(*mut u32, *mut Buffer) -> u32;
type DeleteContext = unsafe extern "C" fn(*mut u32, *mut Handle, *mut Buffer) -> u32;
type InitContext = unsafe extern "C" fn(
    *mut u32,
    Handle,
    *mut Handle,
    Handle,
    *const Oid,
    u32,
    u32,
    *const c_void,
    *const Buffer,
    *mut *const Oid,
    *mut Buffer,
    *mut u32,
    *mut u32,
) -> u32;
type Wrap = unsafe extern "C" fn(*mut u32, Handle, c_int, u32, *const Buffer, *mut c_int, *mut Buffer) -> u32;
type Unwrap = unsafe extern "C" fn(*mut u32, Handle, *const Buffer, *mut Buffer, *mut c_int, *mut u32) -> u32;
type DisplayStatus = unsafe extern "C" fn(*mut u32, u32, c_int, *const Oid, *mut u32, *mut Buffer) -> u32;
type AcquireFrom = unsafe extern "C" fn(
    *mut u32,
    Handle,
    u32,
    *const OidSet,
    c_int,
    *const KeyValues,
    *mut Handle,
    *mut *mut OidSet,
    *mut u32,
) -> u32;

/// The system's GSSAPI library, opened. It stays for as long as the process lives.
pub struct Library {
    import_name: Import,
    release_name: Release,
    release_cred: Release,
    release_buffer: ReleaseBuffer,
    init_sec_context: InitContext,
    delete_sec_context: DeleteContext,
    wrap: Wrap,
    unwrap: Unwrap,
    display_status: DisplayStatus,
    /// Not all have it: MIT since 1.11, Heimdal since 8.
    acquire_cred_from: Option<AcquireFrom>,
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Library")
    }
}

impl Library {
    /// Opens the first library of these names that there is.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is none, [`Error::Lacks`] if it is not a GSSAPI library.
    pub fn open(names: &[&str]) -> Result<&'static Self, Error> {
        for name in names {
            // SAFETY: opening a library runs its initializers. These names are those of the system's
            // GSSAPI library, found in the system's own directories, and that is made to be opened.
            if let Ok(opened) = unsafe { libloading::Library::new(name) } {
                return Self::load(name, opened);
            }
        }
        let tried = if names.is_empty() { "none: not on this system".to_owned() } else { names.join(", ") };
        Err(Error::NotFound { tried })
    }

    fn load(name: &str, opened: libloading::Library) -> Result<&'static Self, Error> {
        // Never unloaded, so that its functions are there for ever.
        let opened: &'static libloading::Library = Box::leak(Box::new(opened));
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the type that the field gives it is the one that RFC 2744's header declares.
                *unsafe { opened.get(concat!($name, "\0").as_bytes()) }
                    .map_err(|_| Error::Lacks { library: name.to_owned(), function: $name })?
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
            // SAFETY: its type is that of MIT's and Heimdal's gssapi_ext.h.
            acquire_cred_from: unsafe { opened.get(b"gss_acquire_cred_from\0") }.ok().map(|f| *f),
        };
        Ok(Box::leak(Box::new(library)))
    }

    /// The error of a call, if it failed.
    fn check(&self, during: &'static str, major: u32, minor: u32) -> Result<(), Error> {
        if major & ERRORS == 0 {
            return Ok(());
        }
        let mut words = self.words(major, MAJOR);
        let details = self.words(minor, MINOR);
        if minor != 0 && !details.is_empty() {
            words = format!("{words} ({details})");
        }
        Err(Error::Failed { during, words })
    }

    fn words(&self, status: u32, kind: c_int) -> String {
        let (mut more, mut words) = (0, Vec::new());
        for _ in 0..MESSAGES {
            let (mut minor, mut text) = (0, Given::new(self));
            // SAFETY: all pointers are to live variables; `text` takes the buffer that is made.
            let major = unsafe {
                (self.display_status)(&mut minor, status, kind, &KERBEROS, &mut more, &mut text.buffer)
            };
            if major & ERRORS != 0 {
                break;
            }
            words.push(String::from_utf8_lossy(&text.bytes()).into_owned());
            if more == 0 {
                break;
            }
        }
        words.join("; ")
    }
}

/// A buffer that the library has made.
struct Given<'a> {
    library: &'a Library,
    buffer: Buffer,
}

impl<'a> Given<'a> {
    fn new(library: &'a Library) -> Self {
        Self { library, buffer: Buffer { length: 0, value: null_mut() } }
    }

    fn bytes(&self) -> Vec<u8> {
        if self.buffer.value.is_null() {
            return Vec::new();
        }
        // SAFETY: the library has set `value` to `length` bytes, which are its until they are released.
        unsafe { std::slice::from_raw_parts(self.buffer.value.cast::<u8>(), self.buffer.length) }.to_vec()
    }
}

impl Drop for Given<'_> {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: the buffer is empty or the library's, and nobody has it after this.
        unsafe { (self.library.release_buffer)(&mut minor, &mut self.buffer) };
    }
}

/// A buffer that the library only reads, for as long as `bytes` live.
fn lent(bytes: &[u8]) -> Buffer {
    Buffer { length: bytes.len(), value: bytes.as_ptr().cast_mut().cast() }
}

/// A principal or a service, as the library has it.
#[derive(Debug)]
pub struct Name {
    library: &'static Library,
    handle: Handle,
}

// SAFETY: the library lets a handle be used by any thread, by one at a time; it is not shared.
unsafe impl Send for Name {}

impl Name {
    /// The service of a host.
    ///
    /// # Errors
    /// [`Error::Failed`] if the library does not take it.
    pub fn service(library: &'static Library, service: &str, host: &str) -> Result<Self, Error> {
        Self::import(library, &format!("{service}@{host}"), &SERVICE)
    }

    /// A principal: `name@REALM`, or in the default realm.
    ///
    /// # Errors
    /// [`Error::Failed`] if the library does not take it.
    pub fn principal(library: &'static Library, name: &str) -> Result<Self, Error> {
        Self::import(library, name, &PRINCIPAL)
    }

    fn import(library: &'static Library, text: &str, form: &'static Oid) -> Result<Self, Error> {
        let (mut minor, mut handle) = (0, null_mut());
        // SAFETY: the text is only read, and copied, during the call; the form lives for ever.
        let major = unsafe { (library.import_name)(&mut minor, &lent(text.as_bytes()), form, &mut handle) };
        let name = Self { library, handle };
        library.check("reading a name", major, minor).map(|()| name)
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: the handle is the library's own, or null, and nobody has it after this.
        unsafe { (self.library.release_name)(&mut minor, &mut self.handle) };
    }
}

/// Who this client is.
#[derive(Debug)]
pub struct Credentials {
    library: &'static Library,
    handle: Handle,
}

// SAFETY: as for `Name`.
unsafe impl Send for Credentials {}

impl Credentials {
    /// Credentials from a store: pairs such as `client_keytab` or `ccache` and a path. They are those
    /// of `name`, or of whoever the store has.
    ///
    /// # Errors
    /// [`Error::Failed`] if there are none, [`Error::Lacks`] if the library knows no stores.
    pub fn acquire(
        library: &'static Library,
        name: Option<&Name>,
        store: &[(&str, &str)],
    ) -> Result<Self, Error> {
        let function = "gss_acquire_cred_from";
        let lacks = || Error::Lacks { library: "of this system".to_owned(), function };
        let acquire = library.acquire_cred_from.ok_or_else(lacks)?;
        let texts = store.iter().map(|(key, value)| Ok((CString::new(*key)?, CString::new(*value)?)));
        let texts = texts.collect::<Result<Vec<_>, std::ffi::NulError>>().map_err(|_| Error::Zero)?;
        let pairs = texts.iter().map(|(key, value)| KeyValue { key: key.as_ptr(), value: value.as_ptr() });
        let pairs: Vec<KeyValue> = pairs.collect();
        let count = u32::try_from(pairs.len()).unwrap_or(0);
        let store = KeyValues { count, elements: pairs.as_ptr() };
        let mechanisms = OidSet { count: 1, elements: &KERBEROS };
        let (mut minor, mut handle) = (0, null_mut());
        let desired = name.map_or(null_mut(), |name| name.handle);
        // SAFETY: the name, the set and the store, with the texts in it, live through the call, which
        // copies what it keeps; what is not wanted back is null, as the header allows.
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
        library.check("getting credentials", major, minor).map(|()| credentials)
    }
}

impl Drop for Credentials {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: the handle is the library's own, or null, and nobody has it after this.
        unsafe { (self.library.release_cred)(&mut minor, &mut self.handle) };
    }
}

/// What two sides agree on, in the making or made; this side has begun.
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
    /// A context with `target`, as who the credentials say, or who the environment does.
    #[must_use]
    pub fn new(target: Name, credentials: Option<Credentials>) -> Self {
        Self { library: target.library, handle: null_mut(), target, credentials }
    }

    /// Goes on with what the other side has said; with nothing in the beginning.
    ///
    /// # Errors
    /// [`Error::Failed`] if there is no ticket, the KDC cannot be reached, or the other side's token is
    /// wrong.
    pub fn step(&mut self, token: &[u8]) -> Result<Step, Error> {
        let (mut minor, mut output) = (0, Given::new(self.library));
        let input = lent(token);
        let input = if token.is_empty() { null() } else { ptr::from_ref(&input) };
        let credentials = self.credentials.as_ref().map_or(null_mut(), |credentials| credentials.handle);
        // SAFETY: credentials, target and context are the library's own handles, or null where the
        // header allows it; the token is only read; `output` takes the buffer that is made; what is
        // not wanted back is null.
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
        self.library.check("making a security context", major, minor)?;
        Ok(Step { token: output.bytes(), complete: major & CONTINUE_NEEDED == 0 })
    }

    /// What the other side has wrapped.
    ///
    /// # Errors
    /// [`Error::Failed`] if it is not the other side's.
    pub fn unwrap(&mut self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let (mut minor, mut output) = (0, Given::new(self.library));
        // SAFETY: the context is the library's own handle, or null, which it refuses; the message is
        // only read; `output` takes the buffer that is made.
        let major = unsafe {
            (self.library.unwrap)(
                &mut minor,
                self.handle,
                &lent(message),
                &mut output.buffer,
                null_mut(),
                null_mut(),
            )
        };
        self.library.check("reading the broker's offer", major, minor).map(|()| output.bytes())
    }

    /// A message that only the other side takes for ours. It is not encrypted.
    ///
    /// # Errors
    /// [`Error::Failed`] if the context is not complete.
    pub fn wrap(&mut self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let (mut minor, mut output) = (0, Given::new(self.library));
        // SAFETY: as for `unwrap`.
        let major = unsafe {
            (self.library.wrap)(&mut minor, self.handle, 0, 0, &lent(message), null_mut(), &mut output.buffer)
        };
        self.library.check("answering the broker's offer", major, minor).map(|()| output.bytes())
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: the handle is the library's own, or null, and nobody has it after this; the last
        // argument may be null.
        unsafe { (self.library.delete_sec_context)(&mut minor, &mut self.handle, null_mut()) };
    }
}
