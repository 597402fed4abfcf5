//! Reads JSON text token by token.
//!
//! Invariants: exactly the grammar of RFC 8259, and no lone surrogate in an escape. No recursion; each byte is
//! read once.

use std::borrow::Cow;
use std::cell::Cell;

/// The deepest nesting of a value that is skipped, or kept as text.
const MAX_SKIPPED_DEPTH: u32 = u128::BITS;

/// What is wrong with the text.
pub(super) type Fault = String;

/// A position in a JSON text. Its methods take `&self`, since serde passes values on by shared reference.
#[derive(Debug)]
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: Cell<usize>,
}

/// A number as it is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Number<'a> {
    pub(super) text: &'a str,
    /// Its value, if it is a short integer without a fraction and an exponent.
    pub(super) short: Option<i64>,
}

impl<'a> Scanner<'a> {
    /// # Errors
    /// The bytes are not UTF-8.
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self, Fault> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Self { text, at: Cell::new(0) }),
            Err(error) => Err(format!("it is not UTF-8 from byte {} on", error.valid_up_to())),
        }
    }

    pub(super) fn position(&self) -> usize {
        self.at.get()
    }

    /// The text from a position up to here.
    pub(super) fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at.get()).unwrap_or_default()
    }

    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at.get()..).unwrap_or_default()
    }

    fn advance(&self, count: usize) {
        self.at.set(self.at.get() + count);
    }

    /// The next byte that is not white space; it is not consumed.
    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        let mut at = self.at.get();
        loop {
            match bytes.get(at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => at += 1,
                found => {
                    self.at.set(at);
                    return found.copied();
                }
            }
        }
    }

    /// Consumes a byte, after white space, if it is the next one.
    #[inline]
    pub(super) fn accept(&self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.advance(1);
        }
        found
    }

    /// Consumes a byte, after white space.
    #[inline]
    pub(super) fn expect(&self, byte: u8, expected: &str) -> Result<(), Fault> {
        if self.accept(byte) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    /// Consumes a text that begins with no white space.
    #[inline]
    pub(super) fn accept_text(&self, text: &str) -> bool {
        let found = self.rest().starts_with(text.as_bytes());
        if found {
            self.advance(text.len());
        }
        found
    }

    /// Whether another item follows in an array or object that `close` ends.
    #[inline]
    pub(super) fn next_item(&self, close: u8) -> Result<bool, Fault> {
        match self.peek() {
            Some(b',') => {
                self.advance(1);
                Ok(true)
            }
            Some(found) if found == close => {
                self.advance(1);
                Ok(false)
            }
            _ => Err(self.unexpected(if close == b']' { "',' or ']'" } else { "',' or '}'" })),
        }
    }

    /// # Errors
    /// Anything but white space is left.
    pub(super) fn finish(&self) -> Result<(), Fault> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(format!("bytes are left after the value, from byte {} on", self.at.get())),
        }
    }

    /// Says what was expected, and what is here instead.
    #[cold]
    pub(super) fn unexpected(&self, expected: &str) -> Fault {
        let found = match self.peek() {
            None => return format!("it ends where {expected} was expected"),
            Some(b'{') => "an object",
            Some(b'[') => "an array",
            Some(b'"') => "a string",
            Some(b'-' | b'0'..=b'9') => "a number",
            Some(b't') if self.rest().starts_with(b"true") => "a boolean",
            Some(b'f') if self.rest().starts_with(b"false") => "a boolean",
            Some(b'n') if self.rest().starts_with(b"null") => "null",
            Some(_) => {
                let rest = self.text.get(self.at.get()..).unwrap_or_default();
                let found = rest.chars().next().unwrap_or_default();
                return format!("expected {expected}, found {found:?} at byte {}", self.at.get());
            }
        };
        format!("expected {expected}, found {found} at byte {}", self.at.get())
    }

    /// Consumes `true` or `false`.
    pub(super) fn boolean(&self) -> Result<bool, Fault> {
        match self.peek() {
            Some(b't') if self.accept_text("true") => Ok(true),
            Some(b'f') if self.accept_text("false") => Ok(false),
            _ => Err(self.unexpected("a boolean")),
        }
    }

    /// Consumes `null`.
    pub(super) fn null(&self) -> Result<(), Fault> {
        match self.peek() {
            Some(b'n') if self.accept_text("null") => Ok(()),
            _ => Err(self.unexpected("null")),
        }
    }

    /// Consumes a number. `expected` is for the message.
    pub(super) fn number(&self, expected: &str) -> Result<Number<'a>, Fault> {
        let first = self.peek();
        let start = self.at.get();
        let bytes = self.text.as_bytes();
        let mut at = start + usize::from(first == Some(b'-'));
        let digits = |from: usize| {
            let rest = bytes.get(from..).unwrap_or_default();
            from + rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
        };
        let first_digit = at;
        let mut value = 0_i64;
        while let Some(digit @ b'0'..=b'9') = bytes.get(at) {
            value = value.wrapping_mul(10).wrapping_add(i64::from(digit - b'0'));
            at += 1;
        }
        match at - first_digit {
            0 if first == Some(b'-') => {
                self.at.set(at);
                return Err(self.unexpected("a digit"));
            }
            0 => return Err(self.unexpected(expected)),
            1 => {}
            _ if bytes.get(first_digit) == Some(&b'0') => {
                return Err(format!("a number has leading zeros at byte {start}"));
            }
            _ => {}
        }
        let integer_digits = at - first_digit;
        let mut is_integer = true;
        if bytes.get(at) == Some(&b'.') {
            is_integer = false;
            let end = digits(at + 1);
            if end == at + 1 {
                self.at.set(end);
                return Err(self.unexpected("a digit"));
            }
            at = end;
        }
        if let Some(b'e' | b'E') = bytes.get(at) {
            is_integer = false;
            at += 1;
            if let Some(b'+' | b'-') = bytes.get(at) {
                at += 1;
            }
            let end = digits(at);
            if end == at {
                self.at.set(end);
                return Err(self.unexpected("a digit"));
            }
            at = end;
        }
        self.at.set(at);
        // 18 digits fit; no more are needed to be fast.
        let short = (is_integer && integer_digits <= 18).then_some(match first {
            Some(b'-') => value.wrapping_neg(),
            _ => value,
        });
        Ok(Number { text: self.since(start), short })
    }

    /// Consumes a string.
    pub(super) fn string(&self, expected: &str) -> Result<Cow<'a, str>, Fault> {
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

    fn skip_string(&self) -> Result<(), Fault> {
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
            // The high bit of each byte that is zero, respectively less than 0x20; a borrow reaches only
            // bytes behind one that is found.
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

    /// Consumes any value.
    pub(super) fn skip(&self) -> Result<(), Fault> {
        // The bit of each open level: whether it is an object.
        let mut objects = 0_u128;
        let mut depth = 0;
        loop {
            let is_object = match self.peek() {
                Some(b'{') => Some(true),
                Some(b'[') => Some(false),
                Some(b'"') => {
                    self.skip_string()?;
                    None
                }
                Some(b'-' | b'0'..=b'9') => {
                    self.number("a number")?;
                    None
                }
                Some(b'n') => {
                    self.null()?;
                    None
                }
                Some(b't' | b'f') => {
                    self.boolean()?;
                    None
                }
                _ => return Err(self.unexpected("a value")),
            };
            if let Some(is_object) = is_object {
                if depth == MAX_SKIPPED_DEPTH {
                    return Err(format!("it is nested more than {MAX_SKIPPED_DEPTH} levels deep"));
                }
                self.advance(1);
                if !self.accept(if is_object { b'}' } else { b']' }) {
                    objects = objects << 1 | u128::from(is_object);
                    depth += 1;
                    self.skip_key(is_object)?;
                    continue;
                }
            }
            loop {
                if depth == 0 {
                    return Ok(());
                }
                let in_object = objects & 1 == 1;
                if self.next_item(if in_object { b'}' } else { b']' })? {
                    self.skip_key(in_object)?;
                    break;
                }
                objects >>= 1;
                depth -= 1;
            }
        }
    }

    fn skip_key(&self, in_object: bool) -> Result<(), Fault> {
        if !in_object {
            return Ok(());
        }
        match self.peek() {
            Some(b'"') => self.skip_string()?,
            _ => return Err(self.unexpected("a key")),
        }
        self.expect(b':', "':'")
    }
}
