//! Delegation tokens (KIP-48): what their owners, renewers and requesters may do with them.
//!
//! Invariant: a token expires at its latest time at the latest. An expired one is known for an hour, as in Kafka.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD as BASE64, URL_SAFE_NO_PAD};
use bytes::Bytes;
use ottla_protocol::ErrorCode;
use ottla_protocol::wire::SecretBytes;
use ring::hmac;

use crate::scram::{ScramCredential, ScramMechanism, random};

/// Kafka's defaults: `delegation.token.max.lifetime.ms`, `delegation.token.expiry.time.ms` and
/// `delegation.token.expiry.check.interval.ms`.
const MAX_LIFETIME_MS: i64 = 7 * 24 * 3_600_000;
const EXPIRY_MS: i64 = 24 * 3_600_000;
const SWEEP_MS: i64 = 3_600_000;

const USER: &str = "User";

/// The principal of a request, or the owner of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Principal {
    pub(crate) kind: String,
    pub(crate) name: String,
}

impl Principal {
    pub(crate) fn user(name: impl Into<String>) -> Self {
        Self { kind: USER.to_owned(), name: name.into() }
    }
}

/// A token.
#[derive(Debug, Clone)]
pub(crate) struct DelegationToken {
    pub(crate) id: String,
    pub(crate) owner: Principal,
    pub(crate) requester: Principal,
    pub(crate) renewers: Vec<Principal>,
    /// Times, in milliseconds since 1970.
    pub(crate) issued: i64,
    pub(crate) expires: i64,
    pub(crate) latest: i64,
    pub(crate) hmac: SecretBytes,
}

/// A token to create; a lifetime of 0 or less is the default.
#[derive(Debug)]
pub(crate) struct NewToken {
    pub(crate) owner: Principal,
    pub(crate) requester: Principal,
    pub(crate) renewers: Vec<Principal>,
    pub(crate) max_lifetime_ms: i64,
}

/// The tokens of the cluster.
#[derive(Debug, Default)]
pub(crate) struct DelegationTokens {
    tokens: Vec<DelegationToken>,
    /// The key of the tokens' HMACs; made with the first token.
    secret: Option<[u8; 32]>,
}

impl DelegationToken {
    fn is_expired(&self, now: i64) -> bool {
        self.expires < now || self.latest < now
    }

    fn may_renew(&self, principal: &Principal) -> bool {
        self.owner == *principal || self.renewers.contains(principal)
    }

    /// Whether a principal owns or renews the token, or has requested it for its owner.
    pub(crate) fn concerns(&self, principal: &Principal) -> bool {
        self.may_renew(principal) || self.requester == *principal
    }
}

impl DelegationTokens {
    /// All tokens, in the order of their creation.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &DelegationToken> {
        self.tokens.iter()
    }

    /// Creates a token.
    pub(crate) fn create(&mut self, new: NewToken, now: i64) -> Result<&DelegationToken, ErrorCode> {
        let NewToken { owner, requester, renewers, max_lifetime_ms } = new;
        if renewers.iter().any(|renewer| renewer.kind != USER) {
            return Err(ErrorCode::InvalidPrincipalType);
        }
        self.tokens.retain(|token| token.expires.saturating_add(SWEEP_MS) >= now);
        let id = new_id().ok_or(ErrorCode::UnknownServerError)?;
        let secret = match self.secret {
            Some(secret) => secret,
            None => *self.secret.insert(random().ok_or(ErrorCode::UnknownServerError)?),
        };
        let hmac = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA512, &secret), id.as_bytes());
        let lifetime =
            if max_lifetime_ms > 0 { max_lifetime_ms.min(MAX_LIFETIME_MS) } else { MAX_LIFETIME_MS };
        let latest = now.saturating_add(lifetime);
        self.tokens.push(DelegationToken {
            id,
            owner,
            requester,
            renewers,
            issued: now,
            expires: latest.min(now.saturating_add(EXPIRY_MS)),
            latest,
            hmac: SecretBytes(Bytes::copy_from_slice(hmac.as_ref())),
        });
        self.tokens.last().ok_or(ErrorCode::UnknownServerError)
    }

    /// Extends the life of a token by a period, or by the default for 0 or less. Returns when it expires.
    pub(crate) fn renew(
        &mut self,
        hmac: &[u8],
        principal: &Principal,
        period_ms: i64,
        now: i64,
    ) -> Result<i64, ErrorCode> {
        let token = self.find(hmac)?;
        if token.is_expired(now) {
            return Err(ErrorCode::DelegationTokenExpired);
        }
        if !token.may_renew(principal) {
            return Err(ErrorCode::DelegationTokenOwnerMismatch);
        }
        let period = if period_ms > 0 { period_ms.min(EXPIRY_MS) } else { EXPIRY_MS };
        token.expires = token.latest.min(now.saturating_add(period));
        Ok(token.expires)
    }

    /// Lets a token expire after a period, or deletes it for a negative one. Returns when it expires.
    pub(crate) fn expire(
        &mut self,
        hmac: &[u8],
        principal: &Principal,
        period_ms: i64,
        now: i64,
    ) -> Result<i64, ErrorCode> {
        let token = self.find(hmac)?;
        if !token.may_renew(principal) {
            return Err(ErrorCode::DelegationTokenOwnerMismatch);
        }
        if period_ms < 0 {
            self.tokens.retain(|token| token.hmac.0 != hmac);
            return Ok(now);
        }
        if token.is_expired(now) {
            return Err(ErrorCode::DelegationTokenExpired);
        }
        token.expires = token.latest.min(now.saturating_add(period_ms));
        Ok(token.expires)
    }

    /// The owner of a token and its credential, for a login with the token's id and HMAC.
    pub(crate) fn login(
        &self,
        id: &str,
        mechanism: ScramMechanism,
        now: i64,
    ) -> Option<(&Principal, ScramCredential)> {
        let token = self.tokens.iter().find(|token| token.id == id && !token.is_expired(now))?;
        let credential = ScramCredential::of_password(mechanism, &BASE64.encode(&token.hmac.0))?;
        Some((&token.owner, credential))
    }

    fn find(&mut self, hmac: &[u8]) -> Result<&mut DelegationToken, ErrorCode> {
        let mut tokens = self.tokens.iter_mut();
        tokens.find(|token| token.hmac.0 == hmac).ok_or(ErrorCode::DelegationTokenNotFound)
    }
}

/// A random id, which does not look like an option of a command.
fn new_id() -> Option<String> {
    let mut bytes = random::<16>()?;
    if let Some(first) = bytes.first_mut() {
        *first &= 0x7f;
    }
    Some(URL_SAFE_NO_PAD.encode(bytes))
}
