//! CreateDelegationToken, RenewDelegationToken, ExpireDelegationToken and DescribeDelegationToken, and logins with
//! tokens. The expected results are those of Kafka 4.4.

use crate::support::sasl_client::*;
use crate::support::*;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use ottla_mock::MockCluster;
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::create_delegation_token::{
    CreatableRenewers, CreateDelegationTokenRequest, CreateDelegationTokenResponse,
};
use ottla_protocol::messages::describe_delegation_token::{
    DescribeDelegationTokenOwner, DescribeDelegationTokenRequest,
};
use ottla_protocol::messages::expire_delegation_token::ExpireDelegationTokenRequest;
use ottla_protocol::messages::renew_delegation_token::RenewDelegationTokenRequest;
use ottla_protocol::wire::SecretBytes;

const DAY: i64 = 24 * 3_600_000;

async fn secured() -> MockCluster {
    secured_cluster(&[("alice", "a"), ("bob", "b")]).await
}

async fn as_user(cluster: &MockCluster, user: &str, password: &str) -> RawClient {
    let mut raw = RawClient::connect(cluster, 1).await;
    assert_eq!(raw.log_in(user, password).await, ErrorCode::None);
    raw
}

fn new_token(renewers: &[(&str, &str)], max_lifetime_ms: i64) -> CreateDelegationTokenRequest {
    let renewer = |(kind, name): &(&str, &str)| CreatableRenewers {
        principal_type: (*kind).to_owned(),
        principal_name: (*name).to_owned(),
    };
    CreateDelegationTokenRequest {
        owner_principal_type: None,
        owner_principal_name: None,
        renewers: renewers.iter().map(renewer).collect(),
        max_lifetime_ms,
    }
}

fn owned_by(user: &str) -> CreateDelegationTokenRequest {
    CreateDelegationTokenRequest {
        owner_principal_type: Some("User".to_owned()),
        owner_principal_name: Some(user.to_owned()),
        ..new_token(&[], -1)
    }
}

async fn create(
    raw: &mut RawClient,
    request: &CreateDelegationTokenRequest,
) -> CreateDelegationTokenResponse {
    let response = raw.call(request, 3).await;
    assert_eq!(response.error_code, 0);
    response
}

async fn renew(raw: &mut RawClient, hmac: &SecretBytes, renew_period_ms: i64) -> (ErrorCode, i64) {
    let request = RenewDelegationTokenRequest { hmac: hmac.clone(), renew_period_ms };
    let response = raw.call(&request, 2).await;
    (response.error_code.into(), response.expiry_timestamp_ms)
}

async fn expire(raw: &mut RawClient, hmac: &SecretBytes, expiry_time_period_ms: i64) -> (ErrorCode, i64) {
    let request = ExpireDelegationTokenRequest { hmac: hmac.clone(), expiry_time_period_ms };
    let response = raw.call(&request, 2).await;
    (response.error_code.into(), response.expiry_timestamp_ms)
}

/// The ids of the tokens that concern principals.
async fn ids(raw: &mut RawClient, owners: Option<&[&str]>) -> Vec<String> {
    let owner = |name: &&str| DescribeDelegationTokenOwner {
        principal_type: "User".to_owned(),
        principal_name: (*name).to_owned(),
    };
    let owners = owners.map(|owners| owners.iter().map(owner).collect());
    let response = raw.call(&DescribeDelegationTokenRequest { owners }, 3).await;
    assert_eq!(response.error_code, 0);
    response.tokens.into_iter().map(|token| token.token_id).collect()
}

#[tokio::test]
async fn tokens_are_created_and_described() {
    let cluster = secured().await;
    let (mut alice, mut bob) = (as_user(&cluster, "alice", "a").await, as_user(&cluster, "bob", "b").await);
    let own = create(&mut alice, &new_token(&[], -1)).await;
    assert_eq!((own.principal_type.as_str(), own.principal_name.as_str()), ("User", "alice"));
    assert_eq!(own.token_requester_principal_name, "alice");
    assert_eq!(own.expiry_timestamp_ms - own.issue_timestamp_ms, DAY);
    assert_eq!(own.max_timestamp_ms - own.issue_timestamp_ms, 7 * DAY);
    assert_eq!((own.token_id.len(), own.hmac.0.len()), (22, 64));
    let shared = create(&mut bob, &new_token(&[("User", "alice")], 60_000)).await;
    assert_eq!(shared.expiry_timestamp_ms, shared.max_timestamp_ms);
    assert_eq!(shared.max_timestamp_ms - shared.issue_timestamp_ms, 60_000);
    let for_carol = create(&mut alice, &owned_by("carol")).await;
    assert_eq!(for_carol.principal_name, "carol");
    assert_eq!(for_carol.token_requester_principal_name, "alice");
    let group = alice.call(&new_token(&[("Group", "g")], -1), 3).await;
    assert_eq!(ErrorCode::from(group.error_code), ErrorCode::InvalidPrincipalType);
    assert_eq!((group.issue_timestamp_ms, group.token_id.as_str()), (-1, ""));

    let all = [own.token_id.clone(), shared.token_id.clone(), for_carol.token_id.clone()];
    assert_eq!(ids(&mut bob, None).await, all);
    assert_eq!(ids(&mut bob, Some(&[])).await, Vec::<String>::new());
    assert_eq!(ids(&mut bob, Some(&["alice"])).await, all);
    assert_eq!(ids(&mut bob, Some(&["bob", "carol"])).await, all[1..]);
    assert_eq!(ids(&mut bob, Some(&["dave"])).await, Vec::<String>::new());
    for version in 1..=3 {
        let request = DescribeDelegationTokenRequest { owners: None };
        let tokens = bob.call(&request, version).await.tokens;
        let requester = if version >= 3 { "bob" } else { "" };
        assert_eq!(tokens[1].token_requester_principal_name, requester);
        assert_eq!(tokens[1].renewers[0].principal_name, "alice");
        assert_eq!(tokens[1].hmac, shared.hmac);
        assert_eq!(bob.call(&new_token(&[], -1), version).await.error_code, 0);
    }
}

