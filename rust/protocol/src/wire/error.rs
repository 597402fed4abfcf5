//! [`WireError`]: the errors of reading bytes from a peer and of writing messages.

use thiserror::Error;

/// The result of reading or writing wire bytes.
pub type Result<T, E = WireError> = std::result::Result<T, E>;

/// Malformed bytes from a peer, or a value that cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WireError {
    /// Fewer bytes remain than the value needs.
    #[error("{what} needs {needed} bytes, {left} are left")]
    Short {
        /// The value being read.
        what: &'static str,
        /// The minimum number of bytes needed.
        needed: usize,
        /// The number of remaining bytes.
        left: usize,
    },
    /// An impossible length or count.
    #[error("{what} announces an impossible length of {length}")]
    Length {
        /// The value being read.
        what: &'static str,
        /// The announced length.
        length: i64,
    },
    /// A variable-length integer that is too long.
    #[error("over-long variable-length integer")]
    Varint,
    /// A string that is not UTF-8.
    #[error("string is not valid UTF-8")]
    Utf8,
    /// Null where the version does not allow it.
    #[error("{field} is null, which version {version} does not allow")]
    Null {
        /// The field, as `Struct.field`.
        field: &'static str,
        /// The message version.
        version: i16,
    },
    /// A field is set that does not exist in the version and must not be dropped silently.
    #[error("{field} cannot be sent in version {version}")]
    FieldVersion {
        /// The field, as `Struct.field`.
        field: &'static str,
        /// The message version.
        version: i16,
    },
    /// The message does not exist in this version.
    #[error("{message} has no version {version} (known: {min}–{max})")]
    Version {
        /// The message's name.
        message: &'static str,
        /// The requested version.
        version: i16,
        /// The lowest supported version.
        min: i16,
        /// The highest supported version.
        max: i16,
    },
    /// Decoding would take more memory than the frame's size justifies.
    #[error("decoding needs more memory than a frame of {frame} bytes justifies")]
    Budget {
        /// The frame's size in bytes.
        frame: usize,
    },
    /// A value too long for its length field.
    #[error("{what} of {length} bytes is too long for the protocol")]
    TooLong {
        /// The value being written.
        what: &'static str,
        /// The value's length.
        length: usize,
    },
    /// Bytes remain after the whole message.
    #[error("{left} bytes are left after {message}")]
    Trailing {
        /// The message's name.
        message: &'static str,
        /// The number of remaining bytes.
        left: usize,
    },
    /// An unknown API key.
    #[error("unknown API key {0}")]
    ApiKey(i16),
}
