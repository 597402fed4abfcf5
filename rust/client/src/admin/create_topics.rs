//! CreateTopics: creates topics and waits until the metadata has their leaders.

use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::create_topics::{
    CreatableTopic, CreatableTopicConfig, CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse,
};
use tokio::time::{Duration, Instant};

use super::change::{TopicOperation, TopicResult, change};
use crate::cluster::Client;
use crate::cluster::IfMissing;
use crate::error::{Error, Result};

/// A topic to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTopic {
    /// Its name.
    pub name: String,
    /// The number of partitions; the cluster's default if `None`.
    pub partitions: Option<i32>,
    /// The replication factor; the cluster's default if `None`.
    pub replication: Option<i16>,
    /// The topic's configuration, under Kafka's names.
    pub configs: Vec<(String, String)>,
}

impl Client {
    /// Creates topics and waits until their partitions have leaders. Returns the first error, such as
    /// that a topic exists already, but creates the other topics all the same. An error says
    /// `maybe_done` if this call may have created the topic, because a response was lost.
    pub async fn create_topics(&self, topics: &[NewTopic], timeout: Duration) -> Result<()> {
        let deadline = Instant::now() + timeout;
        let operation = TopicOperation {
            what: "creating topics",
            name: |topic: &NewTopic| &topic.name,
            build: &|topics, _| build_request(topics, timeout),
            results,
        };
        change(self, &operation, topics, timeout).await?;
        let names: Vec<Arc<str>> = topics.iter().map(|topic| topic.name.as_str().into()).collect();
        self.await_leaders(&names, deadline.saturating_duration_since(Instant::now())).await
    }

    /// Waits until every partition of the topics has a leader.
    async fn await_leaders(&self, names: &[Arc<str>], timeout: Duration) -> Result<()> {
        let mut retry = self.retry("waiting for the new topics' leaders", timeout);
        loop {
            let topics = retry.attempt(self.topics(names, IfMissing::Wait, timeout)).await?;
            let leaderless = topics.iter().find_map(|topic| {
                let partition = topic.partitions.iter().find(|partition| partition.leader < 0)?;
                Some(Error::from_code(ErrorCode::LeaderNotAvailable).at(&topic.name, partition.index))
            });
            match leaderless {
                None => return Ok(()),
                Some(error) => retry.pause(error).await?,
            }
            let selector = crate::metadata::TopicSelector::Topics(names);
            retry.attempt(self.refresh(self.snapshot().generation, selector)).await?;
        }
    }
}

fn build_request(topics: &[&NewTopic], timeout: Duration) -> CreateTopicsRequest {
    let topic = |topic: &&NewTopic| CreatableTopic {
        name: topic.name.clone(),
        num_partitions: topic.partitions.unwrap_or(-1),
        replication_factor: topic.replication.unwrap_or(-1),
        configs: topic
            .configs
            .iter()
            .map(|(name, value)| CreatableTopicConfig { name: name.clone(), value: Some(value.clone()) })
            .collect(),
        ..Default::default()
    };
    CreateTopicsRequest {
        topics: topics.iter().map(topic).collect(),
        timeout_ms: i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX),
        validate_only: false,
    }
}

fn results(response: CreateTopicsResponse) -> Vec<TopicResult> {
    let result = |topic: CreatableTopicResult| TopicResult {
        topic: topic.name,
        code: ErrorCode::from(topic.error_code),
        message: topic.error_message,
    };
    response.topics.into_iter().map(result).collect()
}
