//! SOCKS5 (RFC 1928) with the method of user and password (RFC 1929): the client's side, without I/O.
//!
//! Invariant: each reply is read to its exact end, so that the first byte of the server is left in the stream.

use std::net::IpAddr;

use zeroize::Zeroizing;

use super::credentials::Credentials;
use super::{Handshake, fault};
use crate::endpoint::Endpoint;
use crate::error::{Error, ProxyFault, Result};
use crate::printable::printable;

const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const USER_AND_PASSWORD: u8 = 2;
const NO_ACCEPTABLE_METHOD: u8 = 0xff;
/// The version of the negotiation of user and password.
const LOGIN_VERSION: u8 = 1;
const CONNECT: u8 = 1;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;
/// The longest name, in bytes.
const NAME_MAX: usize = 255;

/// The client's side of the handshake.
pub(super) struct Socks5 {
    target: Endpoint,
    credentials: Option<Credentials>,
    output: Option<Zeroizing<Vec<u8>>>,
    state: State,
    /// The reply as far as it was read.
    reply: Vec<u8>,
    /// The length of the reply, as far as it is known.
    length: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Method,
    Login,
    Connect,
    Done,
}

impl Socks5 {
    pub(super) fn new(target: &Endpoint, credentials: Option<Credentials>) -> Result<Self> {
        if target.host.parse::<IpAddr>().is_err() && target.host.len() > NAME_MAX {
            let message = format!("the name {} is longer than {NAME_MAX} bytes", printable(&target.host));
            return Err(fault(ProxyFault::Refused, message));
        }
        let methods: &[u8] = if credentials.is_some() {
            &[NO_AUTHENTICATION, USER_AND_PASSWORD]
        } else {
            &[NO_AUTHENTICATION]
        };
        let mut greeting = vec![VERSION, length_byte(methods)];
        greeting.extend(methods);
        Ok(Self {
            target: target.clone(),
            credentials,
            output: Some(Zeroizing::new(greeting)),
            state: State::Method,
            reply: Vec::new(),
            length: 2,
        })
    }

    fn expect(&mut self, state: State, length: usize, output: Vec<u8>) {
        (self.state, self.length, self.output) = (state, length, Some(Zeroizing::new(output)));
    }

    fn send_connect(&mut self) {
        let mut request = vec![VERSION, CONNECT, 0];
        match self.target.host.parse() {
            Ok(IpAddr::V4(address)) => {
                request.push(IPV4);
                request.extend(address.octets());
            }
            Ok(IpAddr::V6(address)) => {
                request.push(IPV6);
                request.extend(address.octets());
            }
            Err(_) => {
                let name = self.target.host.as_bytes();
                request.extend([NAME, length_byte(name)]);
                request.extend(name);
            }
        }
        request.extend(self.target.port.to_be_bytes());
        // The shortest reply; its address may be longer.
        self.expect(State::Connect, 5, request);
    }

    /// Handles a reply that was read as far as its length is known.
    fn handle(&mut self, reply: &[u8]) -> Result<()> {
        let [first, second] = [0, 1].map(|at| reply.get(at).copied().unwrap_or_default());
        let version = if self.state == State::Login { LOGIN_VERSION } else { VERSION };
        if first != version {
            return Err(not_socks5(reply));
        }
        match self.state {
            State::Method => self.choose_method(second),
            State::Login if second == 0 => {
                self.send_connect();
                Ok(())
            }
            State::Login => Err(fault(ProxyFault::Credentials, "it rejected the user and the password")),
            State::Connect if second != 0 => Err(self.refusal(second)),
            State::Connect => {
                let address = match reply.get(3) {
                    Some(&IPV4) => 4,
                    Some(&IPV6) => 16,
                    Some(&NAME) => 1 + usize::from(reply.get(4).copied().unwrap_or_default()),
                    _ => return Err(not_socks5(reply)),
                };
                // Version, reply, reserved, type; the address; the port.
                self.length = 4 + address + 2;
                if reply.len() < self.length {
                    self.reply = reply.to_vec();
                } else {
                    self.state = State::Done;
                }
                Ok(())
            }
            State::Done => Ok(()),
        }
    }

