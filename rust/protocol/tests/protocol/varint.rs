//! Varints of every width, and those that are too long or cut.

use ottla_protocol::records::InvalidRecord;

// The module is private: it is compiled into the tests from its source.
#[path = "../../src/records/varint.rs"]
#[allow(dead_code, reason = "the tests call a part of it")]
mod source;

use source::*;

fn written(value: i64) -> Vec<u8> {
    let mut out = [0u8; 16];
    let end = write(&mut out, 0, zigzag_64(value));
    out[..end].to_vec()
}

#[test]
fn every_width_round_trips_and_is_measured() {
    for shift in 0..64 {
        for near in [-1i64, 0, 1] {
            for value in [(1i64 << shift).wrapping_add(near), (i64::MIN >> shift).wrapping_add(near)] {
                let bytes = written(value);
                assert_eq!(bytes.len(), len_of(zigzag_64(value)), "{value}");
                let mut cursor = Cursor::new(&bytes);
                assert_eq!(cursor.varlong(), Ok(value));
                assert!(cursor.rest().is_empty());
                let narrow = Cursor::new(&bytes).varint();
                match i32::try_from(value) {
                    Ok(value) => assert_eq!(narrow, Ok(value)),
                    Err(_) => assert_eq!(narrow, Err(InvalidRecord::Varint), "{value}"),
                }
            }
        }
    }
}

#[test]
fn too_long_and_truncated_are_different_errors() {
    assert_eq!(Cursor::new(&[0x80; 5]).varint(), Err(InvalidRecord::Varint));
    assert_eq!(Cursor::new(&[0x80; 4]).varint(), Err(InvalidRecord::Truncated));
    assert_eq!(Cursor::new(&[0xff; 10]).varlong(), Err(InvalidRecord::Varint));
    assert_eq!(Cursor::new(&[0xff; 9]).varlong(), Err(InvalidRecord::Truncated));
    assert_eq!(Cursor::new(&[]).varint(), Err(InvalidRecord::Truncated));
    let over = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02];
    assert_eq!(Cursor::new(&over).varlong(), Err(InvalidRecord::Varint));
}
