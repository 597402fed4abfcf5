//! Parses the name of a codec and checks its level, as configured.

use std::str::FromStr;

use super::{Compression, RecordError};

impl Compression {
    /// Returns `level` if the codec accepts it. A codec without levels accepts any.
    ///
    /// # Errors
    /// [`RecordError::Level`] for a level out of bounds.
    pub fn check_level(self, level: i32) -> Result<i32, RecordError> {
        match self.levels() {
            Some(levels) if !levels.contains(&level) && Some(level) != self.default_level() => {
                Err(RecordError::Level { codec: self, level, min: *levels.start(), max: *levels.end() })
            }
            _ => Ok(level),
        }
    }
}

impl FromStr for Compression {
    type Err = RecordError;

    fn from_str(name: &str) -> Result<Self, RecordError> {
        Self::ALL
            .into_iter()
            .find(|codec| codec.name().eq_ignore_ascii_case(name))
            .ok_or_else(|| RecordError::CodecName { name: name.to_owned() })
    }
}
