//! DescribeUserScramCredentials, AlterUserScramCredentials, and logins with altered credentials. The expected results
//! are those of Kafka 4.4.

use crate::support::sasl_client::*;
use crate::support::*;
use bytes::Bytes;
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::alter_user_scram_credentials::{
    AlterUserScramCredentialsRequest, ScramCredentialDeletion, ScramCredentialUpsertion,
};
use ottla_protocol::messages::describe_user_scram_credentials::{
    DescribeUserScramCredentialsRequest, UserName,
};
use ottla_protocol::wire::SecretBytes;

const SHA256: i8 = 1;
const SHA512: i8 = 2;

fn upsertion(user: &str, mechanism: i8, iterations: i32, salted: &[u8]) -> ScramCredentialUpsertion {
    ScramCredentialUpsertion {
        name: user.to_owned(),
        mechanism,
        iterations,
        salt: Bytes::from_static(b"salt"),
        salted_password: SecretBytes(Bytes::copy_from_slice(salted)),
    }
}

type Results = Vec<(String, ErrorCode, Option<String>)>;

async fn alter(
    raw: &mut RawClient,
    deletions: &[(&str, i8)],
    upsertions: Vec<ScramCredentialUpsertion>,
) -> Results {
    let deletions = deletions
        .iter()
        .map(|(user, mechanism)| ScramCredentialDeletion { name: (*user).to_owned(), mechanism: *mechanism });
    let request = AlterUserScramCredentialsRequest { deletions: deletions.collect(), upsertions };
    let results = raw.call(&request, 0).await.results;
    results.into_iter().map(|r| (r.user, r.error_code.into(), r.error_message)).collect()
}

fn done(users: &[&str]) -> Results {
    users.iter().map(|user| ((*user).to_owned(), ErrorCode::None, None)).collect()
}

fn failed(user: &str, code: ErrorCode, message: &str) -> Results {
    vec![(user.to_owned(), code, Some(message.to_owned()))]
}

type Described = Vec<(String, ErrorCode, String, Vec<(i8, i32)>)>;

async fn describe(raw: &mut RawClient, users: Option<&[&str]>) -> Described {
    let name = |user: &&str| UserName { name: (*user).to_owned() };
    let users = users.map(|users| users.iter().map(name).collect());
    let response = raw.call(&DescribeUserScramCredentialsRequest { users }, 0).await;
    assert_eq!(response.error_code, 0);
    let results = response.results.into_iter();
    let infos = |infos: Vec<_>| -> Vec<(i8, i32)> {
        infos
            .iter()
            .map(|i: &ottla_protocol::messages::describe_user_scram_credentials::CredentialInfo| {
                (i.mechanism, i.iterations)
            })
            .collect()
    };
    results
        .map(|r| {
            (r.user, r.error_code.into(), r.error_message.unwrap_or_default(), infos(r.credential_infos))
        })
        .collect()
}

fn described(user: &str, credentials: &[(i8, i32)]) -> (String, ErrorCode, String, Vec<(i8, i32)>) {
    (user.to_owned(), ErrorCode::None, String::new(), credentials.to_vec())
}

#[tokio::test]
async fn credentials_are_stored_described_and_deleted() {
    let cluster = cluster().await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    assert_eq!(describe(&mut raw, None).await, vec![]);
    let upsertions =
        vec![upsertion("alice", SHA256, 4096, &[1; 32]), upsertion("bob", SHA512, 16_384, &[1; 64])];
    assert_eq!(alter(&mut raw, &[], upsertions).await, done(&["alice", "bob"]));
    let other = vec![upsertion("alice", SHA512, 8192, &[1; 64])];
    assert_eq!(alter(&mut raw, &[], other).await, done(&["alice"]));
    let all = [described("alice", &[(SHA256, 4096), (SHA512, 8192)]), described("bob", &[(SHA512, 16_384)])];
    assert_eq!(describe(&mut raw, None).await, all);
    assert_eq!(describe(&mut raw, Some(&[])).await, all);
    let some = describe(&mut raw, Some(&["bob", "nobody", "alice", "alice"])).await;
    let twice = "Cannot describe SCRAM credentials for the same user twice in a single request: alice";
    let missing = "Attempt to describe a user credential that does not exist: nobody";
    assert_eq!(some[0], ("alice".to_owned(), ErrorCode::DuplicateResource, twice.to_owned(), vec![]));
    assert_eq!(some[1], described("bob", &[(SHA512, 16_384)]));
    assert_eq!(some[2], ("nobody".to_owned(), ErrorCode::ResourceNotFound, missing.to_owned(), vec![]));
    assert_eq!(alter(&mut raw, &[("alice", SHA256), ("bob", SHA512)], vec![]).await, done(&["alice", "bob"]));
    assert_eq!(describe(&mut raw, None).await, [described("alice", &[(SHA512, 8192)])]);
}

