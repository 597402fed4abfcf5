//! The address of a proxy, from a URL such as `socks5h://user:password@proxy:1080`.
//!
//! Invariant: the URL is a secret, since it may contain a password: no error repeats any part of it, and
//! `Display` and `Debug` leave the user and the password out.

use std::fmt;

use hyper::Uri;
use percent_encoding::percent_decode_str;

use super::credentials::Credentials;
use crate::endpoint::Endpoint;
use crate::error::{Error, Kind, Result};
use crate::ip_zone::host_in_url;
use crate::secret::Secret;

/// The value that stands for no proxy.
const NONE: &str = "none";
/// The longest user and the longest password of SOCKS5 (RFC 1929), in bytes.
const SOCKS5_CREDENTIAL_MAX: usize = 255;

/// A proxy.
#[derive(Debug)]
pub(crate) struct Proxy {
    /// The configuration key.
    pub(super) key: &'static str,
    pub(super) protocol: Protocol,
    /// Where the proxy listens.
    pub(crate) endpoint: Endpoint,
    pub(super) credentials: Option<Credentials>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Socks5,
    Http,
}

/// Without user and password.
impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.protocol {
            Protocol::Socks5 => "socks5h",
            Protocol::Http => "http",
        };
        write!(f, "{scheme}://{}", self.endpoint)
    }
}

impl Proxy {
    /// The proxy of a URL; `None` if the URL is empty or `none`.
    pub(crate) fn parse(key: &'static str, url: &Secret) -> Result<Option<Self>> {
        let text = url.expose().trim();
        if text.is_empty() || text.eq_ignore_ascii_case(NONE) {
            return Ok(None);
        }
        let wrong = |why: &str| {
            Error::new(
                Kind::Config,
                format!(
                    "{key}: {why} (expected socks5h://host:port or http://host:port, with user:password@ before the host if the proxy asks for them)"
                ),
            )
        };
        let protocol = match text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase()).as_deref()
        {
            Some("socks5h") => Protocol::Socks5,
            Some("http") => Protocol::Http,
            Some("socks5") => {
                return Err(wrong(
                    "socks5:// stands for names that this machine resolves; they are resolved by the proxy: write socks5h://",
                ));
            }
            Some("socks4" | "socks4a") => return Err(wrong("SOCKS4 is not supported")),
            Some("https") => {
                return Err(wrong(
                    "TLS to the proxy itself is not supported; connections to servers with TLS are encrypted through the proxy all the same",
                ));
            }
            _ => return Err(wrong("it is not the URL of a proxy")),
        };
        // A parser drops what follows a #, and takes what is before it for the host.
        let unparsable = || wrong("not a valid URL: percent-encode the user and the password");
        let uri: Uri = match text.contains('#') {
            true => return Err(unparsable()),
            false => text.parse().map_err(|_| unparsable())?,
        };
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let user_info = authority.rsplit_once('@').map(|(user_info, _)| user_info);
        let host = host_in_url(uri.host().unwrap_or_default());
        if host.is_empty() {
            return Err(wrong("it has no host"));
        }
        let Some(port) = uri.port_u16().filter(|port| *port > 0) else {
            return Err(wrong("it has no port"));
        };
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Err(wrong("it may not have a path or a query"));
        }
        let credentials = user_info.map(|info| credentials(info, protocol).map_err(|why| wrong(&why)));
        Ok(Some(Self {
            key,
            protocol,
            endpoint: Endpoint { host, port },
            credentials: credentials.transpose()?,
        }))
    }

    /// The proxy of the first URL that is set: the first of the keys decides, even with `none`.
    pub(crate) fn first(urls: [(&'static str, &Secret); 2]) -> Result<Option<Self>> {
        match urls.into_iter().find(|(_, url)| !url.is_empty()) {
            Some((key, url)) => Self::parse(key, url),
            None => Ok(None),
        }
    }
}

fn credentials(user_info: &str, protocol: Protocol) -> Result<Credentials, String> {
    let (user, password) = user_info.split_once(':').unwrap_or((user_info, ""));
    let decode =
        |text: &str| percent_decode_str(text).decode_utf8().ok().map(|text| Secret::new(text.into_owned()));
    let (Some(user), Some(password)) = (decode(user), decode(password)) else {
        return Err("the user or the password is not percent-encoded UTF-8".to_owned());
    };
    match protocol {
        Protocol::Http if user.expose().contains(':') => {
            Err("the user of an HTTP proxy may not contain a colon".to_owned())
        }
        Protocol::Socks5
            if [&user, &password]
                .iter()
                .any(|text| !(1..=SOCKS5_CREDENTIAL_MAX).contains(&text.expose().len())) =>
        {
            Err(format!("SOCKS5 needs a user and a password of 1 to {SOCKS5_CREDENTIAL_MAX} bytes each"))
        }
        _ => Ok(Credentials { user, password }),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Option<Proxy>> {
        Proxy::parse("proxy.url", &Secret::new(url))
    }

    #[test]
    fn a_url_has_a_scheme_a_host_a_port_and_perhaps_a_user() {
        for (url, shown) in [
            ("socks5h://proxy:1080", "socks5h://proxy:1080"),
            ("SOCKS5H://[::1]:1080/", "socks5h://[::1]:1080"),
            ("http://me:hunter2%40@10.0.0.1:3128", "http://10.0.0.1:3128"),
        ] {
            let proxy = parse(url).unwrap().unwrap();
            assert_eq!(proxy.to_string(), shown);
            assert!(!format!("{proxy:?}").contains("hunter2"));
        }
        let proxy = parse("http://me:hunter2%40@proxy:1").unwrap().unwrap();
        assert_eq!(proxy.credentials.unwrap().basic().expose(), "Basic bWU6aHVudGVyMkA=");
        for none in ["", "none", " NONE "] {
            assert!(parse(none).unwrap().is_none());
        }
    }

    #[test]
    fn the_first_key_that_is_set_decides() {
        let (own, general) = (Secret::new("none"), Secret::new("http://proxy:1"));
        assert!(Proxy::first([("a", &own), ("b", &general)]).unwrap().is_none());
        let inherited = Proxy::first([("a", &Secret::default()), ("b", &general)]).unwrap().unwrap();
        assert_eq!(inherited.key, "b");
    }

    #[test]
    fn mistakes_are_explained_without_a_secret() {
        let long = format!("socks5h://hunter2:{}@proxy:1", "x".repeat(256));
        for (url, expected) in [
            ("proxy:1080", "not the URL of a proxy"),
            ("hunter2@proxy:1080", "not the URL of a proxy"),
            ("socks5://hunter2:x@proxy:1080", "write socks5h://"),
            ("socks4://proxy:1080", "SOCKS4"),
            ("https://hunter2:x@proxy:1080", "TLS to the proxy itself"),
            ("http://hunter2:x@proxy", "it has no port"),
            ("http://hunter2:x#y@proxy:1", "percent-encode"),
            ("http://hunter2:x/y@proxy:1", "it has no port"),
            ("http://hunter2:x@proxy:0", "it has no port"),
            ("http://proxy:1/hunter2", "may not have a path"),
            ("http://proxy:1?hunter2", "may not have a path or a query"),
            ("http://hunter2%3A:x@proxy:1", "may not contain a colon"),
            ("http://hunter2%ff:x@proxy:1", "UTF-8"),
            ("socks5h://hunter2@proxy:1", "of 1 to 255 bytes"),
            (&long, "of 1 to 255 bytes"),
        ] {
            let error = parse(url).unwrap_err();
            assert_eq!(error.kind(), Kind::Config);
            assert!(error.message().contains(expected), "{url}: {error}");
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }
}
