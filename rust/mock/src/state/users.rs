//! The users of SASL: passwords for PLAIN and OAUTHBEARER, and credentials for SCRAM (KIP-554).
//!
//! A password that a test sets is valid for every mechanism; one that a request sets, for one SCRAM mechanism, as in
//! Kafka. Invariant: a request changes at most one credential of a user.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use bytes::Bytes;
use ottla_protocol::ErrorCode;

use super::ApiError;
use crate::scram::{ITERATIONS, ScramCredential, ScramMechanism};

const MIN_ITERATIONS: i32 = 4096;
const MAX_ITERATIONS: i32 = 16_384;

/// The users of the cluster.
#[derive(Debug, Default)]
pub(crate) struct Users {
    passwords: BTreeMap<String, String>,
    scram: BTreeMap<String, BTreeMap<ScramMechanism, Secret>>,
}

/// What a user proves to know.
#[derive(Debug, Clone)]
enum Secret {
    /// Hashed at each login.
    Password(String),
    Credential(ScramCredential),
}

/// A credential to store: a salted password, not the password itself.
#[derive(Clone, Copy)]
pub(crate) struct Upsertion<'a> {
    pub(crate) user: &'a str,
    pub(crate) mechanism: i8,
    pub(crate) iterations: i32,
    pub(crate) salt: &'a Bytes,
    pub(crate) salted_password: &'a Bytes,
}

impl Users {
    /// Users with passwords for every mechanism.
    pub(super) fn new(passwords: &BTreeMap<String, String>) -> Self {
        let mut users = Self::default();
        passwords.iter().for_each(|(user, password)| users.set(user, Some(password)));
        users
    }

    /// Sets a user's password for every mechanism; `None` removes the user.
    pub(crate) fn set(&mut self, user: &str, password: Option<&str>) {
        let Some(password) = password else {
            self.passwords.remove(user);
            self.scram.remove(user);
            return;
        };
        self.passwords.insert(user.to_owned(), password.to_owned());
        let secret = |mechanism| (mechanism, Secret::Password(password.to_owned()));
        self.scram.insert(user.to_owned(), ScramMechanism::ALL.map(secret).into());
    }

    /// The password of a user, for PLAIN.
    pub(crate) fn password(&self, user: &str) -> Option<&str> {
        self.passwords.get(user).map(String::as_str)
    }

    /// The user whose password is a token.
    pub(crate) fn with_token(&self, token: &str) -> Option<&str> {
        let mut users = self.passwords.iter();
        users.find(|(_, password)| *password == token).map(|(user, _)| user.as_str())
    }

    /// The credential of a user for a mechanism.
    pub(crate) fn credential(&self, user: &str, mechanism: ScramMechanism) -> Option<ScramCredential> {
        match self.scram.get(user)?.get(&mechanism)? {
            Secret::Password(password) => ScramCredential::of_password(mechanism, password),
            Secret::Credential(credential) => Some(credential.clone()),
        }
    }

    /// The names of users with credentials.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.scram.keys().map(String::as_str)
    }

    /// The mechanisms of a user's credentials, with their iterations.
    pub(crate) fn describe(&self, user: &str) -> Result<Vec<(ScramMechanism, NonZeroU32)>, ApiError> {
        let Some(credentials) = self.scram.get(user) else {
            let text = format!("Attempt to describe a user credential that does not exist: {user}");
            return Err(ApiError::new(ErrorCode::ResourceNotFound, text));
        };
        let iterations = |secret: &Secret| match secret {
            Secret::Password(_) => ITERATIONS,
            Secret::Credential(credential) => credential.iterations,
        };
        Ok(credentials.iter().map(|(mechanism, secret)| (*mechanism, iterations(secret))).collect())
    }

    /// Deletes and stores credentials; returns the result of each user.
    pub(crate) fn alter<'a>(
        &mut self,
        deletions: &[(&'a str, i8)],
        upsertions: &[Upsertion<'a>],
    ) -> BTreeMap<&'a str, Result<(), ApiError>> {
        let mut results = BTreeMap::new();
        let mut accepted_deletions = BTreeMap::new();
        for (user, mechanism) in deletions {
            let result = match accepted_deletions.remove(user) {
                Some(_) => Err(duplicate()),
                None if results.contains_key(user) => continue,
                None => self.check_deletion(user, *mechanism).map(|mechanism| {
                    accepted_deletions.insert(*user, mechanism);
                }),
            };
            results.insert(*user, result);
        }
        let mut accepted_upsertions = BTreeMap::new();
        for upsertion in upsertions {
            let user = upsertion.user;
            let is_accepted =
                accepted_deletions.remove(user).is_some() || accepted_upsertions.remove(user).is_some();
            let result = if is_accepted {
                Err(duplicate())
            } else if results.contains_key(user) {
                continue;
            } else {
                hash(upsertion).map(|credential| {
                    accepted_upsertions.insert(user, credential);
                })
            };
            results.insert(user, result);
        }
        for (user, mechanism) in accepted_deletions {
            self.delete(user, mechanism);
        }
        for (user, (mechanism, credential)) in accepted_upsertions {
            let credentials = self.scram.entry(user.to_owned()).or_default();
            credentials.insert(mechanism, Secret::Credential(credential));
        }
        results
    }

    fn check_deletion(&self, user: &str, mechanism: i8) -> Result<ScramMechanism, ApiError> {
        let mechanism = check_user(user, mechanism)?;
        if !self.scram.get(user).is_some_and(|credentials| credentials.contains_key(&mechanism)) {
            let text = "Attempt to delete a user credential that does not exist";
            return Err(ApiError::new(ErrorCode::ResourceNotFound, text));
        }
        Ok(mechanism)
    }

    fn delete(&mut self, user: &str, mechanism: ScramMechanism) {
        if let Some(credentials) = self.scram.get_mut(user) {
            credentials.remove(&mechanism);
            if credentials.is_empty() {
                self.scram.remove(user);
            }
        }
    }
}

fn hash(upsertion: &Upsertion<'_>) -> Result<(ScramMechanism, ScramCredential), ApiError> {
    let Upsertion { user, mechanism, iterations, salt, salted_password } = *upsertion;
    let unacceptable = |text| Err(ApiError::new(ErrorCode::UnacceptableCredential, text));
    let mechanism = check_user(user, mechanism)?;
    let count = match iterations {
        ..MIN_ITERATIONS => return unacceptable("Too few iterations"),
        MIN_ITERATIONS..=MAX_ITERATIONS => iterations.unsigned_abs(),
        _ => return unacceptable("Too many iterations"),
    };
    let count = NonZeroU32::new(count).filter(|_| !salted_password.is_empty());
    // Kafka cannot hash an empty password, and does not say why.
    let count = count.ok_or_else(|| ApiError::new(ErrorCode::UnknownServerError, ""))?;
    Ok((mechanism, ScramCredential::new(mechanism, count, salt.clone(), salted_password)))
}

fn check_user(user: &str, mechanism: i8) -> Result<ScramMechanism, ApiError> {
    if user.is_empty() {
        return Err(ApiError::new(ErrorCode::UnacceptableCredential, "Username must not be empty"));
    }
    let unknown = || ApiError::new(ErrorCode::UnsupportedSaslMechanism, "Unknown SCRAM mechanism");
    ScramMechanism::from_code(mechanism).ok_or_else(unknown)
}

fn duplicate() -> ApiError {
    let text = "A user credential cannot be altered twice in the same request";
    ApiError::new(ErrorCode::DuplicateResource, text)
}
