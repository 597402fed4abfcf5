//! Refusals of what writes and reads records.

use super::{each, refusals};

refusals! {
    Produce: produce::ProduceRequest, r, codes => ProduceResponse {
        responses: each(r.topic_data, |topic| TopicProduceResponse {
            partition_responses: each(topic.partition_data, |partition| PartitionProduceResponse {
                index: partition.index,
                error_code: codes.repeated_by_id(&topic.name, topic.topic_id, partition.index),
                base_offset: -1,
                error_message: codes.message(),
                ..Default::default()
            }),
            name: topic.name,
            topic_id: topic.topic_id,
            ..Default::default()
        }),
        ..Default::default()
    };
    // Without a session, so that the client begins a new one.
    Fetch: fetch::FetchRequest, r, codes => FetchResponse {
        responses: each(r.topics, |topic| FetchableTopicResponse {
            partitions: each(topic.partitions, |partition| PartitionData {
                partition_index: partition.partition,
                error_code: codes.repeated_by_id(&topic.topic, topic.topic_id, partition.partition),
                high_watermark: -1,
                records: Some(Default::default()),
                ..Default::default()
            }),
            topic: topic.topic,
            topic_id: topic.topic_id,
            ..Default::default()
        }),
        ..Default::default()
    };
    ListOffsets: list_offsets::ListOffsetsRequest, r, codes => ListOffsetsResponse {
        topics: each(r.topics, |topic| ListOffsetsTopicResponse {
            partitions: each(topic.partitions, |partition| ListOffsetsPartitionResponse {
                partition_index: partition.partition_index,
                error_code: codes.repeated(&topic.name, partition.partition_index),
                ..Default::default()
            }),
            name: topic.name,
            ..Default::default()
        }),
        ..Default::default()
    };
    OffsetForLeaderEpoch: offset_for_leader_epoch::OffsetForLeaderEpochRequest, r, codes =>
        OffsetForLeaderEpochResponse {
            topics: each(r.topics, |topic| OffsetForLeaderTopicResult {
                partitions: each(topic.partitions, |partition| EpochEndOffset {
                    partition: partition.partition,
                    error_code: codes.repeated(&topic.topic, partition.partition),
                    end_offset: -1,
                    ..Default::default()
                }),
                topic: topic.topic,
                ..Default::default()
            }),
            ..Default::default()
        };
    DeleteRecords: delete_records::DeleteRecordsRequest, r, codes => DeleteRecordsResponse {
        topics: each(r.topics, |topic| DeleteRecordsTopicResult {
            partitions: each(topic.partitions, |partition| DeleteRecordsPartitionResult {
                partition_index: partition.partition_index,
                low_watermark: -1,
                error_code: codes.partition(&topic.name, partition.partition_index),
                ..Default::default()
            }),
            name: topic.name,
            ..Default::default()
        }),
        ..Default::default()
    };
    DescribeProducers: describe_producers::DescribeProducersRequest, r, codes => DescribeProducersResponse {
        topics: each(r.topics, |topic| TopicResponse {
            partitions: each(topic.partition_indexes, |partition_index| PartitionResponse {
                partition_index,
                error_code: codes.partition(&topic.name, partition_index),
                error_message: codes.message(),
                ..Default::default()
            }),
            name: topic.name,
            ..Default::default()
        }),
        ..Default::default()
    };
}
