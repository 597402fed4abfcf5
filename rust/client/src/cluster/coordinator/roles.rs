//! The other way to a coordinator while the usual connection is held up: a broker works off one
//! request of a connection at a time, and may keep a member that joins waiting for all the others.

use ottla_protocol::ApiKey;

use super::Coordinator;
use crate::cluster::{Client, Route};
use crate::connection::Lane;
use crate::error::Result;

/// What a coordinator answers only when other members have done something.
const HELD: [ApiKey; 2] = [ApiKey::JoinGroup, ApiKey::SyncGroup];

impl Coordinator {
    /// Whether it still owes an answer on this connection.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.connection.in_flight() > 0
    }

    /// The same coordinator by the connection for data.
    pub(crate) async fn on_data_lane(&self, client: &Client) -> Result<Self> {
        let connection = client.connection_on(Lane::Data, Route::Broker(self.broker)).await?;
        Ok(Self { connection, ..self.clone() })
    }

    /// The same by a connection on which nothing waits for other members, if it can be had. Any other
    /// request in flight is waited for: what one member asks for stays in order.
    pub(crate) async fn unless_held(self, client: &Client) -> Self {
        if !self.connection.awaits(&HELD) {
            return self;
        }
        self.on_data_lane(client).await.unwrap_or(self)
    }
}
