//! CreateTopics: make topics, and wait until the metadata shows them.

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

/// A topic to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTopic {
    /// Its name.
    pub name: String,
    /// How many partitions; the cluster's default if `None`.
    pub partitions: Option<i32>,
    /// How many replicas each; the cluster's default if `None`.
    pub replication: Option<i16>,
    /// Its configuration, by Kafka's names.
    pub configs: Vec<(String, String)>,
}

impl Client {
    /// Makes topics, and returns when their partitions have leaders. A topic that exists already
    /// is an error, as is any that cannot be made; the others are made all the same. The error says
    /// `maybe_done` if the topic may have been made by this call, whose response was lost.
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

    /// Waits until every partition of topics has a leader.
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