#[tokio::test]
async fn owners_and_renewers_renew_and_expire() {
    let cluster = secured().await;
    let (mut alice, mut bob) = (as_user(&cluster, "alice", "a").await, as_user(&cluster, "bob", "b").await);
    let own = create(&mut alice, &new_token(&[], -1)).await;
    let shared = create(&mut bob, &new_token(&[("User", "alice")], 60_000)).await;
    let unknown = SecretBytes(Bytes::from_static(b"unknown"));
    let (not_found, mismatch) = (ErrorCode::DelegationTokenNotFound, ErrorCode::DelegationTokenOwnerMismatch);
    assert_eq!(renew(&mut alice, &unknown, -1).await, (not_found, 0));
    assert_eq!(expire(&mut alice, &unknown, -1).await, (not_found, 0));
    assert_eq!(renew(&mut bob, &own.hmac, -1).await, (mismatch, 0));
    assert_eq!(expire(&mut bob, &own.hmac, -1).await, (mismatch, 0));

    let (code, expires) = renew(&mut alice, &own.hmac, 1000).await;
    assert_eq!(code, ErrorCode::None);
    assert!(expires < own.expiry_timestamp_ms);
    // No token outlives its latest time.
    let latest = shared.max_timestamp_ms;
    assert_eq!(renew(&mut alice, &shared.hmac, 10 * DAY).await, (ErrorCode::None, latest));
    assert_eq!(expire(&mut alice, &shared.hmac, 10 * DAY).await, (ErrorCode::None, latest));
    for version in 1..=2 {
        let request = RenewDelegationTokenRequest { hmac: own.hmac.clone(), renew_period_ms: -1 };
        assert!(alice.call(&request, version).await.expiry_timestamp_ms > expires);
        let request = ExpireDelegationTokenRequest { hmac: own.hmac.clone(), expiry_time_period_ms: 60_000 };
        assert_eq!(alice.call(&request, version).await.error_code, 0);
    }
    assert_eq!(expire(&mut alice, &own.hmac, 0).await.0, ErrorCode::None);
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    assert_eq!(renew(&mut alice, &own.hmac, 1000).await, (ErrorCode::DelegationTokenExpired, 0));
    assert_eq!(expire(&mut alice, &own.hmac, 1000).await, (ErrorCode::DelegationTokenExpired, 0));
    // A negative period deletes it.
    assert_eq!(expire(&mut alice, &own.hmac, -1).await.0, ErrorCode::None);
    assert_eq!(expire(&mut alice, &own.hmac, -1).await, (not_found, 0));
    assert_eq!(ids(&mut alice, None).await, [shared.token_id]);
}

#[tokio::test]
async fn a_token_is_valid_for_logins_but_not_for_tokens() {
    let cluster = secured().await;
    let mut alice = as_user(&cluster, "alice", "a").await;
    let token = create(&mut alice, &new_token(&[], -1)).await;
    let (id, password) = (token.token_id.as_str(), BASE64.encode(&token.hmac.0));
    let extension = ",tokenauth=true";
    for hash in [sha256(), sha512()] {
        let mut raw = RawClient::connect(&cluster, 2).await;
        let login = raw.log_in_with_scram(&hash, (id, &password), extension).await;
        assert_eq!(login, ErrorCode::None);
        let response = raw.call(&new_token(&[], -1), 3).await;
        assert_eq!(ErrorCode::from(response.error_code), ErrorCode::DelegationTokenRequestNotAllowed);
        assert_eq!(response.principal_name, "alice");
        let expected = (ErrorCode::DelegationTokenRequestNotAllowed, -1);
        assert_eq!(renew(&mut raw, &token.hmac, -1).await, expected);
    }
    let refused = ErrorCode::SaslAuthenticationFailed;
    let login = async |user: &str, extension: &str| {
        let mut raw = RawClient::connect(&cluster, 2).await;
        raw.log_in_with_scram(&sha256(), (user, &password), extension).await
    };
    // The id is no user, and a user is no token.
    assert_eq!(login(id, "").await, refused);
    assert_eq!(login("alice", extension).await, refused);
    assert_eq!(expire(&mut alice, &token.hmac, -1).await.0, ErrorCode::None);
    assert_eq!(login(id, extension).await, refused);
}

#[tokio::test]
async fn connections_without_a_user_may_not_request_tokens() {
    let cluster = cluster().await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    let refused = ErrorCode::DelegationTokenRequestNotAllowed;
    let response = raw.call(&new_token(&[], -1), 3).await;
    assert_eq!(ErrorCode::from(response.error_code), refused);
    assert_eq!((response.principal_type.as_str(), response.principal_name.as_str()), ("User", "ANONYMOUS"));
    assert_eq!((response.issue_timestamp_ms, response.expiry_timestamp_ms), (-1, -1));
    let hmac = SecretBytes(Bytes::from_static(b"x"));
    assert_eq!(renew(&mut raw, &hmac, 1).await, (refused, -1));
    assert_eq!(expire(&mut raw, &hmac, 1).await, (refused, -1));
    let response = raw.call(&DescribeDelegationTokenRequest { owners: None }, 3).await;
    assert_eq!(ErrorCode::from(response.error_code), refused);
}
