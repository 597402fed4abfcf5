//! The text of a UUID.

use ottla_protocol::wire::Uuid;

#[test]
fn displays_like_kafka() {
    assert_eq!(Uuid::ZERO.to_string(), "AAAAAAAAAAAAAAAAAAAAAA");
    let mut one = [0; 16];
    one[15] = 1;
    assert_eq!(Uuid(one).to_string(), "AAAAAAAAAAAAAAAAAAAAAQ");
    assert_eq!(Uuid([0xff; 16]).to_string(), "_____________________w");
}
