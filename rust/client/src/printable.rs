//! Text from peers, escaped for logs and terminals.
//!
//! Invariant: printable text is one line of bounded length that shows its characters in their order: it
//! has no control, bidirectional or invisible characters.

/// Longer text is truncated to this many characters.
const MAX_CHARS: usize = 500;

/// Escapes control, bidirectional and invisible characters, and truncates to 500 characters.
pub(crate) fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len().min(MAX_CHARS));
    for c in text.chars().take(MAX_CHARS) {
        if is_deceptive(c) { printable.extend(c.escape_default()) } else { printable.push(c) }
    }
    if text.chars().nth(MAX_CHARS).is_some() {
        printable.push('…');
    }
    printable
}

/// Whether a character moves the cursor, changes the direction of text or is invisible.
fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn quotes_and_letters_stay_as_they_are() {
        let text = r#"Topic 'orders' is "gone" — C:\logs, größer, 日本"#;
        assert_eq!(printable(text), text);
    }

    #[test]
    fn what_deceives_the_reader_is_escaped() {
        assert_eq!(printable("a\nb\x1b[31m\u{202e}c\u{200b}d"), r"a\nb\u{1b}[31m\u{202e}c\u{200b}d");
    }

    #[test]
    fn long_text_is_cut() {
        assert_eq!(printable(&"ä".repeat(501)).chars().count(), 501);
        assert!(printable(&"ä".repeat(501)).ends_with('…'));
        assert_eq!(printable(&"ä".repeat(500)).chars().count(), 500);
    }
}
