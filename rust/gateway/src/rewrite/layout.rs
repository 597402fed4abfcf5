//! The layout of a part of a message, and [`Walker`], which passes over such a part without decoding it.
//!
//! Invariant: the memory of a walker does not depend on the length of the part. Its input may be cut anywhere.

/// An element of a flexible message (KIP-482).
#[derive(Debug)]
pub(super) enum Layout {
    /// This many bytes.
    Fixed(usize),
    /// A compact string, compact bytes or null: the length plus one, and that many bytes.
    Compact,
    /// A compact array, or null, of structs of these elements: the count plus one, and that many structs.
    Array(&'static [Self]),
    /// The tagged fields at the end of a struct: the count, and each with its number and its bytes.
    Tags,
    /// An integer of variable length.
    Varint,
    /// A length and that many bytes.
    Sized,
}

/// A tagged field.
const TAG: &[Layout] = &[Layout::Varint, Layout::Sized];

/// A place in a list of structs.
#[derive(Debug, Clone, Copy)]
struct Place {
    elements: &'static [Layout],
    /// The next element of the struct.
    next: usize,
    /// How many structs follow this one.
    following: u32,
}

/// An integer of variable length that does not fit into 32 bits.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct InvalidVarint;

/// Passes over a part of a message.
#[derive(Debug)]
pub(super) struct Walker {
    /// The structs around the next byte, the outermost first; as deep as the layout.
    places: Vec<Place>,
    /// The bytes to pass over before the next element.
    skip: u64,
    /// An integer of which the input has ended: its value so far, and the number of bits.
    varint: (u32, u32),
}

impl Walker {
    /// Starts at the first byte of a part with these elements.
    pub(super) fn new(elements: &'static [Layout]) -> Self {
        Self { places: vec![Place { elements, next: 0, following: 0 }], skip: 0, varint: (0, 0) }
    }

    /// Whether the end of the part has been reached.
    pub(super) fn is_done(&self) -> bool {
        self.places.is_empty() && self.skip == 0
    }

    /// Passes over `input` until it ends or the part ends, and returns the number of bytes passed over.
    pub(super) fn advance(&mut self, input: &[u8]) -> Result<usize, InvalidVarint> {
        let mut at = 0;
        loop {
            let skipped = usize::try_from(self.skip).unwrap_or(usize::MAX).min(input.len() - at);
            at += skipped;
            self.skip -= skipped as u64;
            if self.skip > 0 {
                return Ok(at);
            }
            let Some(place) = self.places.last_mut() else { return Ok(at) };
            let Some(element) = place.elements.get(place.next) else {
                match place.following.checked_sub(1) {
                    Some(following) => *place = Place { next: 0, following, ..*place },
                    None => _ = self.places.pop(),
                }
                continue;
            };
            if let Layout::Fixed(size) = element {
                self.skip = *size as u64;
                place.next += 1;
                continue;
            }
            let Some(number) = read_varint(&mut self.varint, input, &mut at)? else { return Ok(at) };
            place.next += 1;
            let list = match element {
                Layout::Fixed(_) | Layout::Varint => None,
                Layout::Sized => {
                    self.skip = u64::from(number);
                    None
                }
                Layout::Compact => {
                    self.skip = u64::from(number.saturating_sub(1));
                    None
                }
                Layout::Array(elements) => number.checked_sub(2).map(|following| (*elements, following)),
                Layout::Tags => number.checked_sub(1).map(|following| (TAG, following)),
            };
            if let Some((elements, following)) = list {
                self.places.push(Place { elements, next: 0, following });
            }
        }
    }
}

/// Reads an integer that may have begun in an earlier input; `None` if it does not end in this one.
fn read_varint(partial: &mut (u32, u32), input: &[u8], at: &mut usize) -> Result<Option<u32>, InvalidVarint> {
    while let Some(byte) = input.get(*at) {
        *at += 1;
        let (value, bits) = *partial;
        if bits == 28 && *byte > 0x0f {
            return Err(InvalidVarint);
        }
        let value = value | u32::from(byte & 0x7f) << bits;
        if byte & 0x80 == 0 {
            *partial = (0, 0);
            return Ok(Some(value));
        }
        *partial = (value, bits + 7);
    }
    Ok(None)
}
