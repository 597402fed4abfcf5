//! [`Login`]: a client's login, as brokers handle it. No I/O; the time is an argument.
//!
//! Invariants: only ApiVersions and SaslHandshake are allowed before a login, only SaslAuthenticate during one, and only
//! SaslHandshake after it has expired. A login that is renewed keeps its user and its mechanism.

use std::time::{Duration, Instant};

use ottla_client::security::Secret;
use ottla_protocol::ApiKey;

use super::Mechanism;
use super::credential::Credential;
use super::scram::{ClientFirst, Exchange};

/// A client's login.
#[derive(Debug)]
pub(crate) struct Login {
    state: State,
    user: Option<(String, Mechanism)>,
    expires: Option<Instant>,
}

#[derive(Debug)]
enum State {
    /// Expects SaslHandshake; after a login, any request.
    Idle,
    /// Expects the first message.
    Chosen(Mechanism),
    /// Expects the proof of a user.
    Scram(Box<Exchange>, String, Mechanism),
}

/// What follows from a message of the client.
#[derive(Debug)]
pub(super) enum Step {
    /// This is the reply; the exchange goes on.
    Reply(String),
    /// This user has sent this password, which must be checked.
    Check(String, Secret),
    /// The user is logged in, with this reply.
    Done(String),
    /// The credentials are wrong.
    Refused,
}

/// Finds the credential for a user; one that no password has if there is none.
pub(super) trait Credentials {
    fn credential(&self, user: &str, mechanism: Mechanism) -> Credential;
}

impl Login {
    pub(super) fn new() -> Self {
        Self { state: State::Idle, user: None, expires: None }
    }

    /// Whether a request is allowed now.
    pub(super) fn allows(&self, api: ApiKey, now: Instant) -> bool {
        match (&self.state, api) {
            (State::Idle, ApiKey::SaslHandshake) => true,
            (State::Idle, ApiKey::SaslAuthenticate) => false,
            (State::Idle, ApiKey::ApiVersions) if self.user.is_none() => true,
            (State::Idle, _) => self.user.is_some() && self.expires.is_none_or(|expires| now < expires),
            (State::Chosen(_) | State::Scram(..), api) => api == ApiKey::SaslAuthenticate,
        }
    }

    /// The user who is logged in.
    pub(super) fn user(&self) -> Option<&str> {
        self.user.as_ref().map(|(user, _)| user.as_str())
    }

    /// The mechanism of the present exchange.
    pub(super) fn mechanism(&self) -> Option<Mechanism> {
        match &self.state {
            State::Idle => None,
            State::Chosen(mechanism) | State::Scram(_, _, mechanism) => Some(*mechanism),
        }
    }

    /// Begins an exchange.
    pub(super) fn choose(&mut self, mechanism: Mechanism) {
        self.state = State::Chosen(mechanism);
    }

    /// Handles a message of the client. `nonce` is random.
    pub(super) fn process(&mut self, message: &[u8], known: &dyn Credentials, nonce: &str) -> Step {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Idle => Step::Refused,
            State::Chosen(Mechanism::Plain) => match plain(message) {
                Some((user, password)) => {
                    self.state = State::Chosen(Mechanism::Plain);
                    Step::Check(user, password)
                }
                None => Step::Refused,
            },
            State::Chosen(mechanism) => {
                let Some(first) = ClientFirst::parse(message) else { return Step::Refused };
                let credential = known.credential(&first.user, mechanism);
                let (exchange, reply) = Exchange::start(&first, credential, nonce);
                self.state = State::Scram(Box::new(exchange), first.user, mechanism);
                Step::Reply(reply)
            }
            State::Scram(exchange, user, mechanism) => match exchange.finish(message) {
                Some(reply) => {
                    self.state = State::Chosen(mechanism);
                    // `confirm` follows.
                    match self.is_same(&user, mechanism) {
                        true => {
                            self.user = Some((user, mechanism));
                            Step::Done(reply)
                        }
                        false => Step::Refused,
                    }
                }
                None => Step::Refused,
            },
        }
    }

    /// Notes that the password of a user is right; false if it is not the user who was logged in.
    pub(super) fn confirm(&mut self, user: &str) -> bool {
        let is_same = self.is_same(user, Mechanism::Plain);
        if is_same {
            self.user = Some((user.to_owned(), Mechanism::Plain));
        }
        is_same
    }

    /// Ends a successful exchange; the login lasts for `lifetime`.
    pub(super) fn complete(&mut self, now: Instant, lifetime: Option<Duration>) {
        self.state = State::Idle;
        self.expires = lifetime.and_then(|lifetime| now.checked_add(lifetime));
    }

    fn is_same(&self, user: &str, mechanism: Mechanism) -> bool {
        self.user.as_ref().is_none_or(|(before, with)| before == user && *with == mechanism)
    }
}

