//! DeleteTopics: deletes topics by name.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::delete_topics::{DeleteTopicState, DeleteTopicsRequest, DeleteTopicsResponse};
use tokio::time::Duration;

use super::change::{TopicOperation, TopicResult, change};
use crate::cluster::Client;
use crate::error::Result;

impl Client {
    /// Deletes topics. Returns the first error, such as that a topic does not exist, but deletes the
    /// others all the same. An error says `maybe_done` if this call may have deleted the topic, because
    /// a response was lost.
    pub async fn delete_topics(&self, names: &[String], timeout: Duration) -> Result<()> {
        let operation = TopicOperation {
            what: "deleting topics",
            name: |name: &String| name,
            build: &|names, version| build_request(names, version, timeout),
            results,
        };
        change(self, &operation, names, timeout).await
    }
}

fn build_request(names: &[&String], version: i16, timeout: Duration) -> DeleteTopicsRequest {
    let names = names.iter().map(|name| (*name).clone());
    let mut request = DeleteTopicsRequest {
        timeout_ms: i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX),
        ..Default::default()
    };
    if version >= DeleteTopicsRequest::FIRST_BY_ID {
        let state = |name| DeleteTopicState { name: Some(name), ..Default::default() };
        request.topics = names.map(state).collect();
    } else {
        request.topic_names = names.collect();
    }
    request
}

fn results(response: DeleteTopicsResponse) -> Vec<TopicResult> {
    let results = response.responses.into_iter().map(|topic| TopicResult {
        topic: topic.name.unwrap_or_default(),
        code: ErrorCode::from(topic.error_code),
        message: topic.error_message,
    });
    results.collect()
}
