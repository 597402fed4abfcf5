//! Percent-encoding of forms and paths.

/// Encodes a text for a form.
pub(crate) fn form(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'*' => out.push(char::from(byte)),
            b' ' => out.push('+'),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Encodes a text as one segment of a path.
#[cfg(feature = "arrow")]
pub(crate) fn segment(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Decodes percent-encoded text; `None` if it is malformed.
#[cfg(feature = "arrow")]
pub(crate) fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?].map(|digit| char::from(digit).to_digit(16));
                let [Some(high), Some(low)] = digits else { return None };
                bytes.push(u8::try_from(high * 16 + low).ok()?);
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(all(test, feature = "arrow"))]
mod tests {
    use super::*;

    #[test]
    fn a_segment_has_no_character_of_other_parts_of_a_url() {
        let subject = "orders/v1?x=#%:ä value";
        assert_eq!(segment(subject), "orders%2Fv1%3Fx%3D%23%25%3A%C3%A4%20value");
        assert_eq!(decode(&segment(subject)).as_deref(), Some(subject));
        assert_eq!((decode("%4"), decode("%zz"), decode("%ff")), (None, None, None));
    }
}
