//! Proves: each new connection uses the current contents of the certificate files; unusable files change
//! nothing.

use std::fs;
use std::path::PathBuf;

use crate::support::tls::*;
use ottla_client::Kind;

/// A file that is deleted at the end of the test.
struct File(PathBuf);

impl File {
    fn new(name: &str, text: &str) -> Self {
        let file = Self(std::env::temp_dir().join(format!("ottla-{name}-{}.pem", std::process::id())));
        file.write(text);
        file
    }

    fn write(&self, text: &str) {
        fs::write(&self.0, text).unwrap();
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[tokio::test]
async fn each_connection_uses_the_current_authorities() {
    let (_cluster, address) = broker(None).await;
    let (old, new) = (Authority::new("old"), Authority::new("the one that came after the old authority"));
    let before = terminate(Terms::new(old.issue(&["localhost"], |_| {})), address).await;
    let after = terminate(Terms::new(new.issue(&["localhost"], |_| {})), address).await;
    let file = File::new("reload-trust", &old.pem());
    let settings = settings(before, &[("ssl.truststore.location", file.path())]).unwrap();
    connect_with(&settings, before).await.expect("trusted");
    let error = connect_with(&settings, after).await.expect_err("not trusted yet");
    assert_eq!(error.kind(), Kind::Authentication);

    file.write(&new.pem());
    connect_with(&settings, after).await.expect("trusted now");
    let error = connect_with(&settings, before).await.expect_err("no longer trusted");
    assert_eq!(error.kind(), Kind::Authentication);
}

#[tokio::test]
async fn unusable_files_change_nothing() {
    let (_cluster, address) = broker(None).await;
    let authority = Authority::new("authority");
    let server = terminate(Terms::new(authority.issue(&["localhost"], |_| {})), address).await;
    let pem = authority.pem();
    let file = File::new("reload-broken", &pem);
    let settings = settings(server, &[("ssl.truststore.location", file.path())]).unwrap();
    connect_with(&settings, server).await.expect("trusted");
    for broken in ["", "no certificate", &pem[..pem.len() / 2]] {
        file.write(broken);
        connect_with(&settings, server).await.expect("the previous authorities");
    }
    fs::remove_file(&file.0).unwrap();
    connect_with(&settings, server).await.expect("the previous authorities");
    // The file is checked again, and used as soon as it is valid.
    file.write(&Authority::new("quite another authority").pem());
    connect_with(&settings, server).await.expect_err("no longer trusted");
    file.write(&pem);
    connect_with(&settings, server).await.expect("trusted again");
}

#[tokio::test]
async fn a_renewed_client_certificate_is_presented() {
    let (_cluster, address) = broker(None).await;
    let (servers, clients) = (Authority::new("servers"), Authority::new("clients"));
    let terms = Terms { clients: Some(clients.pem()), ..Terms::new(servers.issue(&["localhost"], |_| {})) };
    let server = terminate(terms, address).await;
    let identity = |authority: &Authority| {
        let (chain, key) = authority.issue(&["client"], |_| {});
        format!("{key}{chain}")
    };
    let file =
        File::new("reload-key", &identity(&Authority::new("an authority that the broker does not know")));
    let trust = servers.pem();
    let pairs = [("ssl.truststore.certificates", trust.as_str()), ("ssl.keystore.location", file.path())];
    let settings = settings(server, &pairs).unwrap();
    connect_with(&settings, server).await.expect_err("an unknown authority");
    file.write(&identity(&clients));
    connect_with(&settings, server).await.expect("a known authority");
}
