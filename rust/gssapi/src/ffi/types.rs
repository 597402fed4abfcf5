//! The C types, function signatures and constants of RFC 2744's header and MIT's `gssapi_ext.h`.
//!
//! MIT and Heimdal share them on the systems where [`crate::NAMES`] is not empty.

use std::ffi::{c_char, c_int, c_void};

/// `gss_buffer_desc`.
#[repr(C)]
pub(super) struct Buffer {
    pub(super) length: usize,
    pub(super) value: *mut c_void,
}

/// `gss_OID_desc`.
#[repr(C)]
pub(super) struct Oid {
    pub(super) length: u32,
    pub(super) elements: *const c_void,
}

/// `gss_OID_set_desc`.
#[repr(C)]
pub(super) struct OidSet {
    pub(super) count: usize,
    pub(super) elements: *const Oid,
}

/// `gss_key_value_element_desc`.
#[repr(C)]
pub(super) struct KeyValue {
    pub(super) key: *const c_char,
    pub(super) value: *const c_char,
}

/// `gss_key_value_set_desc`.
#[repr(C)]
pub(super) struct KeyValues {
    pub(super) count: u32,
    pub(super) elements: *const KeyValue,
}

// SAFETY: it points to static, immutable bytes.
unsafe impl Sync for Oid {}

/// The Kerberos mechanism: 1.2.840.113554.1.2.2.
pub(super) static KERBEROS: Oid = oid(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02");
/// The name type of `service@host`: 1.2.840.113554.1.2.1.4.
pub(super) static SERVICE: Oid = oid(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x04");
/// The name type of a principal: 1.2.840.113554.1.2.2.1.
pub(super) static PRINCIPAL: Oid = oid(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x01");

const fn oid(bytes: &'static [u8]) -> Oid {
    Oid { length: bytes.len() as u32, elements: bytes.as_ptr().cast() }
}

/// The requested services: mutual authentication, sequence detection, integrity.
pub(super) const FLAGS: u32 = 2 | 8 | 32;
pub(super) const CONTINUE_NEEDED: u32 = 1;
/// The bits of calling and routine errors; the other bits are informational.
pub(super) const ERRORS: u32 = 0xffff_0000;
pub(super) const INITIATE: c_int = 1;
pub(super) const INDEFINITE: u32 = u32::MAX;
pub(super) const MAJOR: c_int = 1;
pub(super) const MINOR: c_int = 2;
/// The maximum number of messages to read for one status.
pub(super) const MAX_MESSAGES: usize = 8;

pub(super) type Handle = *mut c_void;
pub(super) type Import = unsafe extern "C" fn(*mut u32, *const Buffer, *const Oid, *mut Handle) -> u32;
pub(super) type Release = unsafe extern "C" fn(*mut u32, *mut Handle) -> u32;
pub(super) type ReleaseBuffer = unsafe extern "C" fn(*mut u32, *mut Buffer) -> u32;
pub(super) type DeleteContext = unsafe extern "C" fn(*mut u32, *mut Handle, *mut Buffer) -> u32;
pub(super) type InitContext = unsafe extern "C" fn(
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
pub(super) type Wrap =
    unsafe extern "C" fn(*mut u32, Handle, c_int, u32, *const Buffer, *mut c_int, *mut Buffer) -> u32;
pub(super) type Unwrap =
    unsafe extern "C" fn(*mut u32, Handle, *const Buffer, *mut Buffer, *mut c_int, *mut u32) -> u32;
pub(super) type DisplayStatus =
    unsafe extern "C" fn(*mut u32, u32, c_int, *const Oid, *mut u32, *mut Buffer) -> u32;
pub(super) type AcquireFrom = unsafe extern "C" fn(
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
