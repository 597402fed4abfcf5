//! Request and response headers, and the frame that carries them.
//!
//! A frame is a 4-byte length and that many bytes: header, then message. Request headers have versions
//! 0–2 (0 has no client id; only ControlledShutdown used it), response headers 0–1; the API and its
//! version determine which (see [`ApiKey`]). The client id keeps its 2-byte length in the flexible
//! header, so that a broker can read it before it knows the version.

use bytes::Bytes;

use crate::api::ApiKey;
use crate::messages::Message;
use crate::wire::{Frame, Reader, Result, WireError, Writer};

/// The size of a frame's length prefix in bytes.
pub const LENGTH_PREFIX: usize = 4;

/// The header of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestHeader {
    /// The API key; not an [`ApiKey`], because a server must be able to respond to unknown ones.
    pub api_key: i16,
    /// The version of the request.
    pub api_version: i16,
    /// Chosen by the client; the response repeats it.
    pub correlation_id: i32,
    /// The client's name, for the broker's logs and quotas.
    pub client_id: Option<String>,
}

impl RequestHeader {
    /// Writes the header in `header_version`.
    pub fn encode(&self, w: &mut Writer, header_version: i16) -> Result<()> {
        w.i16(self.api_key);
        w.i16(self.api_version);
        w.i32(self.correlation_id);
        if header_version >= 1 {
            w.string(self.client_id.as_deref(), false)?;
        }
        if header_version >= 2 {
            w.tagged(Vec::new())?;
        }
        Ok(())
    }

    /// Reads the header in `header_version`.
    pub fn decode(r: &mut Reader, header_version: i16) -> Result<Self> {
        let mut header =
            Self { api_key: r.i16()?, api_version: r.i16()?, correlation_id: r.i32()?, client_id: None };
        if header_version >= 1 {
            header.client_id = r.string(false)?;
        }
        if header_version >= 2 {
            r.tagged(|_, _| Ok(false))?;
        }
        Ok(header)
    }

    /// Reads the header of any request: API key and version come first in every header version.
    pub fn decode_any(bytes: &Bytes) -> Result<(Self, Reader)> {
        let mut peek = Reader::new(bytes.clone());
        let (key, version) = (peek.i16()?, peek.i16()?);
        // A server must respond to ApiVersions in an unknown version, with UNSUPPORTED_VERSION.
        let header_version = match ApiKey::try_from(key) {
            Ok(ApiKey::ApiVersions) if version > ApiKey::ApiVersions.versions().1 => 1,
            Ok(api) => api.request_header_version(version),
            Err(_) => 1,
        };
        let mut r = Reader::new(bytes.clone());
        let header = Self::decode(&mut r, header_version)?;
        Ok((header, r))
    }
}

/// Writes a whole request frame: length, header, message.
pub fn request_frame<M: Message>(header: &RequestHeader, header_version: i16, message: &M) -> Result<Frame> {
    let mut w = Writer::new();
    header.encode(&mut w, header_version)?;
    message.encode(&mut w, header.api_version)?;
    with_length(w)
}

/// Writes a whole response frame: length, header, message.
pub fn response_frame<M: Message>(
    api: ApiKey,
    version: i16,
    correlation_id: i32,
    message: &M,
) -> Result<Frame> {
    let mut w = Writer::new();
    w.i32(correlation_id);
    if api.response_header_version(version) >= 1 {
        w.tagged(Vec::new())?;
    }
    message.encode(&mut w, version)?;
    with_length(w)
}

/// Reads a response header in `header_version`: the correlation id.
pub fn decode_response_header(r: &mut Reader, header_version: i16) -> Result<i32> {
    let correlation_id = r.i32()?;
    if header_version >= 1 {
        r.tagged(|_, _| Ok(false))?;
    }
    Ok(correlation_id)
}

/// Returns the length of an incoming frame, which must not exceed `max`.
pub fn frame_length(prefix: [u8; LENGTH_PREFIX], max: usize) -> Result<usize> {
    let length = i32::from_be_bytes(prefix);
    match usize::try_from(length) {
        // The shortest frame is a correlation id.
        Ok(size) if (4..=max).contains(&size) => Ok(size),
        _ => Err(WireError::Length { what: "frame", length: i64::from(length) }),
    }
}

fn with_length(w: Writer) -> Result<Frame> {
    let body = w.finish();
    let length = body.len();
    let prefix = i32::try_from(length).map_err(|_| WireError::TooLong { what: "frame", length })?;
    Ok(body.prefixed(&prefix.to_be_bytes()))
}
