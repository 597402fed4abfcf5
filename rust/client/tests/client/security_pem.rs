//! Proves: a PEM text whose line ends were escaped or lost is accepted, from every key; a damaged one is an
//! error that says which block is damaged and how, and contains nothing of it.

use std::fs;
use std::path::PathBuf;

use base64::Engine as _;

use crate::support::registry::try_registry_client;
use crate::support::tls::*;
use ottla_client::{Error, Kind};

/// A damage, and what the error says about it.
type Damage = (&'static str, fn(&str) -> String, &'static str);

/// What a text of several lines becomes in a variable of the environment or in a properties file.
const SPELLINGS: [fn(&str) -> String; 9] = [
    |pem| pem.replace('\n', "\r\n"),
    |pem| pem.replace('\n', r"\n"),
    |pem| pem.replace('\n', r"\r\n"),
    |pem| pem.replace('\n', r"\\n"),
    |pem| pem.replace('\n', " "),
    |pem| pem.replace('\n', "\\\n"),
    |pem| format!("\"{}\"", pem.replace('\n', r"\n")),
    |pem| pem.replacen("-----\n", "-----", 1),
    |pem| format!("Bag Attributes: <Empty>\n{pem}\n# end"),
];

const DAMAGES: [Damage; 8] = [
    ("no END line", |pem| pem[..pem.rfind("-----END").unwrap()].to_owned(), "has no line -----END"),
    ("a hyphen of END is missing", |pem| pem.replace("-----END", "----END"), "has no line -----END"),
    ("another END line", |pem| pem.replace("-----END", "-----END MY"), "has no line -----END"),
    ("a hyphen of BEGIN is missing", |pem| pem.replace("-----BEGIN", "----BEGIN"), "BEGIN lines is damaged"),
    ("no BEGIN line", |pem| body(pem).to_owned(), "it has no BEGIN line"),
    ("a character", |pem| pem.replacen('\n', "\n\n*", 1), "a character in line 3 that base64"),
    ("a missing character", |pem| pem.replacen("-----\nM", "-----\n", 1), "not base64 of whole bytes"),
    ("no content", |pem| pem.replace(body(pem), ""), "is empty"),
];

/// The lines between BEGIN and END.
fn body(pem: &str) -> &str {
    let start = pem.find('\n').unwrap() + 1;
    &pem[start..pem.rfind("-----END").unwrap()]
}

/// A file that is deleted at the end of the test.
struct File(PathBuf);

