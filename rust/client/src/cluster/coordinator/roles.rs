//! The other way to a coordinator while the usual connection is held up: a broker works off one
//! request of a connection at a time, and may keep a member that joins waiting for all the others.

use ottla_protocol::ApiKey;

use super::Coordinator;
use crate::cluster::{Client, Route};
use crate::connection::ConnectionRole;
use crate::error::Result;

/// What a coordinator answers only when other members have done something.
const WAITS_FOR_MEMBERS: [ApiKey; 2] = [ApiKey::JoinGroup, ApiKey::SyncGroup];

impl Coordinator {
    /// Whether it still owes an answer on this connection.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.connection.in_flight() > 0
    }

    /// The same coordinator by the connection for data.
    pub(crate) async fn on_data_connection(&self, client: &Client) -> Result<Self> {
        let connection = client.connection_as(ConnectionRole::Data, Route::Broker(self.broker)).await?;
        Ok(Self { connection, ..self.clone() })
    }

    /// The same by a connection on which nothing waits for other members, if it can be had. Any other
    /// request in flight is waited for: what one member asks for stays in order.
    pub(crate) async fn avoid_blocked_connection(self, client: &Client) -> Self {
        if !self.connection.has_in_flight(&WAITS_FOR_MEMBERS) {
            return self;
        }
        self.on_data_connection(client).await.unwrap_or(self)
    }
}
