//! Finds the blocks of a PEM text (RFC 7468), also in a text whose line ends an environment variable or a
//! properties file has changed: written as `\n`, replaced by blanks, or missing.
//!
//! Invariants: no error contains a character of the text, which may be a private key, except the name of a
//! known kind of block; a block ends before the next one begins.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

const BEGIN: &str = "-----BEGIN ";
const DASHES: &str = "-----";

/// The kinds of blocks that certificate tools write.
const KINDS: [&str; 14] = [
    "CERTIFICATE",
    "PRIVATE KEY",
    "ENCRYPTED PRIVATE KEY",
    "RSA PRIVATE KEY",
    "EC PRIVATE KEY",
    "DSA PRIVATE KEY",
    "OPENSSH PRIVATE KEY",
    "PUBLIC KEY",
    "RSA PUBLIC KEY",
    "EC PARAMETERS",
    "TRUSTED CERTIFICATE",
    "CERTIFICATE REQUEST",
    "X509 CRL",
    "PKCS7",
];

/// A block between its BEGIN line and its END line.
pub(super) struct Block<'a> {
    /// One of `KINDS`.
    pub(super) kind: &'static str,
    /// The number of its BEGIN line in the text, from 1.
    line: usize,
    /// What is between the two lines; `None` if there is no END line.
    body: Option<&'a str>,
}

/// Finds all blocks of known kinds.
pub(super) fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while let Some(at) = rest.find(BEGIN) {
        line += line_ends(&rest[..at]);
        rest = &rest[at + BEGIN.len()..];
        let own = &rest[..rest.find(BEGIN).unwrap_or(rest.len())];
        let Some(kind) = kind_before_dashes(own) else { continue };
        let after = &own[kind.len() + DASHES.len()..];
        let body = after.find(&format!("-----END {kind}-----")).map(|end| &after[..end]);
        found.push(Block { kind, line, body });
    }
    found
}

/// Says what a text has in place of a block of the expected kind.
pub(super) fn instead(text: &str, found: &[Block<'_>]) -> String {
    if text.matches("BEGIN ").count() > found.len() {
        return "one of its BEGIN lines is damaged, or names an unknown kind".to_owned();
    }
    if found.is_empty() {
        // Base64 of "-----BEGIN ".
        return match text.trim_start().starts_with("LS0tLS1CRUdJTi") {
            true => "it is PEM encoded in base64: decode it".to_owned(),
            false => "it has no BEGIN line".to_owned(),
        };
    }
    let kinds: Vec<&str> = found.iter().take(5).map(|block| block.kind).collect();
    format!("its blocks are {}", kinds.join(", "))
}

fn kind_before_dashes(text: &str) -> Option<&'static str> {
    KINDS.into_iter().find(|kind| text.strip_prefix(kind).is_some_and(|rest| rest.starts_with(DASHES)))
}

/// The number of line ends, also of those that are written as `\n`.
fn line_ends(text: &str) -> usize {
    text.matches('\n').count() + text.matches("\\n").count()
}

impl Block<'_> {
    /// Whether the block is encrypted as before PKCS#8, with headers in front of its content.
    pub(super) fn has_old_encryption(&self) -> bool {
        self.body.is_some_and(|body| body.contains("Proc-Type:"))
    }

    /// Decodes the content; the error says what is wrong with the block.
    pub(super) fn decode(&self) -> Result<Zeroizing<Vec<u8>>, String> {
        let damaged = |why: &str| {
            Err(format!(
                "the PEM is damaged: the block {} that begins in line {} {why}",
                self.kind, self.line
            ))
        };
        let Some(body) = self.body else {
            return damaged(&format!("has no line -----END {}-----", self.kind));
        };
        // Of its full size at once: a string that grows leaves copies of the key in memory.
        let mut digits = Zeroizing::new(String::with_capacity(body.len()));
        let mut chars = body.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            match c {
                c if c.is_ascii_whitespace() => {}
                // A line end that is written as \n or \r\n, possibly escaped more than once.
                '\\' => {
                    while chars.next_if(|(_, c)| *c == '\\').is_some() {}
                    let is_line_end =
                        chars.next_if(|(_, c)| matches!(c, 'n' | 'r') || c.is_ascii_whitespace()).is_some();
                    if !is_line_end {
                        return damaged(&wrong_character(self.line + line_ends(&body[..at])));
                    }
                }
                c if c.is_ascii_alphanumeric() || "+/=".contains(c) => digits.push(c),
                _ => return damaged(&wrong_character(self.line + line_ends(&body[..at]))),
            }
        }
        match STANDARD.decode(&*digits) {
            _ if digits.is_empty() => damaged("is empty"),
            Ok(content) => Ok(Zeroizing::new(content)),
            // The decoder's error is left out, since it quotes the text.
            Err(_) => damaged("is not base64 of whole bytes: characters are missing, or there are too many"),
        }
    }
}

fn wrong_character(line: usize) -> String {
    format!("has a character in line {line} that base64 does not have")
}