/// The user and the password of `[authorization id] NUL user NUL password`.
fn plain(message: &[u8]) -> Option<(String, Secret)> {
    let text = std::str::from_utf8(message).ok()?;
    let mut parts = text.split('\0');
    let (id, user, password) = (parts.next()?, parts.next()?, parts.next()?);
    let is_valid = parts.next().is_none() && !user.is_empty() && (id.is_empty() || id == user);
    is_valid.then(|| (user.to_owned(), Secret::new(password)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]
    use std::num::NonZeroU32;

    use ottla_client::security::scram::{Client, Credentials as ClientCredentials, Hash};

    use super::*;

    struct Decoys;

    impl Credentials for Decoys {
        fn credential(&self, user: &str, _: Mechanism) -> Credential {
            Credential::decoy(Hash::Sha256, NonZeroU32::new(4096).unwrap(), b"secret", user)
        }
    }

    #[test]
    fn requests_are_allowed_in_kafkas_order() {
        let now = Instant::now();
        let mut login = Login::new();
        let allowed = |login: &Login, now| {
            let apis =
                [ApiKey::ApiVersions, ApiKey::SaslHandshake, ApiKey::SaslAuthenticate, ApiKey::Produce];
            apis.map(|api| login.allows(api, now))
        };
        assert_eq!(allowed(&login, now), [true, true, false, false]);
        login.choose(Mechanism::Plain);
        assert_eq!(allowed(&login, now), [false, false, true, false]);
        assert!(
            matches!(login.process(b"\0alice\0pass", &Decoys, ""), Step::Check(user, _) if user == "alice")
        );
        assert!(login.confirm("alice"));
        login.complete(now, Some(Duration::from_secs(10)));
        assert_eq!(allowed(&login, now), [true, true, false, true]);
        assert_eq!(allowed(&login, now + Duration::from_secs(10)), [false, true, false, false]);
        assert!(!login.confirm("bob"));
        assert!(login.confirm("alice"));
    }

    #[test]
    fn messages_that_no_client_sends_are_refused() {
        for message in [
            &b""[..],
            b"alice",
            b"\0alice",
            b"\0\0pass",
            b"bob\0alice\0pass",
            b"\0alice\0pass\0",
            b"\0\xff\0pass",
        ] {
            let mut login = Login::new();
            login.choose(Mechanism::Plain);
            assert!(matches!(login.process(message, &Decoys, ""), Step::Refused), "{message:?}");
        }
        for message in [
            "",
            "n,,",
            "n,,n=a",
            "n,,n=a,r=",
            "p=tls-unique,,n=a,r=b",
            "n,a=b,n=a,r=b",
            "n,,n=,r=b",
            "n,,n=a,r=b,tokenauth=true",
        ] {
            let mut login = Login::new();
            login.choose(Mechanism::ScramSha256);
            assert!(matches!(login.process(message.as_bytes(), &Decoys, "n"), Step::Refused), "{message:?}");
        }
        let long = format!("n,,n={},r=b", "a".repeat(5000));
        let mut login = Login::new();
        login.choose(Mechanism::ScramSha256);
        assert!(matches!(login.process(long.as_bytes(), &Decoys, "n"), Step::Refused));
        assert!(matches!(login.process(b"n,,n=a,r=b", &Decoys, "n"), Step::Refused), "after the end");
    }

    /// A user that does not exist looks like one with another password, each time the same.
    #[test]
    fn a_user_that_does_not_exist_is_refused_after_its_proof() {
        let mut firsts = Vec::new();
        for nonce in ["one", "one"] {
            let credentials = ClientCredentials {
                username: "no=,body".to_owned(),
                password: Secret::new("p"),
                token: false,
            };
            let mut client = Client::new(Hash::Sha256, credentials, "client".to_owned());
            let mut login = Login::new();
            login.choose(Mechanism::ScramSha256);
            let Step::Reply(first) = login.process(client.first().as_bytes(), &Decoys, nonce) else {
                panic!()
            };
            let proof = client.process_first(first.as_bytes()).unwrap();
            assert!(matches!(login.process(proof.as_bytes(), &Decoys, nonce), Step::Refused));
            assert_eq!(login.user(), None);
            firsts.push(first);
        }
        assert_eq!(firsts[0], firsts[1]);
    }
}
