//! Java's own formats of key and trust stores, which are rejected with the command that converts them to PKCS#12.
//!
//! Invariants: only the first bytes of a store are examined; no command contains a password, because the
//! tools prompt for it.

use crate::error::{Error, Kind};
use crate::shell;

/// The error for the store at `path` that starts with `bytes`; `None` if it is not in one of Java's own formats.
pub(super) fn reject_file(key: &str, path: &str, bytes: &[u8]) -> Option<Error> {
    let format = match bytes.first_chunk::<4>()? {
        [0xFE, 0xED, 0xFE, 0xED] => "JKS",
        [0xCE, 0xCE, 0xCE, 0xCE] => "JCEKS",
        _ => return None,
    };
    let store = key.strip_suffix(".location").unwrap_or(key);
    let convert = conversion(store, path);
    let message =
        format!("{key}: {path:?} is a {format} store; only PKCS#12 and PEM are supported. {convert}");
    Some(Error::new(Kind::Config, message))
}

/// The error for `key`, which declares a store to be of a type that it has not.
pub(super) fn reject_type(key: &str, store_type: &str, location: &str) -> Error {
    let store = key.strip_suffix(".type").unwrap_or(key);
    let message = match location {
        "" => format!("{key}={store_type}: name the store in {store}.location"),
        _ => format!("{key}={store_type}: {location:?} is not a PKCS#12 store: if it is PEM, remove {key}"),
    };
    Error::new(Kind::Config, message)
}

fn conversion(store: &str, path: &str) -> String {
    let path = shell::quote(path);
    let to = if store == "ssl.truststore" { "truststore.p12" } else { "keystore.p12" };
    let command =
        format!("keytool -importkeystore -srckeystore {path} -destkeystore {to} -deststoretype PKCS12");
    format!("Convert the store with `{command}`, and set {store}.location to {to}")
}
