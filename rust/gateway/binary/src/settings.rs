//! [`Settings`]: everything that the options say.
//!
//! Invariant: what cannot work is an error that names the option, before anything is opened.

use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::time::Duration;

use clap::ArgMatches;
use ottla_client::Config;
use ottla_client::config::Value;
use ottla_gateway::addresses::Routing;
use ottla_gateway::{AccessRules, GatewayConfig, Limits, RuleOptions, SaslConfig, TlsConfig};
use tracing::level_filters::LevelFilter;

use crate::cluster::ClusterOptions;
use crate::options::value;
use crate::{Failure, parsing};

/// The ports for brokers if `--ports` is absent, counted from the one after the bootstrap port.
const PORT_COUNT: u16 = 100;

/// Everything that the options say.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) gateway: GatewayConfig,
    /// Where the configuration of the cluster comes from, for a reload.
    pub(crate) cluster: ClusterOptions,
    /// Where the status is served.
    pub(crate) status: Option<SocketAddr>,
    /// The file of the access log.
    pub(crate) access_log: Option<PathBuf>,
    /// How long requests in flight may take when the program ends.
    pub(crate) drain: Duration,
    /// After which time the program ends by itself.
    pub(crate) end_after: Option<Duration>,
    pub(crate) as_json: bool,
    pub(crate) threads: Option<usize>,
    pub(crate) log_level: LevelFilter,
}

impl Settings {
    /// Reads the options, and the files that they name.
    pub(crate) fn read(matches: &ArgMatches) -> Result<Self, Failure> {
        let options = Options(matches);
        let drain = options.parsed("drain", |text| parsing::seconds(text, 0.0))?;
        let count = |text: &str| parsing::count(text, "threads");
        let cluster = ClusterOptions::new(matches)?;
        Ok(Self {
            gateway: options.gateway(cluster.read()?)?,
            cluster,
            status: options.parsed("status", parsing::address)?,
            access_log: options.path("access_log"),
            drain: drain.unwrap_or_default(),
            end_after: options.parsed("seconds", |text| parsing::seconds(text, 0.0))?,
            as_json: matches.get_flag("json"),
            threads: options.parsed("threads", count)?,
            log_level: options.parsed("log_level", log_level)?.unwrap_or(LevelFilter::INFO),
        })
    }
}

fn log_level(text: &str) -> Result<LevelFilter, String> {
    match text {
        "error" | "warn" | "info" | "debug" | "trace" => text.parse().map_err(|_| text.to_owned()),
        _ => Err(format!("expected error, warn, info, debug or trace, got {text:?}")),
    }
}

/// The options as they were given.
struct Options<'a>(&'a ArgMatches);

