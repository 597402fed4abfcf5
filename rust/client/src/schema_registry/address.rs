//! An address of the registry: a parsed URL and the credentials for it.
//!
//! Invariant: the text of an address contains neither user nor password, and no error repeats a URL that may
//! contain them.

use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::Uri;

use crate::config::RegistryConfig;
use crate::error::{Error, Kind, Result};
use crate::http::encode::decode;
use crate::http::{HttpClient, Origin, Server};
use crate::proxy::Proxy;
use crate::secret::Secret;
use crate::security::Tls;

const KEY: &str = "schema.registry.url";
pub(super) const REGISTRY: Server = Server { name: "the schema registry", key_prefix: "schema.registry." };

/// Within the path of Apicurio's compatible API, before its version.
const COMPATIBLE: &str = "/apis/ccompat/";
/// The path of Apicurio's own API, after what both have in common.
const APICURIO: &str = "/apis/registry/v3";

/// An address, with its connection.
#[derive(Debug)]
pub(super) struct Address {
    /// The URL as errors show it.
    pub(super) url: String,
    /// The path of the URL, without a slash at its end.
    pub(super) path: String,
    /// The path of Apicurio's own API, if the URL is that of Apicurio's compatible one.
    pub(super) apicurio_path: Option<String>,
    pub(super) authorization: Option<Secret>,
    pub(super) http: HttpClient,
}

fn invalid(message: impl std::fmt::Display) -> Error {
    Error::new(Kind::Config, format!("{KEY}: {message}"))
}

impl Address {
    /// Parses all configured URLs.
    pub(super) fn all(config: &RegistryConfig) -> Result<Vec<Self>> {
        let urls = config.url.expose();
        if urls.is_empty() {
            return Err(invalid("no address of a schema registry is configured"));
        }
        let configured = authorization(config)?;
        // With a comma in its password, one URL became two, of which each has a part of the password.
        let hides = urls.iter().any(|text| text.contains('@'));
        urls.iter().map(|text| Self::parse(text, hides, configured.as_ref(), config)).collect()
    }

    fn parse(text: &str, hides: bool, configured: Option<&Secret>, config: &RegistryConfig) -> Result<Self> {
        // A query, which is refused, may be a token.
        let shown = if hides { "<hidden>" } else { text.split('?').next().unwrap_or_default() };
        let malformed = |why: &str| invalid(format_args!("{shown} is not a valid URL{why}"));
        let unparsable = || match hides {
            true => malformed(": percent-encode the user and the password, or set basic.auth.user.info"),
            false => malformed(": expected https://host:port"),
        };
        // A parser drops what follows a #, and takes what is before it for the host.
        let uri: Uri = match text.contains('#') {
            true => return Err(unparsable()),
            false => text.trim().parse().map_err(|_| unparsable())?,
        };
        let tls = match uri.scheme_str() {
            Some("https") => Some(Tls::from_config(&config.ssl).map_err(|error| {
                let message = REGISTRY.with_key_prefix(error.message());
                error.with_message(message)
            })?),
            Some("http") => None,
            Some("mock") => {
                return Err(invalid(
                    "mock:// addresses exist in Python only, in the process of an ottla.testing.MockRegistry",
                ));
            }
            _ => return Err(malformed(": expected https://host:port or http://host:port")),
        };
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let (user_info, host) = match authority.rsplit_once('@') {
            Some((user_info, host)) => (Some(user_info), host),
            None => (None, authority),
        };
        let port = uri.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
        if uri.host().is_none_or(str::is_empty) {
            return Err(malformed(": it has no host"));
        }
        if host != format!("{}{port}", uri.host().unwrap_or_default()) {
            return Err(unparsable());
        }
        if uri.query().is_some() {
            return Err(malformed(": it may not have a query"));
        }
        let path = uri.path().trim_end_matches('/').to_owned();
        let apicurio_path = path.rsplit_once(COMPATIBLE).map(|(base, _)| format!("{base}{APICURIO}"));
        let url = format!("{}://{host}{path}", uri.scheme_str().unwrap_or_default());
        let authorization = match (user_info, configured) {
            (None, configured) => configured.cloned(),
            (Some(_), Some(_)) => {
                return Err(invalid(format_args!(
                    "{url} contains a user, and basic.auth.user.info or bearer.auth.token is set: choose one"
                )));
            }
            (Some(user_info), None) => {
                let decoded = decode(user_info).filter(|decoded| decoded.contains(':'));
                let decoded = decoded.map(Secret::new).ok_or_else(|| {
                    invalid(format_args!("the user in {url} must be user:password, percent-encoded"))
                })?;
                Some(basic(&decoded))
            }
        };
        let proxy = Proxy::parse("schema.registry.proxy.url", &config.proxy_url)?;
        let origin = Origin::new(REGISTRY, &uri, tls).with_proxy(proxy);
        if authorization.is_some() && origin.tls.is_none() && !is_loopback(&origin.host) {
            tracing::warn!(target: "ottla.config", "{url} receives the credentials unencrypted: use https");
        }
        let http = HttpClient::new(origin, config.response_max).with_keep_alive();
        Ok(Self { url, path, apicurio_path, authorization, http })
    }
}

