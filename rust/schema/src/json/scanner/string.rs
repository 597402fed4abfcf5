//! Reads JSON strings.
//!
//! Invariant: a string contains no lone surrogates and no control characters.

use std::borrow::Cow;

use super::{Fault, Scanner};

impl<'a> Scanner<'a> {
    /// Consumes a string.
    pub(in crate::json) fn string(&self, expected: &str) -> Result<Cow<'a, str>, Fault> {
        self.expect(b'"', expected)?;
        let start = self.at.get();
        self.plain();
        if self.rest().first() == Some(&b'"') {
            let text = self.since(start);
            self.advance(1);
            return Ok(Cow::Borrowed(text));
        }
        let mut text = self.since(start).to_owned();
        while let Some(found) = self.after_plain()? {
            text.push(found);
            let start = self.at.get();
            self.plain();
            text.push_str(self.since(start));
        }
        Ok(Cow::Owned(text))
    }

    /// Skips a string that begins at the current position.
    pub(super) fn skip_string(&self) -> Result<(), Fault> {
        self.advance(1);
        self.plain();
        while self.after_plain()?.is_some() {
            self.plain();
        }
        Ok(())
    }

    /// Moves to the next quote, backslash or control character.
    #[inline]
    fn plain(&self) {
        const ONES: u64 = u64::from_ne_bytes([1; 8]);
        const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
        let rest = self.rest();
        let (words, _) = rest.as_chunks::<8>();
        let mut at = 0;
        for word in words {
            let word = u64::from_le_bytes(*word);
            // These set the high bit of each byte that is zero, or less than 0x20. A borrow affects only bytes
            // after one that was found.
            let zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
            let control = word.wrapping_sub(ONES * 0x20) & !word & HIGH;
            let found =
                zero(word ^ (ONES * u64::from(b'"'))) | zero(word ^ (ONES * u64::from(b'\\'))) | control;
            if found != 0 {
                self.advance(at + found.trailing_zeros() as usize / 8);
                return;
            }
            at += 8;
        }
        let tail = rest.get(at..).unwrap_or_default();
        let plain = tail.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | ..0x20)).count();
        self.advance(at + plain);
    }

    /// Consumes an escaped character, or the end of the string.
    fn after_plain(&self) -> Result<Option<char>, Fault> {
        let rest = self.rest();
        match rest.first() {
            Some(b'"') => {
                self.advance(1);
                Ok(None)
            }
            Some(b'\\') => {
                let escaped = match rest.get(1) {
                    Some(b'u') => return self.unicode_escape().map(Some),
                    Some(b'"') => '"',
                    Some(b'\\') => '\\',
                    Some(b'/') => '/',
                    Some(b'b') => '\u{8}',
                    Some(b'f') => '\u{c}',
                    Some(b'n') => '\n',
                    Some(b'r') => '\r',
                    Some(b't') => '\t',
                    Some(_) => return Err(format!("an invalid escape at byte {}", self.at.get())),
                    None => return Err("it ends within a string".to_owned()),
                };
                self.advance(2);
                Ok(Some(escaped))
            }
            Some(_) => Err(format!("a control character in a string at byte {}", self.at.get())),
            None => Err("it ends within a string".to_owned()),
        }
    }

    fn unicode_escape(&self) -> Result<char, Fault> {
        let invalid = || format!("an invalid escape at byte {}", self.at.get());
        let unit = |at: usize| -> Option<u32> {
            let escape = self.rest().get(at..at + 6)?;
            let digits = escape.strip_prefix(b"\\u")?;
            digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
        };
        let first = unit(0).ok_or_else(invalid)?;
        if let Some(found) = char::from_u32(first) {
            self.advance(6);
            return Ok(found);
        }
        let lone = || format!("half of a surrogate pair at byte {}", self.at.get());
        let second = unit(6).filter(|second| first < 0xdc00 && (0xdc00..0xe000).contains(second));
        let second = second.ok_or_else(lone)?;
        self.advance(12);
        char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)).ok_or_else(lone)
    }
}
