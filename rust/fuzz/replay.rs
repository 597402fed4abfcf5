//! Replays the seeds of a fuzz target through its body, in the tests of the crate that it is about.

use std::path::Path;

pub fn replay(target: &str, body: fn(&[u8])) {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds").join(target);
    let mut count = 0;
    for entry in std::fs::read_dir(&seeds).unwrap() {
        let path = entry.unwrap().path();
        // A panic does not name the file.
        println!("{}", path.display());
        body(&std::fs::read(&path).unwrap());
        count += 1;
    }
    assert!(count >= 10, "only {count} seeds in {}", seeds.display());
}
