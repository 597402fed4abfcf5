//! Logs a raw connection in, with PLAIN or SCRAM.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use ottla_mock::{MockCluster, MockConfig, SaslConfig};
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::sasl_authenticate::{SaslAuthenticateRequest, SaslAuthenticateResponse};
use ottla_protocol::messages::sasl_handshake::SaslHandshakeRequest;
use ottla_protocol::wire::SecretBytes;
use ring::{digest, hmac, pbkdf2};

use crate::support::RawClient;

/// A cluster that requires logins, with passwords by user name.
pub(crate) async fn secured_cluster(users: &[(&str, &str)]) -> MockCluster {
    let users = users.iter().map(|(user, password)| ((*user).to_owned(), (*password).to_owned()));
    let sasl = SaslConfig { users: users.collect(), ..SaslConfig::default() };
    let config = MockConfig { sasl: Some(sasl), ..MockConfig::default() };
    MockCluster::start(config).await.expect("a cluster")
}

/// A hash function of SCRAM.
pub(crate) struct Hash {
    pub(crate) mechanism: &'static str,
    digest: &'static digest::Algorithm,
    hmac: hmac::Algorithm,
    pbkdf2: pbkdf2::Algorithm,
}

pub(crate) fn sha256() -> Hash {
    Hash {
        mechanism: "SCRAM-SHA-256",
        digest: &digest::SHA256,
        hmac: hmac::HMAC_SHA256,
        pbkdf2: pbkdf2::PBKDF2_HMAC_SHA256,
    }
}

pub(crate) fn sha512() -> Hash {
    Hash {
        mechanism: "SCRAM-SHA-512",
        digest: &digest::SHA512,
        hmac: hmac::HMAC_SHA512,
        pbkdf2: pbkdf2::PBKDF2_HMAC_SHA512,
    }
}

impl Hash {
    /// Salts a password, as an administrator's client does.
    pub(crate) fn salted(&self, password: &str, salt: &[u8], iterations: u32) -> Vec<u8> {
        let mut salted = vec![0; self.digest.output_len()];
        let iterations = iterations.try_into().expect("positive");
        pbkdf2::derive(self.pbkdf2, iterations, salt, password.as_bytes(), &mut salted);
        salted
    }

    fn sign(&self, key: &[u8], message: &[u8]) -> Vec<u8> {
        hmac::sign(&hmac::Key::new(self.hmac, key), message).as_ref().to_vec()
    }
}

impl RawClient {
    async fn sasl(&mut self, message: Vec<u8>) -> SaslAuthenticateResponse {
        let request = SaslAuthenticateRequest { auth_bytes: SecretBytes(Bytes::from(message)) };
        self.call(&request, 2).await
    }

    /// Logs in with PLAIN.
    pub(crate) async fn log_in(&mut self, user: &str, password: &str) -> ErrorCode {
        let handshake = SaslHandshakeRequest { mechanism: "PLAIN".to_owned() };
        assert_eq!(self.call(&handshake, 1).await.error_code, 0);
        self.sasl(format!("\0{user}\0{password}").into_bytes()).await.error_code.into()
    }

    /// Logs in with SCRAM; `extensions` follow the nonce, such as `,tokenauth=true`.
    pub(crate) async fn log_in_with_scram(
        &mut self,
        hash: &Hash,
        (user, password): (&str, &str),
        extensions: &str,
    ) -> ErrorCode {
        let handshake = SaslHandshakeRequest { mechanism: hash.mechanism.to_owned() };
        assert_eq!(self.call(&handshake, 1).await.error_code, 0);
        let bare = format!("n={user},r=nonce{extensions}");
        let first = self.sasl(format!("n,,{bare}").into_bytes()).await;
        if first.error_code != 0 {
            return first.error_code.into();
        }
        let server_first = String::from_utf8(first.auth_bytes.0.to_vec()).expect("text");
        let [nonce, salt, iterations] = server_first.split(',').collect::<Vec<_>>()[..] else {
            panic!("{server_first}");
        };
        let salt = BASE64.decode(&salt["s=".len()..]).expect("base64");
        let iterations = iterations["i=".len()..].parse().expect("a number");
        let salted = hash.salted(password, &salt, iterations);
        let without_proof = format!("c=biws,{nonce}");
        let message = format!("{bare},{server_first},{without_proof}");
        let client_key = hash.sign(&salted, b"Client Key");
        let stored_key = digest::digest(hash.digest, &client_key);
        let signature = hash.sign(stored_key.as_ref(), message.as_bytes());
        let proof: Vec<u8> = client_key.iter().zip(&signature).map(|(a, b)| a ^ b).collect();
        let last = self.sasl(format!("{without_proof},p={}", BASE64.encode(proof)).into_bytes()).await;
        if last.error_code == 0 {
            let server_key = hash.sign(&salted, b"Server Key");
            let signature = BASE64.encode(hash.sign(&server_key, message.as_bytes()));
            assert_eq!(last.auth_bytes.0, format!("v={signature}"), "the server does not know the password");
        }
        last.error_code.into()
    }
}
