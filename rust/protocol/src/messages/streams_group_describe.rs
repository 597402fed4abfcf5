//! StreamsGroupDescribe (API key 89): the state and members of streams groups.

message! {
    StreamsGroupDescribeRequest: versions 0-1, flexible 0+;

    struct StreamsGroupDescribeRequest {
        group_ids: Vec<String> [0+],
        include_authorized_operations: bool [0+],
        include_topology_description: bool [1+],
    }
}

message! {
    StreamsGroupDescribeResponse: versions 0-1, flexible 0+;

    struct StreamsGroupDescribeResponse {
        throttle_time_ms: i32 [0+],
        groups: Vec<DescribedGroup> [0+],
    }

    struct DescribedGroup {
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
        group_id: String [0+],
        group_state: String [0+],
        group_epoch: i32 [0+],
        assignment_epoch: i32 [0+],
        topology: Option<Topology> [0+] nullable [0+],
        members: Vec<Member> [0+],
        authorized_operations: i32 [0+] = -2147483648,
        topology_description: Option<TopologyDescription> [1+] nullable [1+],
        topology_description_status: i8 [1+],
        assignor_name: Option<String> [1+ ignorable] nullable [1+],
    }

    struct Topology {
        epoch: i32 [0+],
        subtopologies: Option<Vec<Subtopology>> [0+] nullable [0+],
    }

    struct Subtopology {
        subtopology_id: String [0+],
        source_topics: Vec<String> [0+],
        repartition_sink_topics: Vec<String> [0+],
        state_changelog_topics: Vec<TopicInfo> [0+],
        repartition_source_topics: Vec<TopicInfo> [0+],
    }

    struct Member {
        member_id: String [0+],
        member_epoch: i32 [0+],
        instance_id: Option<String> [0+] nullable [0+],
        rack_id: Option<String> [0+] nullable [0+],
        client_id: String [0+],
        client_host: String [0+],
        topology_epoch: i32 [0+],
        process_id: String [0+],
        user_endpoint: Option<Endpoint> [0+] nullable [0+],
        client_tags: Vec<KeyValue> [0+],
        task_offsets: Vec<TaskOffset> [0+],
        task_end_offsets: Vec<TaskOffset> [0+],
        assignment: Assignment [0+],
        target_assignment: Assignment [0+],
        is_classic: bool [0+],
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

    struct Assignment {
        active_tasks: Vec<TaskIds> [0+],
        standby_tasks: Vec<TaskIds> [0+],
        warmup_tasks: Vec<TaskIds> [0+],
    }

    struct TaskIds {
        subtopology_id: String [0+],
        partitions: Vec<i32> [0+],
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

    struct TopologyDescription {
        subtopologies: Vec<TopologyDescriptionSubtopology> [1+],
        global_stores: Vec<TopologyDescriptionGlobalStore> [1+],
    }

    struct TopologyDescriptionSubtopology {
        subtopology_id: String [1+],
        nodes: Vec<TopologyDescriptionNode> [1+],
    }

    struct TopologyDescriptionNode {
        name: String [1+],
        node_type: i8 [1+],
        source_topics: Vec<String> [1+],
        sink_topic: Option<String> [1+] nullable [1+],
        stores: Vec<String> [1+],
        successors: Vec<String> [1+],
    }

    struct TopologyDescriptionGlobalStore {
        source: TopologyDescriptionNode [1+],
        processor: TopologyDescriptionNode [1+],
    }
}
