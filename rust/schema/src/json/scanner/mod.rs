//! Reads JSON text token by token. `string` reads strings, and `skip` reads whole values.
//!
//! Invariants: the scanner accepts exactly the grammar of RFC 8259, without lone surrogates in escapes. It does not
//! recurse, and it reads each byte once.

mod skip;
mod string;

use std::cell::Cell;

/// The reason why the text is invalid.
pub(super) type Fault = String;

/// A position in a JSON text. Its methods take `&self`, since serde passes values on by shared reference.
#[derive(Debug)]
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: Cell<usize>,
}

/// A number token.
#[derive(Debug, Clone, Copy)]
pub(super) struct Number<'a> {
    pub(super) text: &'a str,
    /// The value, if the number is a short integer without a fraction or an exponent.
    pub(super) short: Option<i64>,
}

impl<'a> Scanner<'a> {
    /// Creates a scanner at the start of the text.
    ///
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

    /// Returns the text from a position to the current one.
    pub(super) fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at.get()).unwrap_or_default()
    }

    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at.get()..).unwrap_or_default()
    }

    fn advance(&self, count: usize) {
        self.at.set(self.at.get() + count);
    }

    /// Returns the next byte that is not white space, without consuming it.
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

    /// Skips white space, and consumes a byte if it is next.
    #[inline]
    pub(super) fn accept(&self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.advance(1);
        }
        found
    }

    /// Skips white space, and consumes a byte that must be next.
    #[inline]
    pub(super) fn expect(&self, byte: u8, expected: &str) -> Result<(), Fault> {
        if self.accept(byte) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    /// Consumes a text that must be next. The text does not begin with white space.
    #[inline]
    pub(super) fn accept_text(&self, text: &str) -> bool {
        let found = self.rest().starts_with(text.as_bytes());
        if found {
            self.advance(text.len());
        }
        found
    }

    /// Returns whether another item follows in an array or object that `close` ends.
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

    /// Checks that only white space is left.
    ///
    /// # Errors
    /// Anything but white space is left.
    pub(super) fn finish(&self) -> Result<(), Fault> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(format!("bytes are left after the value, from byte {} on", self.at.get())),
        }
    }

    /// Returns an error that states what was expected and what was found.
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

    /// Consumes a number. The error message names `expected`.
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
        // Eighteen digits always fit, and longer integers are rare enough to take the slow path.
        let short = (is_integer && integer_digits <= 18).then_some(match first {
            Some(b'-') => value.wrapping_neg(),
            _ => value,
        });
        Ok(Number { text: self.since(start), short })
    }
}
