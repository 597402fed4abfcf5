//! What can be wrong with bytes from a peer, or with a value that its version cannot carry.

use thiserror::Error;

/// The result of reading or writing wire bytes.
pub type Result<T, E = WireError> = std::result::Result<T, E>;

/// What is wrong with bytes that a peer sent, or with a value that cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WireError {
    /// Fewer bytes are left than the value needs.
    #[error("{what} needs {needed} bytes, {left} are left")]
    Short {
        /// What was being read.
        what: &'static str,
        /// Bytes (at least) needed.
        needed: usize,
        /// Bytes left.
        left: usize,
    },
    /// A length or a count that no honest peer announces.
    #[error("{what} announces an impossible length of {length}")]
    Length {
        /// What was being read.
        what: &'static str,
        /// The announced length.
        length: i64,
    },
    /// A variable-length integer that does not end where it must.
    #[error("over-long variable-length integer")]
    Varint,
    /// A string that is not UTF-8.
    #[error("string is not valid UTF-8")]
    Utf8,
    /// Null where the version allows none.
    #[error("{field} is null, which version {version} does not allow")]
    Null {
        /// The field, as `Struct.field`.
        field: &'static str,
        /// The message version.
        version: i16,
    },
    /// A value was set that the version cannot carry, and dropping it would change the meaning.
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
        /// The version asked for.
        version: i16,
        /// Lowest known version.
        min: i16,
        /// Highest known version.
        max: i16,
    },
    /// Decoding would take more memory than the frame's size can justify.
    #[error("decoding needs more memory than a frame of {frame} bytes can justify")]
    Budget {
        /// The frame's size in bytes.
        frame: usize,
    },
    /// A value too long for its length prefix.
    #[error("{what} of {length} bytes is too long for the protocol")]
    TooLong {
        /// What was being written.
        what: &'static str,
        /// Its length.
        length: usize,
    },
    /// Bytes were left over after the whole message was read.
    #[error("{left} bytes are left after {message}")]
    Trailing {
        /// The message's name.
        message: &'static str,
        /// Bytes left.
        left: usize,
    },
    /// An API key that this crate does not know.
    #[error("unknown API key {0}")]
    ApiKey(i16),
}
