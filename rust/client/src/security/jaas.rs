//! `sasl.jaas.config`, parsed as data: one login module and its options.
//!
//! Java loads the class that is named here. This client accepts the names of the modules that come with
//! Kafka and Java and rejects all others. Invariant: a configuration never makes it load anything.

use std::collections::HashMap;
use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

use super::USE_MSK_IAM;
use crate::error::{Error, Kind, Result};
use crate::secret::Secret;

/// A known login module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginModule {
    /// `PlainLoginModule`.
    Plain,
    /// `ScramLoginModule`.
    Scram,
    /// `OAuthBearerLoginModule`.
    OAuthBearer,
    /// `Krb5LoginModule`, of the JDK.
    Kerberos,
}

/// The package of Kafka's modules.
const KAFKA: &str = "org.apache.kafka.";

/// The login module of AWS's library for MSK.
const AWS_MODULE: &str = "software.amazon.msk.auth.iam.IAMLoginModule";

const MODULES: [(&str, LoginModule); 4] = [
    ("org.apache.kafka.common.security.plain.PlainLoginModule", LoginModule::Plain),
    ("org.apache.kafka.common.security.scram.ScramLoginModule", LoginModule::Scram),
    ("org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule", LoginModule::OAuthBearer),
    ("com.sun.security.auth.module.Krb5LoginModule", LoginModule::Kerberos),
];

impl fmt::Display for LoginModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "PlainLoginModule",
            Self::Scram => "ScramLoginModule",
            Self::OAuthBearer => "OAuthBearerLoginModule",
            Self::Kerberos => "Krb5LoginModule",
        })
    }
}

/// One entry: `Module required key="value" …;`.
#[derive(Debug, Clone)]
pub struct Jaas {
    /// The module.
    pub module: LoginModule,
    options: HashMap<String, Secret>,
}

impl Jaas {
    /// An option, if it is set.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<&Secret> {
        self.options.get(name)
    }

    /// The options whose names start with `prefix`, which is removed.
    pub fn with_prefix<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a Secret)> {
        self.options.iter().filter_map(move |(name, value)| Some((name.strip_prefix(prefix)?, value)))
    }
}

/// The module of a class name. Jars with a shaded Kafka client move its classes to another package:
/// `kafkashaded.org.apache.kafka…` on Databricks, `org.apache.flink.kafka.shaded.org.apache.kafka…` in Flink.
fn module_of(class: &str) -> Option<LoginModule> {
    let in_kafka = class.rfind(KAFKA).filter(|at| is_package(&class[..*at])).map_or(class, |at| &class[at..]);
    MODULES.iter().find(|(name, _)| *name == in_kafka).map(|(_, module)| *module)
}

/// Whether a text is empty or a Java package followed by a dot.
fn is_package(text: &str) -> bool {
    let word = |part: &str| {
        part.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    text.is_empty() || text.strip_suffix('.').is_some_and(|package| package.split('.').all(word))
}

fn invalid(why: impl fmt::Display) -> Error {
    // The text contains passwords, so only known names are shown.
    let form = "module required name=\"value\" …;";
    Error::new(Kind::Config, format!("sasl.jaas.config: {why} (expected {form})"))
}

impl std::str::FromStr for Jaas {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut tokens = tokens(text)?.into_iter();
        let Some(Token::Word(class)) = tokens.next() else {
            return Err(invalid("it does not start with a login module"));
        };
        let module = module_of(class.expose()).ok_or_else(|| {
            if class.expose() == AWS_MODULE {
                let message = format!(
                    "sasl.jaas.config: {AWS_MODULE} cannot be used, because no class is loaded: remove it, and {USE_MSK_IAM}"
                );
                return Error::new(Kind::Config, message);
            }
            let modules: Vec<&str> = MODULES.iter().map(|(name, _)| *name).collect();
            invalid(format_args!("the login module is not one of {}", modules.join(", ")))
        })?;
        match tokens.next() {
            Some(Token::Word(flag))
                if ["required", "requisite", "sufficient", "optional"]
                    .iter()
                    .any(|known| flag.expose().eq_ignore_ascii_case(known)) => {}
            _ => return Err(invalid("`required` is missing after the login module")),
        }
        let mut options = HashMap::new();
        loop {
            let name = match tokens.next() {
                Some(Token::Word(name)) => name,
                Some(Token::End) => break,
                Some(Token::Equals) => return Err(invalid("an option has no name")),
                None => return Err(invalid("the `;` at the end is missing")),
            };
            match (tokens.next(), tokens.next()) {
                (Some(Token::Equals), Some(Token::Word(value))) => {
                    if options.insert(name.expose().to_owned(), value).is_some() {
                        return Err(invalid("an option is set twice"));
                    }
                }
                _ => return Err(invalid("an option lacks `=` and a value")),
            }
        }
        if tokens.next().is_some() {
            return Err(invalid("there is more than one login module"));
        }
        Ok(Self { module, options })
    }
}

/// A token of an entry. Any word may be a password.
enum Token {
    Word(Secret),
    Equals,
    End,
}

fn tokens(text: &str) -> Result<Vec<Token>> {
    let mut found = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() => {}
            '=' => found.push(Token::Equals),
            ';' => found.push(Token::End),
            '"' | '\'' => found.push(Token::Word(quoted(&mut chars, c)?)),
            c => {
                let mut word = String::from(c);
                while let Some(c) = chars.next_if(|c| !c.is_whitespace() && !['=', ';', '"'].contains(c)) {
                    word.push(c);
                }
                found.push(Token::Word(Secret::new(word)));
            }
        }
    }
    Ok(found)
}

/// Reads the rest of a quoted word; a backslash escapes the next character.
fn quoted(chars: &mut Peekable<Chars<'_>>, quote: char) -> Result<Secret> {
    let mut word = String::new();
    loop {
        match chars.next() {
            Some('\\') => word.extend(chars.next()),
            Some(c) if c == quote => return Ok(Secret::new(word)),
            Some(c) => word.push(c),
            None => return Err(invalid("a quote is not closed")),
        }
    }
}