/// The header for the configured credentials.
fn authorization(config: &RegistryConfig) -> Result<Option<Secret>> {
    let (user_info, token) = (&config.basic_auth_user_info, &config.bearer_auth_token);
    match (user_info.is_empty(), token.is_empty()) {
        (true, true) => Ok(None),
        (false, false) => {
            let message = "basic.auth.user.info and bearer.auth.token are both set: choose one";
            Err(Error::new(Kind::Config, message))
        }
        (false, true) if user_info.expose().contains(':') => Ok(Some(basic(user_info))),
        (false, true) => Err(Error::new(Kind::Config, "basic.auth.user.info: expected user:password")),
        (true, false) if token.expose().trim().bytes().all(|byte| (0x21..0x7f).contains(&byte)) => {
            Ok(Some(Secret::new(format!("Bearer {}", token.expose().trim()))))
        }
        (true, false) => {
            let message = "bearer.auth.token: it contains characters that tokens may not have";
            Err(Error::new(Kind::Config, message))
        }
    }
}

fn basic(user_info: &Secret) -> Secret {
    Secret::new(format!("Basic {}", STANDARD.encode(user_info.expose())))
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;
    use crate::config::Value;

    fn all(pairs: &[(&str, &str)]) -> Result<Vec<Address>> {
        let pairs = pairs.iter().map(|(name, value)| (*name, Value::from(*value)));
        Address::all(&RegistryConfig::from_pairs(pairs)?)
    }

    #[test]
    fn user_and_password_are_sent_and_not_shown() {
        let addresses = all(&[("url", "http://me:hunter2%40@localhost:8081/apis/ccompat/v7/")]).unwrap();
        let address = &addresses[0];
        assert_eq!(address.url, "http://localhost:8081/apis/ccompat/v7");
        assert_eq!(address.path, "/apis/ccompat/v7");
        assert_eq!(address.apicurio_path.as_deref(), Some("/apis/registry/v3"));
        // me:hunter2@
        assert_eq!(address.authorization.as_ref().unwrap().expose(), "Basic bWU6aHVudGVyMkA=");
        assert!(!format!("{address:?}").contains("hunter2"));
    }

    #[test]
    fn invalid_addresses_and_credentials_are_errors_without_secrets() {
        let user_info = ("basic.auth.user.info", "me:hunter2");
        let cases: [(&[(&str, &str)], &str); 16] = [
            (&[], "no address"),
            (&[("url", "localhost:8081")], "expected https://host:port or http://host:port"),
            (&[("url", "http://me:hunter2#@host")], "percent-encode"),
            (&[("url", "http://me:hunter2,x@host")], "percent-encode"),
            (&[("url", "me:hunter2,x@host")], "expected https://host:port"),
            (&[("url", "http://host:8081x")], "expected https://host:port"),
            (&[("url", "http://::1:8081")], "expected https://host:port"),
            (&[("url", "http://[::1:8081")], "expected https://host:port"),
            (&[("url", "http://:8081")], "not a valid URL"),
            (&[("url", "http://me@host")], "must be user:password"),
            (&[("url", "http://me:hunter2@host"), user_info], "choose one"),
            (&[("url", "http://host/?token=hunter2")], "may not have a query"),
            (&[("url", "mock://orders")], "MockRegistry"),
            (&[("url", "http://host"), user_info, ("bearer.auth.token", "hunter2")], "are both set"),
            (&[("url", "http://host"), ("basic.auth.user.info", "hunter2")], "expected user:password"),
            (&[("url", "http://host"), ("bearer.auth.token", "hunter2\n")], ""),
        ];
        for (pairs, expected) in cases {
            if expected.is_empty() {
                assert!(all(pairs).is_ok(), "a line feed at the end of a token is dropped");
                continue;
            }
            let error = all(pairs).unwrap_err();
            assert_eq!(error.kind(), Kind::Config);
            assert!(error.message().contains(expected), "{error}");
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
        let store = ("schema.registry.ssl.truststore.location", "/none.pem");
        let error = all(&[("url", "https://host"), store]).unwrap_err();
        assert!(error.message().contains("schema.registry.ssl.truststore.location"), "{error}");
    }
}
