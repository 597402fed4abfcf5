//! [`Upstream`]: the gateway's own login on a connection to a broker.
//!
//! Invariant: it is renewed before it expires, between two requests of the client, and the client notices nothing.

use std::time::{Duration, Instant};

use ottla_client::connection::setup::ConnectionSetup;
use ottla_client::connection::{ApiRange, SaslChannel, SaslInfo, authenticate};
use ottla_client::environment::Environment;
use ottla_client::{Error, Kind};
use ottla_protocol::header::{self, RequestHeader};
use ottla_protocol::wire::Reader;
use ottla_protocol::{Message, Request};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use super::logins::Logins;
use crate::session::Session;

/// The least time between two renewals.
const PAUSE: Duration = Duration::from_millis(100);

/// The gateway's own login.
#[derive(Debug)]
pub(super) struct Upstream {
    address: String,
    host: String,
    apis: Vec<ApiRange>,
    environment: Environment,
    due: Option<Instant>,
    next_correlation_id: i32,
}

impl Upstream {
    /// Logs in to a broker for a user, if the cluster requires it.
    pub(super) async fn log_in(
        connected: &mut ConnectionSetup,
        logins: &Logins,
        user: &str,
        environment: Environment,
    ) -> Result<Self, Error> {
        let security = logins.upstream(user).await?;
        let sasl = connected.sasl_as(&security).await?;
        Ok(Self {
            address: connected.address().to_owned(),
            host: SaslChannel::host(connected).to_owned(),
            apis: connected.supported_apis().to_vec(),
            due: due(sasl.as_ref(), &environment),
            environment,
            next_correlation_id: 0,
        })
    }

    /// Whether the login must be renewed before the next request.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    /// Renews the login with the user's credentials of now.
    pub(super) async fn renew(
        &mut self,
        logins: &Logins,
        user: &str,
        session: &Session<'_>,
        to_broker: &mut (impl AsyncWrite + Unpin + Send),
    ) -> Result<(), Error> {
        let security = logins.upstream(user).await?;
        let Some(sasl) = &security.sasl else {
            self.due = None;
            return Ok(());
        };
        // A broker responds in order: to requests that it holds for minutes first.
        session.wait_for_responses().await;
        let environment = self.environment.clone();
        let within = session.limits.setup;
        let mut channel = InSession { upstream: self, client_id: logins.client_id(), session, to_broker };
        let renewing = timeout(within, authenticate(&mut channel, sasl, &environment)).await;
        let renewed = renewing.unwrap_or_else(|_| {
            Err(Error::new(Kind::Connection, "the login at the broker was not renewed in time"))
        })?;
        self.due = due(Some(&renewed), &environment);
        Ok(())
    }
}

/// When to renew: at a random 80 to 90 % of the lifetime, so that not all connections do at once. The rest is for a
/// request that arrives just before.
fn due(sasl: Option<&SaslInfo>, environment: &Environment) -> Option<Instant> {
    let lifetime = sasl?.lifetime?;
    // The broker may announce any time.
    Instant::now().checked_add(lifetime.mul_f64(0.8 + 0.1 * environment.random()).max(PAUSE))
}

/// A connection that carries a client's requests, between two of them.
struct InSession<'a, W> {
    upstream: &'a mut Upstream,
    client_id: &'a str,
    session: &'a Session<'a>,
    to_broker: &'a mut W,
}

impl<W: AsyncWrite + Unpin + Send> SaslChannel for InSession<'_, W> {
    fn address(&self) -> &str {
        &self.upstream.address
    }

    fn host(&self) -> &str {
        &self.upstream.host
    }

    fn apis(&self) -> &[ApiRange] {
        &self.upstream.apis
    }

    async fn send<R: Request + Sync>(&mut self, request: &R) -> Result<R::Response, Error> {
        let range = self.upstream.apis.iter().find(|range| range.api == R::API);
        let version = range.and_then(|range| R::API.negotiate(range.min, range.max));
        let version = version.ok_or_else(|| {
            Error::new(Kind::Broker, format!("the broker does not support {}", R::API.name()))
        })?;
        let correlation_id = self.upstream.next_correlation_id;
        self.upstream.next_correlation_id = correlation_id.wrapping_add(1);
        let header = RequestHeader {
            api_key: R::API as i16,
            api_version: version,
            correlation_id,
            client_id: Some(self.client_id.to_owned()),
        };
        let frame = header::request_frame(&header, R::API.request_header_version(version), request)?;
        let response = self.session.expect_own(R::API, version, correlation_id);
        let written = async {
            self.to_broker.write_all(&frame.to_bytes()).await?;
            self.to_broker.flush().await
        };
        let closed = |why: &dyn std::fmt::Display| {
            Error::new(Kind::Connection, format!("the connection failed while the login was renewed: {why}"))
        };
        written.await.map_err(|error| closed(&error))?;
        let mut r = Reader::new(response.await.map_err(|_| closed(&"it was closed"))?);
        header::decode_response_header(&mut r, R::API.response_header_version(version))?;
        Ok(<R::Response as Message>::decode(&mut r, version)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_lifetime_that_a_broker_announces_has_a_time() {
        let environment = Environment::default();
        let of = |millis| {
            let info = SaslInfo { lifetime: Some(Duration::from_millis(millis)), ..SaslInfo::default() };
            due(Some(&info), &environment)
        };
        let now = Instant::now();
        assert!(of(1).is_some_and(|due| due > now));
        assert!(of(60_000).is_some_and(|due| due > now + Duration::from_secs(40)));
        _ = of(u64::MAX);
        assert_eq!(due(Some(&SaslInfo::default()), &environment), None);
    }
}