impl File {
    fn new(text: &str) -> Self {
        let number = fastrand::u64(..);
        let path = std::env::temp_dir().join(format!("ottla-pem-{}-{number}.pem", std::process::id()));
        fs::write(&path, text).unwrap();
        Self(path)
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

/// Creates what reads the PEM: the settings of a client's connections, or a registry's client.
fn create(pairs: &[(&str, &str)]) -> Result<(), Error> {
    if pairs.iter().all(|(key, _)| !key.starts_with("schema.registry.")) {
        return settings(([127, 0, 0, 1], 9).into(), pairs).map(drop);
    }
    try_registry_client("https://localhost", pairs).map(drop)
}

/// Passes a changed PEM text in every way; `check` gets the keys, the changed text and the result.
fn each_route(change: &dyn Fn(&str) -> String, mut check: impl FnMut(&str, &str, Result<(), Error>)) {
    let authority = Authority::new("authority");
    let (chain, key) = authority.issue(&["client"], |_| {});
    let (broken_chain, broken_key) = (change(&chain), change(&key));
    let trusted = change(&authority.pem());
    let files = [&chain, &key, &broken_chain, &broken_key, &trusted].map(|text| File::new(text));
    let [chain_file, key_file, broken_chain_file, broken_key_file, trusted_file] =
        files.each_ref().map(File::path);
    let both = File::new(&format!("{chain}{broken_key}"));
    for prefix in ["", "schema.registry."] {
        let routes: [(&str, [(&str, &str); 2]); 7] = [
            (&broken_key, [("ssl.keystore.certificate.chain", &chain), ("ssl.keystore.key", &broken_key)]),
            (&broken_chain, [("ssl.keystore.certificate.chain", &broken_chain), ("ssl.keystore.key", &key)]),
            (&broken_key, [("ssl.certificate.location", chain_file), ("ssl.key.location", broken_key_file)]),
            (
                &broken_chain,
                [("ssl.certificate.location", broken_chain_file), ("ssl.key.location", key_file)],
            ),
            (
                &broken_key,
                [("ssl.keystore.location", both.path()), ("ssl.truststore.location", trusted_file)],
            ),
            (&trusted, [("ssl.truststore.certificates", &trusted), ("ssl.keystore.location", "")]),
            (&trusted, [("ssl.truststore.location", trusted_file), ("ssl.keystore.location", "")]),
        ];
        for (text, pairs) in routes {
            let names = pairs.map(|(key, _)| format!("{prefix}{key}"));
            let pairs = [(names[0].as_str(), pairs[0].1), (names[1].as_str(), pairs[1].1)];
            check(&format!("{names:?}"), text, create(&pairs));
        }
    }
}

#[test]
fn line_ends_that_were_escaped_or_lost_are_accepted() {
    for (number, spelling) in SPELLINGS.iter().enumerate() {
        each_route(spelling, |route, _, created| {
            created.unwrap_or_else(|error| panic!("spelling {number} of {route}: {error}"));
        });
    }
}

/// Whether a part of the text is in the message, as text or as the numbers of its bytes.
fn is_quoted(text: &str, message: &str) -> bool {
    let letters: String = text.lines().filter(|line| !line.contains("-----")).collect();
    let numbers = |part: &[u8]| part.iter().map(u8::to_string).collect::<Vec<_>>().join(", ");
    letters
        .as_bytes()
        .windows(8)
        .any(|part| message.contains(&String::from_utf8_lossy(part)[..]) || message.contains(&numbers(part)))
}

#[test]
fn damage_is_described_without_the_content() {
    for (what, damage, expected) in DAMAGES {
        // Also in the spellings: the escaped line ends are where the parser of a library quoted all.
        for spelling in [|pem: &str| pem.to_owned(), SPELLINGS[1], SPELLINGS[4]] {
            each_route(&|pem| spelling(&damage(pem)), |route, text, created| {
                let error = created.expect_err(route);
                let shown = format!("{error} {error:?}");
                assert_eq!(error.kind(), Kind::Config, "{what}, {route}: {shown}");
                assert!(!is_quoted(text, &shown), "{what}, {route}: {shown}");
                assert!(shown.contains("ssl.") && shown.len() < 600, "{what}, {route}: {shown}");
                let one_line = !text.contains('\n') && expected.contains("line 3");
                assert!(one_line || shown.contains(expected), "{what}, {route}: {shown}");
            });
        }
    }
}

#[test]
fn a_key_that_cannot_be_used_is_told_from_one_of_another_certificate() {
    let authority = Authority::new("authority");
    let (chain, key) = authority.issue(&["client"], |_| {});
    let (_, other) = authority.issue(&["other"], |_| {});
    let keys = |key: &str| {
        let pairs = [("ssl.keystore.certificate.chain", chain.as_str()), ("ssl.keystore.key", key)];
        create(&pairs).map_err(|error| error.message().to_owned())
    };
    assert_eq!(keys(&key), Ok(()));
    let message = keys(&other).unwrap_err();
    assert!(
        message.contains("not that of the first certificate in ssl.keystore.certificate.chain"),
        "{message}"
    );
    let lines: Vec<&str> = key.lines().collect();
    let short = [lines[0], lines[1], lines[lines.len() - 1]].join("\n");
    let message = keys(&short).unwrap_err();
    assert!(message.contains("ssl.keystore.key: the private key is damaged"), "{message}");
    let message = keys(&chain).unwrap_err();
    assert!(message.contains("its blocks are CERTIFICATE"), "{message}");
    let message = keys(&base64::engine::general_purpose::STANDARD.encode(&key)).unwrap_err();
    assert!(message.contains("PEM encoded in base64"), "{message}");
}
