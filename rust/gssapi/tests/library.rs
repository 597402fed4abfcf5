//! Proves: a library that is not there, or is another one, is an error that says so; the system's own
//! opens, takes names, and refuses what no context can come of, in words.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

use ottla_gssapi::{Context, Credentials, Error, Library, NAMES, Name};

fn library() -> &'static Library {
    Library::open(NAMES).expect("the system's GSSAPI library: `tools/kerberos.sh` installs it")
}

#[test]
fn a_library_that_is_not_there_is_named() {
    let error = Library::open(&["libnothing-gss.so.7", "libnothing.so"]).expect_err("not there");
    assert_eq!(error, Error::NotFound { tried: "libnothing-gss.so.7, libnothing.so".to_owned() });
    assert!(Library::open(&[]).is_err());
}

#[test]
fn another_library_is_told_by_what_it_lacks() {
    let error = Library::open(&["libc.so.6"]).expect_err("not this one");
    assert!(matches!(&error, Error::Lacks { library, .. } if library == "libc.so.6"), "{error}");
}

#[test]
fn what_is_wrong_is_told_in_words() {
    let library = library();
    let target = Name::service(library, "kafka", "localhost").expect("a name");
    let mut context = Context::new(target, None);
    let error = context.wrap(b"\x01\0\0\0").expect_err("not complete");
    assert!(matches!(&error, Error::Failed { words, .. } if !words.is_empty()), "{error}");
    context.unwrap(b"junk").expect_err("not complete");
    let store = [("client_keytab", "/nowhere/ottla.keytab"), ("ccache", "MEMORY:ottla-test")];
    let principal = Name::principal(library, "alice@NOWHERE.OTTLA.TEST").expect("a name");
    let error = Credentials::acquire(library, Some(&principal), &store).expect_err("no keytab");
    assert!(error.to_string().contains("getting credentials"), "{error}");
    assert_eq!(Credentials::acquire(library, None, &[("ccache", "a\0b")]).unwrap_err(), Error::Zero);
}
