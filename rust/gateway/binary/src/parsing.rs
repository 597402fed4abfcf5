//! The values of options. Each error says what was expected.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU16;
use std::time::Duration;

/// A century, in seconds.
const CENTURY: f64 = 100.0 * 365.0 * 86_400.0;

/// An IP address and a port.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    let expected = || format!("expected an IP address of this machine and a port, got {text:?}");
    let (host, port) = text.rsplit_once(':').ok_or_else(expected)?;
    let ip: IpAddr = bare(host).parse().map_err(|_| expected())?;
    Ok(SocketAddr::new(ip, number(port).ok_or_else(expected)?))
}

/// The first and the last port of a range.
pub(crate) fn ports(text: &str) -> Result<(NonZeroU16, NonZeroU16), String> {
    let port = |text| NonZeroU16::new(number(text)?);
    let range = text.split_once('-').and_then(|(first, last)| Some((port(first)?, port(last)?)));
    range
        .filter(|(first, last)| first <= last)
        .ok_or_else(|| format!("expected a range such as 19093-19192, got {text:?}"))
}

/// The id of a broker.
pub(crate) fn broker(text: &str) -> Result<i32, String> {
    number(text).ok_or_else(|| format!("expected the id of a broker, 0 or more, got {text:?}"))
}

/// A number of connections or threads, `what` in errors.
pub(crate) fn count(text: &str, what: &str) -> Result<usize, String> {
    let count = number::<u32>(text).filter(|count| *count > 0).and_then(|count| usize::try_from(count).ok());
    count.ok_or_else(|| format!("expected a number of {what}, 1 or more: {text:?}"))
}

/// A time in seconds, from `least` to a century.
pub(crate) fn seconds(text: &str, least: f64) -> Result<Duration, String> {
    let seconds: f64 = text.trim().parse().unwrap_or(f64::NAN);
    let expected = || format!("expected seconds, {least} or more, got {text:?}");
    if !(least..=CENTURY).contains(&seconds) {
        return Err(expected());
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| expected())
}

/// A host name or an IP address, as clients resolve it.
pub(crate) fn host(text: &str) -> Result<String, String> {
    let bare = bare(text);
    if let Ok(address) = bare.parse::<IpAddr>() {
        if address.is_unspecified() {
            return Err(format!("{text} is every address of this machine: give one that clients reach"));
        }
        return Ok(bare.to_owned());
    }
    // What no host name has: clients would take a part of it for a port or a scheme.
    if text.is_empty() || text.contains([':', '/', '@', ',', '[', ']']) || text.contains(char::is_whitespace)
    {
        return Err(format!("expected a host name or an IP address without a port, got {text:?}"));
    }
    Ok(text.to_owned())
}

fn bare(host: &str) -> &str {
    let host = host.strip_prefix('[').unwrap_or(host);
    host.strip_suffix(']').unwrap_or(host)
}

/// A number of digits alone, without a sign.
fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}
