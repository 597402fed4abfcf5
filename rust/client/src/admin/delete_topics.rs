//! DeleteTopics: delete topics by name.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::delete_topics::{DeleteTopicState, DeleteTopicsRequest};
use tokio::time::Duration;

use super::create_topics::check;
use crate::cluster::{Client, Route};
use crate::error::Result;

impl Client {
    /// Deletes topics. One that does not exist is an error.
    pub async fn delete_topics(&self, names: &[String], timeout: Duration) -> Result<()> {
        let request = DeleteTopicsRequest {
            topics: names
                .iter()
                .map(|name| DeleteTopicState { name: Some(name.clone()), ..Default::default() })
                .collect(),
            topic_names: Vec::new(),
            timeout_ms: i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX),
        };
        // Versions below 6 have the names elsewhere.
        let old = DeleteTopicsRequest { topics: Vec::new(), topic_names: names.to_vec(), ..request.clone() };
        let connection = self.connection(Route::Controller).await?;
        let request = if connection.version::<DeleteTopicsRequest>(i16::MAX)? >= 6 { request } else { old };
        self.once("deleting topics", timeout, async {
            let response = self.send(Route::Controller, &request, i16::MAX).await?;
            response.responses.into_iter().try_for_each(|topic| {
                let words = topic.error_message.unwrap_or_default();
                let name = topic.name.unwrap_or_default();
                check(ErrorCode::from(topic.error_code), &words).map_err(|error| error.topic(&name))
            })
        })
        .await
    }
}