    fn choose_method(&mut self, method: u8) -> Result<()> {
        match (method, &self.credentials) {
            (NO_AUTHENTICATION, _) => {
                self.send_connect();
                Ok(())
            }
            (USER_AND_PASSWORD, Some(Credentials { user, password })) => {
                let mut login = vec![LOGIN_VERSION, length_byte(user.expose().as_bytes())];
                login.extend(user.expose().as_bytes());
                login.push(length_byte(password.expose().as_bytes()));
                login.extend(password.expose().as_bytes());
                self.expect(State::Login, 2, login);
                Ok(())
            }
            (NO_ACCEPTABLE_METHOD, None) => Err(fault(
                ProxyFault::Credentials,
                "it asks for a user and a password, and none is configured",
            )),
            (NO_ACCEPTABLE_METHOD, Some(_)) => Err(fault(
                ProxyFault::Credentials,
                "it accepts neither a user with a password nor clients without one",
            )),
            _ => Err(fault(
                ProxyFault::NotAProxy,
                format!("it chose the authentication method {method}, which was not offered"),
            )),
        }
    }

    /// The error for a reply other than success.
    fn refusal(&self, reply: u8) -> Error {
        let target = &self.target;
        let unreachable = |why: &str| {
            fault(
                ProxyFault::ServerUnreachable,
                format!("it cannot reach {target}: {why} (SOCKS reply {reply})"),
            )
        };
        match reply {
            1 => unreachable("general failure"),
            2 => fault(
                ProxyFault::Refused,
                format!("its rules do not allow connections to {target} (SOCKS reply 2)"),
            ),
            3 => unreachable("the network is unreachable"),
            4 => unreachable("the host is unreachable, or its name unknown"),
            5 => unreachable("connection refused"),
            6 => unreachable("it timed out"),
            7 => fault(ProxyFault::Refused, "it does not support connections by CONNECT (SOCKS reply 7)"),
            8 => fault(
                ProxyFault::Refused,
                format!("it does not support the kind of address of {target} (SOCKS reply 8)"),
            ),
            _ => unreachable("for a reason that SOCKS5 does not define"),
        }
    }
}

/// The length of a text that was checked to have at most 255 bytes.
fn length_byte(bytes: &[u8]) -> u8 {
    u8::try_from(bytes.len()).unwrap_or(u8::MAX)
}

fn not_socks5(reply: &[u8]) -> Error {
    let hint = match reply.first() {
        Some(b'H') => ": it speaks HTTP; if it is an HTTP proxy, write http://",
        _ => "",
    };
    fault(ProxyFault::NotAProxy, format!("it does not speak SOCKS5{hint}"))
}

impl Handshake for Socks5 {
    fn take_output(&mut self) -> Option<Zeroizing<Vec<u8>>> {
        self.output.take()
    }

    fn wanted(&self) -> usize {
        if self.state == State::Done { 0 } else { self.length.saturating_sub(self.reply.len()) }
    }

    /// Many proxies close the connection in place of a reply that refuses a login.
    fn closed(&self) -> Error {
        match self.state {
            State::Login => fault(
                ProxyFault::Credentials,
                "it rejected the user and the password, since it closed the connection on them",
            ),
            State::Method if self.credentials.is_none() => fault(
                ProxyFault::NotAProxy,
                "it closed the connection on the first message: it asks for a user and a password, or is no SOCKS5 proxy",
            ),
            _ => fault(ProxyFault::ServerUnreachable, "it closed the connection during its handshake"),
        }
    }

    fn receive(&mut self, bytes: &[u8]) -> Result<()> {
        self.reply.extend(bytes);
        if self.reply.len() < self.length {
            return Ok(());
        }
        let reply = std::mem::take(&mut self.reply);
        self.handle(&reply)
    }
}
