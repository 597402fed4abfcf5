//! StreamsGroupHeartbeat (API key 88): the heartbeat of a Kafka Streams member (KIP-1071).

message! {
    StreamsGroupHeartbeatRequest: versions 0-1, flexible 0+;

    struct StreamsGroupHeartbeatRequest {
        group_id: String [0+],
        member_id: String [0+],
        member_epoch: i32 [0+],
        endpoint_information_epoch: i32 [0+],
        instance_id: Option<String> [0+] nullable [0+],
        rack_id: Option<String> [0+] nullable [0+],
        rebalance_timeout_ms: i32 [0+] = -1,
        topology: Option<Topology> [0+] nullable [0+],
        active_tasks: Option<Vec<TaskIds>> [0+] nullable [0+],
        standby_tasks: Option<Vec<TaskIds>> [0+] nullable [0+],
        warmup_tasks: Option<Vec<TaskIds>> [0+] nullable [0+],
        process_id: Option<String> [0+] nullable [0+],
        user_endpoint: Option<Endpoint> [0+] nullable [0+],
        client_tags: Option<Vec<KeyValue>> [0+] nullable [0+],
        task_offsets: Option<Vec<TaskOffset>> [0+] nullable [0+],
        task_end_offsets: Option<Vec<TaskOffset>> [0+] nullable [0+],
        shutdown_application: bool [0+],
    }

    struct Topology {
        epoch: i32 [0+],
        subtopologies: Vec<Subtopology> [0+],
    }

    struct Subtopology {
        subtopology_id: String [0+],
        source_topics: Vec<String> [0+],
        source_topic_regex: Vec<String> [0+],
        state_changelog_topics: Vec<TopicInfo> [0+],
        repartition_sink_topics: Vec<String> [0+],
        repartition_source_topics: Vec<TopicInfo> [0+],
        copartition_groups: Vec<CopartitionGroup> [0+],
    }

    struct CopartitionGroup {
        source_topics: Vec<i16> [0+],
        source_topic_regex: Vec<i16> [0+],
        repartition_source_topics: Vec<i16> [0+],
    }

    struct KeyValue {
        key: String [0+],
        value: String [0+],
    }

    struct TopicInfo {
        name: String [0+],
        partitions: i32 [0+],
        replication_factor: i16 [0+],
        topic_configs: Vec<KeyValue> [0+],
    }

    struct Endpoint {
        host: String [0+],
        port: u16 [0+],
    }

    struct TaskOffset {
        subtopology_id: String [0+],
        partition: i32 [0+],
        offset: i64 [0+],
    }

    struct TaskIds {
        subtopology_id: String [0+],
        partitions: Vec<i32> [0+],
    }
}

message! {
    StreamsGroupHeartbeatResponse: versions 0-1, flexible 0+;

    struct StreamsGroupHeartbeatResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
        member_id: String [0+],
        member_epoch: i32 [0+],
        heartbeat_interval_ms: i32 [0+],
        acceptable_recovery_lag_legacy: i32 [0],
        task_offset_interval_ms: i32 [0+],
        acceptable_recovery_lag: i64 [1+ ignorable] = -1,
        status: Option<Vec<Status>> [0+] nullable [0+],
        active_tasks: Option<Vec<StreamsGroupHeartbeatTaskIds>> [0+] nullable [0+],
        standby_tasks: Option<Vec<StreamsGroupHeartbeatTaskIds>> [0+] nullable [0+],
        warmup_tasks: Option<Vec<StreamsGroupHeartbeatTaskIds>> [0+] nullable [0+],
        topology_description_required: bool [1+],
        endpoint_information_epoch: i32 [0+],
        partitions_by_user_endpoint: Option<Vec<EndpointToPartitions>> [0+] nullable [0+],
    }

    struct EndpointToPartitions {
        user_endpoint: StreamsGroupHeartbeatEndpoint [0+],
        active_partitions: Vec<TopicPartition> [0+],
        standby_partitions: Vec<TopicPartition> [0+],
    }

    struct Status {
        status_code: i8 [0+],
        status_detail: String [0+],
    }

    struct TopicPartition {
        topic: String [0+],
        partitions: Vec<i32> [0+],
    }

    struct StreamsGroupHeartbeatTaskIds {
        subtopology_id: String [0+],
        partitions: Vec<i32> [0+],
    }

    struct StreamsGroupHeartbeatEndpoint {
        host: String [0+],
        port: u16 [0+],
    }
}
