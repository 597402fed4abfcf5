//! Java's key and trust stores, which are rejected with the command that converts them to PEM.
//!
//! Invariants: only the first bytes of a store are examined; no command contains a password, because the
//! tools prompt for it.

use crate::error::{Error, Kind};
use crate::shell;

/// A store format other than PEM.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    /// JKS, Java's format up to version 8, or its variant JCEKS; by name.
    Java(&'static str),
    /// PKCS#12, Java's format since version 9, whatever the file is called.
    Pkcs12,
}

/// The error for the store at `path` that starts with `bytes`; `None` if it is not a known store format.
pub(super) fn reject_file(key: &str, path: &str, bytes: &[u8]) -> Option<Error> {
    let format = match bytes.first_chunk::<4>()? {
        [0xFE, 0xED, 0xFE, 0xED] => Format::Java("JKS"),
        [0xCE, 0xCE, 0xCE, 0xCE] => Format::Java("JCEKS"),
        [0x30, 0x80..=0x84, ..] => Format::Pkcs12,
        _ => return None,
    };
    let what = match format {
        Format::Java(name) => format!("a {name} store"),
        Format::Pkcs12 => "a PKCS#12 store or a DER file".to_owned(),
    };
    let convert = format.conversion(key, path);
    Some(Error::new(Kind::Config, format!("{key}: {path:?} is {what}; only PEM is supported. {convert}")))
}

/// The error for `key`, which declares the store at `location` to be of a type other than PEM.
pub(super) fn reject_type(key: &str, store_type: &str, location: &str) -> Error {
    let store = key.strip_suffix(".type").unwrap_or(key);
    let format = match store_type.to_ascii_uppercase().as_str() {
        "PKCS12" => Format::Pkcs12,
        _ => Format::Java("JKS"),
    };
    let path = match (location, store) {
        ("", "ssl.truststore") => "truststore.jks",
        ("", _) => "keystore.jks",
        (location, _) => location,
    };
    let convert = format.conversion(store, path);
    Error::new(Kind::Config, format!("{key}={store_type}: only PEM is supported. {convert}"))
}

impl Format {
    fn conversion(self, key: &str, path: &str) -> String {
        let path = shell::quote(path);
        if key.starts_with("ssl.truststore") {
            let command = match self {
                Self::Java(_) => format!("keytool -list -rfc -keystore {path} > ca.pem"),
                Self::Pkcs12 => format!("openssl pkcs12 -in {path} -nokeys -out ca.pem"),
            };
            return format!(
                "Convert the trust store with `{command}`{}, set ssl.truststore.location to ca.pem, and remove the store's type and password",
                self.legacy_hint()
            );
        }
        let command = match self {
            Self::Java(_) => format!(
                "keytool -importkeystore -srckeystore {path} -destkeystore keystore.p12 -deststoretype PKCS12 && openssl pkcs12 -in keystore.p12 -aes256 -out keystore.pem"
            ),
            Self::Pkcs12 => format!("openssl pkcs12 -in {path} -aes256 -out keystore.pem"),
        };
        format!(
            "Convert the key store with `{command}`{}, set ssl.keystore.location to keystore.pem and ssl.key.password to the PEM pass phrase, and remove the store's type and password",
            self.legacy_hint()
        )
    }

    fn legacy_hint(self) -> &'static str {
        match self {
            Self::Java(_) => "",
            Self::Pkcs12 => " (with -legacy if OpenSSL 3 reports that its encryption is unsupported)",
        }
    }
}
