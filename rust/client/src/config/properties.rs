//! Java's properties files, such as those of Kafka's own tools.
//!
//! Invariant: a file has the same keys and values here as for Java, but that it is UTF-8.

use crate::error::{Error, Kind, Result};

/// The digits of an escape `\uXXXX`.
const DIGITS: usize = 4;

/// Returns the keys and values of a properties file: comments, escapes and continuation lines are Java's.
///
/// # Errors
/// If an escape `\uXXXX` is half of a character.
pub fn read_properties(text: &str) -> Result<Vec<(String, String)>> {
    let mut pairs = Vec::new();
    let mut lines = lines(text);
    while let Some(first) = lines.next() {
        let first = first.trim_start();
        if first.is_empty() || first.starts_with(['#', '!']) {
            continue;
        }
        let mut line = first.to_owned();
        // A line that ends with an odd number of backslashes continues on the next line.
        while line.chars().rev().take_while(|last| *last == '\\').count() % 2 == 1 {
            line.pop();
            line.push_str(lines.next().unwrap_or_default().trim_start());
        }
        let (key, value) = split(&line);
        if !key.is_empty() {
            pairs.push((unescaped(key)?, unescaped(value)?));
        }
    }
    Ok(pairs)
}

/// The lines, each of which ends with `\n`, `\r` or both.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'))
}

/// The key, up to the first separator that is not escaped, and the value.
fn split(line: &str) -> (&str, &str) {
    let mut is_escaped = false;
    let end = line.find(|character: char| {
        let ends = !is_escaped && (matches!(character, '=' | ':') || character.is_whitespace());
        is_escaped = !is_escaped && character == '\\';
        ends
    });
    let (key, rest) = line.split_at(end.unwrap_or(line.len()));
    let rest = rest.trim_start();
    (key, rest.strip_prefix(['=', ':']).unwrap_or(rest).trim_start())
}

fn unescaped(text: &str) -> Result<String> {
    // Java escapes a character beyond U+FFFF as the two halves of its surrogate pair.
    let mut units: Vec<u16> = Vec::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        let escaped = if character == '\\' { rest.next() } else { None };
        if escaped == Some('u')
            && let Some(unit) = unit(rest.as_str())
        {
            units.push(unit);
            rest = rest.as_str().get(DIGITS..).unwrap_or_default().chars();
            continue;
        }
        let unescaped = match escaped {
            None => character,
            Some('t') => '\t',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('f') => '\u{c}',
            Some(other) => other,
        };
        units.extend_from_slice(unescaped.encode_utf16(&mut [0; 2]));
    }
    String::from_utf16(&units)
        .map_err(|_| Error::new(Kind::Config, "an escape \\uXXXX is half of a surrogate pair"))
}

/// The code unit that four hexadecimal digits are at the start of a text.
fn unit(text: &str) -> Option<u16> {
    let digits = text.get(..DIGITS).filter(|digits| digits.chars().all(|digit| digit.is_ascii_hexdigit()))?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]
    use super::read_properties;

    #[test]
    fn pairs_as_java_reads_them() {
        for (text, expected) in [
            ("a=b", vec![("a", "b")]),
            ("a = b c ", vec![("a", "b c ")]),
            ("a: b\rc d", vec![("a", "b"), ("c", "d")]),
            ("a=b=c\na", vec![("a", "b=c"), ("a", "")]),
            ("# a=b\n! c=d\n\n  e=f", vec![("e", "f")]),
            ("a=b\\\n   c", vec![("a", "bc")]),
            ("a=b\\\\\nc=d\\", vec![("a", "b\\"), ("c", "d")]),
            ("a\\=b\\ c=d", vec![("a=b c", "d")]),
            ("a=\\u00e9\\t\\n\\ud83d\\ude00\\uz", vec![("a", "é\t\n😀uz")]),
            ("a=1\r\nb=2\r\n", vec![("a", "1"), ("b", "2")]),
            ("=b", vec![]),
        ] {
            let found = read_properties(text).unwrap();
            let found: Vec<_> = found.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
            assert_eq!(found, expected, "{text:?}");
        }
        assert!(read_properties("a=\\ud83d").is_err());
    }
}
