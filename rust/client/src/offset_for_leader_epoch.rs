//! OffsetForLeaderEpoch: where the epochs of leaders end in their logs, which tells whether a log was
//! cut below a position (KIP-320).
//!
//! Invariant: no partition is left out of the result (`ask_leaders.rs`).

use std::collections::HashMap;
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::offset_for_leader_epoch::{
    OffsetForLeaderEpochRequest, OffsetForLeaderPartition, OffsetForLeaderTopic,
};
use tokio::time::Duration;

use crate::ask_leaders::{Answers, Part};
use crate::cluster::{Client, Route};
use crate::error::Result;
use crate::list_offsets::TopicPartition;
use crate::metadata::Snapshot;

/// The first version that consumers may use: before, only brokers were let.
const SINCE: i16 = 3;

/// Where an epoch ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochEnd {
    /// The largest epoch that is not above the one that was asked for; -1 if the leader knows none.
    pub leader_epoch: i32,
    /// The offset after its last record; -1 if the leader does not know.
    pub end_offset: i64,
}

impl EpochEnd {
    /// What a leader that cannot be asked is taken to say: nothing was cut.
    const UNCUT: Self = Self { leader_epoch: i32::MAX, end_offset: i64::MAX };
}

impl Client {
    /// Where epochs end. A broker too old to be asked (before Kafka 2.3) is taken to have lost
    /// nothing.
    pub async fn offset_for_leader_epoch(
        &self,
        wanted: impl IntoIterator<Item = (TopicPartition, i32)>,
        timeout: Duration,
    ) -> Result<HashMap<TopicPartition, EpochEnd>> {
        let what = "asking where leader epochs end";
        self.ask_leaders(what, wanted, timeout, |client, broker, part, snapshot| async move {
            send_request(&client, broker, &part, &snapshot).await
        })
        .await
    }
}

async fn send_request(
    client: &Client,
    broker: i32,
    part: &Part<i32>,
    snapshot: &Snapshot,
) -> Result<Answers<EpochEnd>> {
    let connection = client.connection(Route::Broker(broker)).await?;
    let usable = connection.version::<OffsetForLeaderEpochRequest>(i16::MAX).ok();
    let Some(version) = usable.filter(|version| *version >= SINCE) else {
        let nothing = |partition: &TopicPartition| (partition.clone(), ErrorCode::None, EpochEnd::UNCUT);
        return Ok(part.keys().map(nothing).collect());
    };
    let request = build_request(part, snapshot);
    let response = connection.request(&request, version).await.map_err(|error| error.broker(broker))?;
    connection.throttle(response.throttle_time_ms);
    let mut answers = Vec::new();
    for topic in response.topics {
        let name: Arc<str> = topic.topic.into();
        for answer in topic.partitions {
            let end = EpochEnd { leader_epoch: answer.leader_epoch, end_offset: answer.end_offset };
            let partition = (Arc::clone(&name), answer.partition);
            answers.push((partition, ErrorCode::from(answer.error_code), end));
        }
    }
    Ok(answers)
}

fn build_request(part: &Part<i32>, snapshot: &Snapshot) -> OffsetForLeaderEpochRequest {
    let mut topics: Vec<OffsetForLeaderTopic> = Vec::new();
    for ((topic, partition), leader_epoch) in part {
        if topics.last().is_none_or(|last| *last.topic != **topic) {
            topics.push(OffsetForLeaderTopic { topic: topic.to_string(), partitions: Vec::new() });
        }
        if let Some(last) = topics.last_mut() {
            last.partitions.push(OffsetForLeaderPartition {
                partition: *partition,
                current_leader_epoch: snapshot.leader_epoch(topic, *partition),
                leader_epoch: *leader_epoch,
            });
        }
    }
    OffsetForLeaderEpochRequest { replica_id: -1, topics }
}
