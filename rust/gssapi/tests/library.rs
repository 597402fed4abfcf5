//! A missing or wrong library is an error that names it; the system's library opens, imports names, and
//! reports failures with a message.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

use ottla_gssapi::{Context, Credentials, Error, Library, NAMES, Name};

fn library() -> &'static Library {
    Library::open(NAMES).expect("the system's GSSAPI library: `tools/kerberos.sh` installs it")
}

#[test]
fn a_missing_library_is_named() {
    let error = Library::open(&["libnothing-gss.so.7", "libnothing.so"]).expect_err("not there");
    assert_eq!(error, Error::NotFound { tried: "libnothing-gss.so.7, libnothing.so".to_owned() });
    assert!(Library::open(&[]).is_err());
}

#[test]
fn a_wrong_library_is_named_with_the_missing_function() {
    let error = Library::open(&["libc.so.6"]).expect_err("not this one");
    assert!(matches!(&error, Error::MissingFunction { library, .. } if library == "libc.so.6"), "{error}");
}

#[test]
fn failures_carry_the_librarys_message() {
    let library = library();
    let target = Name::service(library, "kafka", "localhost").expect("a name");
    let mut context = Context::new(target, None);
    let error = context.wrap(b"\x01\0\0\0").expect_err("not complete");
    assert!(matches!(&error, Error::CallFailed { message, .. } if !message.is_empty()), "{error}");
    context.unwrap(b"junk").expect_err("not complete");
    let store = [("client_keytab", "/nowhere/ottla.keytab"), ("ccache", "MEMORY:ottla-test")];
    let principal = Name::principal(library, "alice@NOWHERE.OTTLA.TEST").expect("a name");
    let error = Credentials::acquire(library, Some(&principal), &store).expect_err("no keytab");
    assert!(error.to_string().contains("acquiring credentials"), "{error}");
    assert_eq!(Credentials::acquire(library, None, &[("ccache", "a\0b")]).unwrap_err(), Error::NulByte);
}
