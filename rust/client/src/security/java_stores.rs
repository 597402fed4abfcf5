//! Java's key and trust stores, which are refused: which kind a file is, and the command that makes PEM of it.
//!
//! Invariant: nothing of a store but its first bytes is looked at; a command holds no password, its tools
//! ask for them.

use crate::error::{Error, Kind};

/// A format of stores other than PEM.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    /// What Java made until version 8, and its relative JCEKS.
    Java(&'static str),
    /// What Java has made since version 9, whatever the file is called.
    Pkcs12,
}

/// The refusal of the store at `path` that starts with these bytes; `None` if they are none of a store that is known.
pub(super) fn refuse_file(key: &str, path: &str, bytes: &[u8]) -> Option<Error> {
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
    let convert = format.how_to_convert(key, path);
    Some(Error::new(Kind::Config, format!("{key}: {path:?} is {what}; only PEM is supported. {convert}")))
}

/// The refusal of `key`, which says that the store at `location` is of a type other than PEM.
pub(super) fn refuse_type(key: &str, store_type: &str, location: &str) -> Error {
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
    let convert = format.how_to_convert(store, path);
    Error::new(Kind::Config, format!("{key}={store_type}: only PEM is supported. {convert}"))
}

impl Format {
    fn how_to_convert(self, key: &str, path: &str) -> String {
        let path = shell_word(path);
        if key.starts_with("ssl.truststore") {
            let command = match self {
                Self::Java(_) => format!("keytool -list -rfc -keystore {path} > ca.pem"),
                Self::Pkcs12 => format!("openssl pkcs12 -in {path} -nokeys -out ca.pem"),
            };
            return format!(
                "Convert the trust store with `{command}`{}, name ca.pem in ssl.truststore.location, and leave its type and password out",
                self.of_old_stores()
            );
        }
        let command = match self {
            Self::Java(_) => format!(
                "keytool -importkeystore -srckeystore {path} -destkeystore keystore.p12 -deststoretype PKCS12 && openssl pkcs12 -in keystore.p12 -aes256 -out keystore.pem"
            ),
            Self::Pkcs12 => format!("openssl pkcs12 -in {path} -aes256 -out keystore.pem"),
        };
        format!(
            "Convert the key store with `{command}`{}, name keystore.pem in ssl.keystore.location, give the PEM pass phrase in ssl.key.password, and leave the store's type and password out",
            self.of_old_stores()
        )
    }

    fn of_old_stores(self) -> &'static str {
        match self {
            Self::Java(_) => "",
            Self::Pkcs12 => " (with -legacy if OpenSSL 3 calls its encryption unsupported)",
        }
    }
}

/// A path as a shell takes it for one word.
fn shell_word(path: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+@%:=,".contains(c);
    if path.chars().all(plain) { path.to_owned() } else { format!("'{}'", path.replace('\'', r"'\''")) }
}