#[tokio::test]
async fn invalid_changes_are_rejected() {
    let cluster = cluster().await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    let unacceptable = ErrorCode::UnacceptableCredential;
    let unsupported = ErrorCode::UnsupportedSaslMechanism;
    let cases = [
        (upsertion("", SHA256, 4096, b"x"), unacceptable, "Username must not be empty"),
        (upsertion("a", 9, 4096, b"x"), unsupported, "Unknown SCRAM mechanism"),
        (upsertion("a", SHA256, 4095, b"x"), unacceptable, "Too few iterations"),
        (upsertion("a", SHA256, 16_385, b"x"), unacceptable, "Too many iterations"),
    ];
    for (change, code, message) in cases {
        let user = change.name.clone();
        assert_eq!(alter(&mut raw, &[], vec![change]).await, failed(&user, code, message));
    }
    let empty = alter(&mut raw, &[], vec![upsertion("a", SHA256, 4096, b"")]).await;
    assert_eq!(empty, [("a".to_owned(), ErrorCode::UnknownServerError, None)]);
    let missing = "Attempt to delete a user credential that does not exist";
    let not_found = ErrorCode::ResourceNotFound;
    assert_eq!(alter(&mut raw, &[("a", SHA256)], vec![]).await, failed("a", not_found, missing));
    assert_eq!(alter(&mut raw, &[("a", SHA256); 2], vec![]).await, failed("a", not_found, missing));
    assert_eq!(
        alter(&mut raw, &[("a", 0)], vec![]).await,
        failed("a", unsupported, "Unknown SCRAM mechanism")
    );
    assert_eq!(
        alter(&mut raw, &[("", 1)], vec![]).await,
        failed("", unacceptable, "Username must not be empty")
    );
    let one = || upsertion("a", SHA256, 4096, b"x");
    let twice = "A user credential cannot be altered twice in the same request";
    let duplicate = failed("a", ErrorCode::DuplicateResource, twice);
    assert_eq!(alter(&mut raw, &[], vec![one(), one()]).await, duplicate);
    assert_eq!(alter(&mut raw, &[], vec![one(), one(), one()]).await, duplicate);
    assert_eq!(describe(&mut raw, None).await, vec![]);
    assert_eq!(alter(&mut raw, &[], vec![one()]).await, done(&["a"]));
    assert_eq!(alter(&mut raw, &[("a", SHA256)], vec![one()]).await, duplicate);
    assert_eq!(alter(&mut raw, &[("a", SHA256); 2], vec![]).await, duplicate);
    assert_eq!(describe(&mut raw, None).await, [described("a", &[(SHA256, 4096)])]);
    // The changes of other users are applied.
    let mixed = alter(&mut raw, &[("a", SHA256)], vec![upsertion("b", SHA256, 1, b"x")]).await;
    assert_eq!(mixed[0], done(&["a"])[0]);
    assert_eq!(mixed[1], failed("b", unacceptable, "Too few iterations")[0]);
}

#[tokio::test]
async fn altered_credentials_are_valid_for_logins() {
    let cluster = secured_cluster(&[("admin", "secret")]).await;
    let mut admin = RawClient::connect(&cluster, 1).await;
    assert_eq!(admin.log_in("admin", "secret").await, ErrorCode::None);
    // A configured user has both mechanisms.
    assert_eq!(describe(&mut admin, None).await, [described("admin", &[(SHA256, 4096), (SHA512, 4096)])]);
    let login = async |hash: &Hash, user: &str, password: &str| {
        RawClient::connect(&cluster, 2).await.log_in_with_scram(hash, (user, password), "").await
    };
    let refused = ErrorCode::SaslAuthenticationFailed;
    for (hash, mechanism) in [(sha256(), SHA256), (sha512(), SHA512)] {
        assert_eq!(login(&hash, "admin", "secret").await, ErrorCode::None);
        assert_eq!(login(&hash, "alice", "hers").await, refused);
        let salted = hash.salted("hers", b"salt", 5000);
        let change = vec![upsertion("alice", mechanism, 5000, &salted)];
        assert_eq!(alter(&mut admin, &[], change).await, done(&["alice"]));
        assert_eq!(login(&hash, "alice", "hers").await, ErrorCode::None);
        assert_eq!(login(&hash, "alice", "his").await, refused);
        assert_eq!(alter(&mut admin, &[("alice", mechanism)], vec![]).await, done(&["alice"]));
        assert_eq!(login(&hash, "alice", "hers").await, refused);
    }
    // Another credential replaces the configured password, for its mechanism alone.
    let salted = sha256().salted("new", b"salt", 4096);
    assert_eq!(
        alter(&mut admin, &[], vec![upsertion("admin", SHA256, 4096, &salted)]).await,
        done(&["admin"])
    );
    assert_eq!(login(&sha256(), "admin", "secret").await, refused);
    assert_eq!(login(&sha256(), "admin", "new").await, ErrorCode::None);
    assert_eq!(login(&sha512(), "admin", "secret").await, ErrorCode::None);
    cluster.set_user("admin", None);
    assert_eq!(login(&sha256(), "admin", "new").await, refused);
    assert_eq!(describe(&mut admin, None).await, vec![]);
}
