//! Percent-encoding of forms and paths.

#[cfg(feature = "arrow")]
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What a segment of a path may not have: all but the unreserved characters of RFC 3986.
#[cfg(feature = "arrow")]
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Encodes a text for a form.
pub(crate) fn form(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// Encodes a text as one segment of a path.
#[cfg(feature = "arrow")]
pub(crate) fn segment(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// Decodes percent-encoded text; `None` if it is malformed.
#[cfg(feature = "arrow")]
pub(crate) fn decode(text: &str) -> Option<String> {
    // The library would leave a percent sign without two digits as it is.
    let is_escape =
        |rest: &str| rest.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
    let is_valid = text.split('%').skip(1).all(is_escape);
    percent_decode_str(text).decode_utf8().ok().filter(|_| is_valid).map(Into::into)
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