impl Options<'_> {
    fn parsed<T>(&self, name: &str, parse: impl Fn(&str) -> Result<T, String>) -> Result<Option<T>, Failure> {
        let Some(text) = value(self.0, name) else { return Ok(None) };
        let flag = match name {
            "seconds" => "for".to_owned(),
            _ => name.replace('_', "-"),
        };
        parse(text).map(Some).map_err(|why| Failure::usage(format!("--{flag}: {why}")))
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        value(self.0, name).map(PathBuf::from)
    }

    fn gateway(&self, cluster: Config) -> Result<GatewayConfig, Failure> {
        let listen = self.parsed("listen", parsing::address)?;
        let listen = listen.ok_or_else(|| Failure::usage("--listen: expected an address"))?;
        let routing = self.routing(listen)?;
        let advertised_host = match self.parsed("advertise", parsing::host)? {
            Some(host) => host,
            None if listen.ip().is_unspecified() => {
                return Err(Failure::usage(format!(
                    "--listen {} is every address of this machine: say under which host name clients reach it (--advertise HOST)",
                    listen.ip()
                )));
            }
            None => listen.ip().to_string(),
        };
        let (tls, sasl, limits, rules) = (self.tls()?, self.sasl()?, self.limits()?, self.rules()?);
        let allow_faults = self.allows_faults()?;
        Ok(GatewayConfig {
            listen,
            advertised_host,
            routing,
            cluster,
            tls,
            sasl,
            rules,
            limits,
            allow_faults,
            keep_ended: self.path("access_log").is_some(),
        })
    }

    /// Whether faults may be injected, after checking who may do it.
    fn allows_faults(&self) -> Result<bool, Failure> {
        let is_remote = self.0.get_flag("allow_remote_faults");
        if !is_remote && !self.0.get_flag("allow_faults") {
            return Ok(false);
        }
        let option = if is_remote { "--allow-remote-faults" } else { "--allow-faults" };
        match self.parsed("status", parsing::address)? {
            None => Err(Failure::usage(format!(
                "{option}: faults are injected over HTTP: give the address with --status, such as --status 127.0.0.1:9464"
            ))),
            Some(status) if !is_remote && !status.ip().is_loopback() => Err(Failure::usage(format!(
                "--allow-faults: other machines reach --status {}, and could inject faults: use 127.0.0.1, or say --allow-remote-faults",
                status.ip()
            ))),
            Some(_) => Ok(true),
        }
    }

    fn routing(&self, listen: SocketAddr) -> Result<Routing, Failure> {
        let ports = self.parsed("ports", parsing::ports)?;
        let first_broker = self.parsed("first_broker", parsing::broker)?;
        let pattern = self.parsed("sni", parsing::host)?;
        let ports = match (ports, listen.port()) {
            (Some(ports), _) => Some(ports),
            (None, 0) => None,
            (None, _) if pattern.is_some() => None,
            (None, port) => match port.checked_add(1).and_then(NonZeroU16::new) {
                None => {
                    let message = format!("--listen: no port follows {port}: give --ports for the brokers");
                    return Err(Failure::usage(message));
                }
                Some(first) => Some((first, first.saturating_add(PORT_COUNT - 1))),
            },
        };
        match (ports, pattern) {
            (Some((first, last)), _) => {
                Ok(Routing::Ports { first, last, first_broker: first_broker.unwrap_or(0) })
            }
            (None, _) if first_broker.is_some() => Err(Failure::usage(
                "--first-broker says which broker has the first of the ports: leave it out with --sni and with port 0 in --listen, or give --ports",
            )),
            (None, Some(pattern)) => Ok(Routing::ServerName { pattern }),
            (None, None) => Ok(Routing::FreePorts),
        }
    }

    fn tls(&self) -> Result<Option<TlsConfig>, Failure> {
        let (certificate, key) = (value(self.0, "tls_cert"), value(self.0, "tls_key"));
        let authorities = value(self.0, "client_ca");
        let Some(certificate) = certificate else {
            return match key.or(authorities) {
                None => Ok(None),
                Some(_) => {
                    Err(Failure::usage("--tls-key and --client-ca need a certificate: give --tls-cert"))
                }
            };
        };
        let files = [
            // No connection is made with these settings.
            ("bootstrap.servers", Some("none:1")),
            ("ssl.certificate.location", Some(certificate)),
            ("ssl.key.location", key.or(Some(certificate))),
            ("ssl.truststore.location", authorities),
        ];
        let files = files.into_iter().filter_map(|(name, value)| Some((name, Value::from(value?))));
        let files = Config::from_pairs(files).map_err(Failure::usage)?;
        Ok(Some(TlsConfig { files, client_auth: authorities.is_some() }))
    }

    fn sasl(&self) -> Result<Option<SaslConfig>, Failure> {
        let allow_plaintext_passwords = self.0.get_flag("allow_plaintext_passwords");
        let lifetime = self.parsed("reauthenticate", |text| parsing::seconds(text, 1.0))?;
        match self.path("users") {
            Some(users) => Ok(Some(SaslConfig { users, allow_plaintext_passwords, lifetime })),
            None if allow_plaintext_passwords || lifetime.is_some() => {
                let name = match lifetime {
                    Some(_) if !allow_plaintext_passwords => "reauthenticate",
                    _ => "allow-plaintext-passwords",
                };
                let message = format!("--{name} is about logins at the gateway: give --users FILE");
                Err(Failure::usage(message))
            }
            None => Ok(None),
        }
    }

    fn rules(&self) -> Result<AccessRules, Failure> {
        let list = |name| self.0.get_many::<String>(name).unwrap_or_default().cloned().collect::<Vec<_>>();
        let options = RuleOptions {
            read_only: self.0.get_flag("read_only"),
            no_admin: self.0.get_flag("no_admin"),
            deny_apis: list("deny_api"),
            allow_topics: list("allow_topics"),
            deny_topics: list("deny_topics"),
            allow_groups: list("allow_groups"),
            deny_groups: list("deny_groups"),
        };
        AccessRules::try_from(options).map_err(Failure::usage)
    }

    fn limits(&self) -> Result<Limits, Failure> {
        let default = Limits::default();
        let count = |text: &str| parsing::count(text, "connections");
        let per_address = self.parsed("connections_per_address", count)?;
        let setup = self.parsed("setup_timeout", |text| parsing::seconds(text, 0.001))?;
        Ok(Limits {
            connections: self.parsed("connections", count)?.unwrap_or(default.connections),
            connections_per_address: per_address.unwrap_or(default.connections_per_address),
            setup: setup.unwrap_or(default.setup),
            ..default
        })
    }
}
