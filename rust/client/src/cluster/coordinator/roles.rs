//! An alternative connection to a coordinator whose usual connection is blocked: brokers process one
//! request of a connection at a time, and may hold a JoinGroup until all other members have joined.

use ottla_protocol::ApiKey;

use super::Coordinator;
use crate::cluster::{Client, Route};
use crate::connection::ConnectionRole;
use crate::error::Result;

/// Requests whose response depends on other members.
const WAITS_FOR_MEMBERS: [ApiKey; 2] = [ApiKey::JoinGroup, ApiKey::SyncGroup];

impl Coordinator {
    /// Whether a response on this connection is outstanding.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.connection.in_flight() > 0
    }

    /// The same coordinator, on the connection for data.
    pub(crate) async fn on_data_connection(&self, client: &Client) -> Result<Self> {
        let connection = client.connection_as(ConnectionRole::Data, Route::Broker(self.broker)).await?;
        Ok(Self { connection, ..self.clone() })
    }

    /// The same coordinator, on a connection without a request that depends on other members, if that
    /// can be opened. Other requests in flight are waited for, so that one member's requests stay in
    /// order.
    pub(crate) async fn avoid_blocked_connection(self, client: &Client) -> Self {
        if !self.connection.has_in_flight(&WAITS_FOR_MEMBERS) {
            return self;
        }
        self.on_data_connection(client).await.unwrap_or(self)
    }
}
