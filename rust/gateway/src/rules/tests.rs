//! Proves: what is denied is answered or not offered, and nothing of it passes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use ottla_protocol::Request;
use ottla_protocol::header::{LENGTH_PREFIX, decode_response_header};
use ottla_protocol::messages::metadata::{MetadataRequestTopic, MetadataResponse, MetadataResponseTopic};
use ottla_protocol::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};

use super::offered::FIRST_WITH_CREATION;
use super::*;
use crate::stream::read_head;

fn sent<R: Request>(version: i16, request: &R) -> Bytes {
    let client_id = Some("c".to_owned());
    let header = RequestHeader { api_key: R::API as i16, api_version: version, correlation_id: 1, client_id };
    let header_version = R::API.request_header_version(version);
    header::request_frame(&header, header_version, request).unwrap().to_bytes()
}

fn judge<R: Request>(rules: &AccessRules, version: i16, request: &R) -> Result<RuleRuling, Violation> {
    let frame = sent(version, request);
    rules.judge(&read_head(&frame[LENGTH_PREFIX..], true).unwrap().unwrap())
}

fn response<R: Request>(ruling: RuleRuling, version: i16) -> R::Response {
    let RuleRuling::Answer(frame) = ruling else { panic!("{ruling:?}") };
    let mut reader = Reader::new(frame.slice(LENGTH_PREFIX..));
    decode_response_header(&mut reader, R::API.response_header_version(version)).unwrap();
    <R::Response as Message>::decode(&mut reader, version).unwrap()
}

fn topics(denied: &str) -> AccessRules {
    AccessRules::default().with_topics(NameRule::new(&[], &[denied.to_owned()]).unwrap())
}

#[test]
fn what_is_denied_is_answered_or_not_offered() {
    let rules = AccessRules::default().read_only().deny_api("fetch").unwrap();
    for api in ApiKey::ALL {
        let offered = rules.limit(*api, supported_versions(*api)).is_some();
        assert_eq!(offered, !rules.denied.contains(api) || refusal::is_known(*api), "{api:?}");
    }
    let no_admin = AccessRules::default().no_admin();
    assert_eq!(no_admin.limit(ApiKey::Produce, (3, 12)), Some((3, 12)));
    for (name, part) in [("Metadata", "every client needs it"), ("Nothing", "no API \"Nothing\"")] {
        let error = AccessRules::default().deny_api(name).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn every_api_that_names_topics_or_groups_is_judged_or_not_offered() {
    let rules = topics("secret").with_groups(NameRule::new(&["g".to_owned()], &[]).unwrap());
    let others: Vec<_> = ApiKey::ALL
        .iter()
        .filter(|api| !refusal::is_known(**api) && rules.limit(**api, supported_versions(**api)).is_some())
        .collect();
    let without_names =
        [ApiKey::Metadata, ApiKey::SaslHandshake, ApiKey::ApiVersions, ApiKey::SaslAuthenticate];
    assert!(others.into_iter().eq(without_names.iter()));
}

#[test]
fn metadata_creates_no_topics() {
    for rules in [AccessRules::default().read_only(), topics("t")] {
        for version in FIRST_WITH_CREATION..=MetadataRequest::MAX_VERSION {
            let name = Some("t".to_owned());
            let topics = Some(vec![MetadataRequestTopic { name, ..Default::default() }]);
            let request = MetadataRequest { topics, allow_auto_topic_creation: true, ..Default::default() };
            let without = MetadataRequest { allow_auto_topic_creation: false, ..request.clone() };
            let filter = rules.limits_topics().then_some(Filter::ByName);
            let expected = RuleRuling::Replace(sent(version, &without), filter);
            assert_eq!(judge(&rules, version, &request).unwrap(), expected, "{version}");
            assert_eq!(judge(&rules, version, &without).unwrap(), RuleRuling::Pass(filter), "{version}");
        }
    }
}

#[test]
fn records_of_a_denied_topic_do_not_pass() {
    let rules = topics("secret");
    let topic = |name: &str| {
        let partition_data = vec![PartitionProduceData { index: 3, ..Default::default() }];
        TopicProduceData { name: name.to_owned(), partition_data, ..Default::default() }
    };
    let request = |names: &[&str], acks| ProduceRequest {
        acks,
        topic_data: names.iter().map(|name| topic(name)).collect(),
        ..Default::default()
    };
    assert_eq!(judge(&rules, 9, &request(&["open"], -1)).unwrap(), RuleRuling::Pass(None));
    assert_eq!(judge(&rules, 9, &request(&["open"], 0)).unwrap(), RuleRuling::Pass(None));
    let ruling = judge(&rules, 9, &request(&["open", "secret"], -1)).unwrap();
    let found: Vec<_> = response::<ProduceRequest>(ruling, 9)
        .responses
        .into_iter()
        .map(|topic| (topic.name, topic.partition_responses[0].error_code))
        .collect();
    let moved = ErrorCode::NotLeaderOrFollower.code();
    let denied = ErrorCode::TopicAuthorizationFailed.code();
    assert_eq!(found, [("open".to_owned(), moved), ("secret".to_owned(), denied)]);
    // Nothing can be answered to it.
    assert!(matches!(judge(&rules, 9, &request(&["secret"], 0)), Err(Violation::Denied("Produce"))));
    // By the id of a topic it could be any.
    assert!(matches!(judge(&rules, 13, &request(&["open"], -1)), Err(Violation::Denied("Produce"))));
}

#[test]
fn a_topic_that_only_has_an_id_must_be_known() {
    let rules = topics("secret");
    let (open, secret, unknown) = (Uuid([1; 16]), Uuid([2; 16]), Uuid([3; 16]));
    rules.learn(open, "open");
    rules.learn(secret, "secret");
    let code = |id| rules.code(Named::TopicId(id, Some(0)), false);
    assert_eq!(code(open), None);
    assert_eq!(code(secret), Some(ErrorCode::TopicAuthorizationFailed));
    assert_eq!(code(unknown), Some(ErrorCode::UnknownTopicId));
}

#[test]
fn metadata_does_not_show_denied_topics() {
    let rules = topics("secret");
    let topic = |name: &str, id: u8| {
        let (name, topic_id) = (Some(name.to_owned()), Uuid([id; 16]));
        MetadataResponseTopic { name, topic_id, is_internal: true, ..Default::default() }
    };
    let filtered = |filter| {
        let topics = vec![topic("open", 1), topic("secret", 2)];
        let mut response = MetadataResponse { topics, ..Default::default() };
        rules.filter_metadata(&mut response, filter);
        response.topics
    };
    assert_eq!(filtered(Filter::LeaveOut), [topic("open", 1)]);
    let error_code = ErrorCode::TopicAuthorizationFailed.code();
    let name = Some("secret".to_owned());
    let denied = MetadataResponseTopic { name, error_code, ..Default::default() };
    assert_eq!(filtered(Filter::ByName), [topic("open", 1), denied]);
    let (error_code, topic_id) = (ErrorCode::UnknownTopicId.code(), Uuid([2; 16]));
    let denied = MetadataResponseTopic { name: None, topic_id, error_code, ..Default::default() };
    assert_eq!(filtered(Filter::ById), [topic("open", 1), denied]);
    assert_eq!(rules.ids.get(Uuid([2; 16])), Some(false));
}

#[test]
fn no_topic_is_created_in_passing() {
    use ottla_protocol::messages::streams_group_heartbeat::*;
    let heartbeat = |created: &[&str]| {
        let infos = created.iter().map(|name| TopicInfo { name: (*name).to_owned(), ..Default::default() });
        let part = Subtopology { repartition_source_topics: infos.collect(), ..Default::default() };
        let topology = Some(Topology { subtopologies: vec![part], ..Default::default() });
        StreamsGroupHeartbeatRequest { group_id: "g".to_owned(), topology, ..Default::default() }
    };
    for rules in [AccessRules::default().read_only(), AccessRules::default().no_admin()] {
        assert_eq!(judge(&rules, 0, &heartbeat(&[])).unwrap(), RuleRuling::Pass(None));
        let refused =
            response::<StreamsGroupHeartbeatRequest>(judge(&rules, 0, &heartbeat(&["r"])).unwrap(), 0);
        assert_eq!(refused.error_code, ErrorCode::TopicAuthorizationFailed.code());
    }
}

#[test]
fn what_asks_for_all_topics_is_refused() {
    use ottla_protocol::messages::elect_leaders::ElectLeadersRequest;
    use ottla_protocol::messages::list_partition_reassignments::ListPartitionReassignmentsRequest;
    let all = ElectLeadersRequest { topic_partitions: None, ..Default::default() };
    let code = ErrorCode::ClusterAuthorizationFailed.code();
    let refused = response::<ElectLeadersRequest>(judge(&topics("secret"), 2, &all).unwrap(), 2);
    assert_eq!(refused.error_code, code);
    let all = ListPartitionReassignmentsRequest { topics: None, ..Default::default() };
    let refused =
        response::<ListPartitionReassignmentsRequest>(judge(&topics("secret"), 0, &all).unwrap(), 0);
    assert_eq!(refused.error_code, code);
}

#[test]
fn a_request_by_id_is_not_answered_with_a_name() {
    let topic = MetadataRequestTopic { topic_id: Uuid([2; 16]), name: Some("any".to_owned()) };
    let request = MetadataRequest { topics: Some(vec![topic]), ..Default::default() };
    assert_eq!(judge(&topics("secret"), 12, &request).unwrap(), RuleRuling::Pass(Some(Filter::ById)));
}

#[test]
fn a_denied_group_is_refused_without_partitions() {
    use ottla_protocol::messages::offset_commit::OffsetCommitRequest;
    use ottla_protocol::messages::offset_fetch::*;
    let rules = AccessRules::default().with_groups(NameRule::new(&["g".to_owned()], &[]).unwrap());
    let commit = OffsetCommitRequest { group_id: "private".to_owned(), ..Default::default() };
    assert!(matches!(judge(&rules, 8, &commit).unwrap(), RuleRuling::Answer(_)));
    for topics in [None, Some(Vec::new()), Some(vec![OffsetFetchRequestTopics::default()])] {
        let group = OffsetFetchRequestGroup { group_id: "private".to_owned(), topics, ..Default::default() };
        let fetch = OffsetFetchRequest { groups: vec![group], ..Default::default() };
        assert!(matches!(judge(&rules, 9, &fetch).unwrap(), RuleRuling::Answer(_)));
    }
}

#[test]
fn records_are_refused_in_every_version() {
    let topic = TopicProduceData { partition_data: vec![Default::default()], ..Default::default() };
    let (min, max) = ApiKey::Produce.versions();
    for version in min..=max {
        let request = ProduceRequest { acks: -1, topic_data: vec![topic.clone()], ..Default::default() };
        let ruling = judge(&AccessRules::default().read_only(), version, &request).unwrap();
        assert_eq!(response::<ProduceRequest>(ruling, version).responses.len(), 1);
    }
}

#[test]
fn partitions_are_counted_before_they_are_decoded() {
    let partition_data = vec![PartitionProduceData::default(); PARTITIONS_MAX + 1];
    let topic = TopicProduceData { name: "open".to_owned(), partition_data, ..Default::default() };
    let request = |topic_data| ProduceRequest { acks: -1, topic_data, ..Default::default() };
    let too_many = judge(&topics("secret"), 9, &request(vec![topic.clone()]));
    assert!(matches!(too_many, Err(Violation::Denied(_))), "{too_many:?}");
    let partition_data = topic.partition_data[1..].to_vec();
    for version in [8, 9] {
        let request =
            request(vec![TopicProduceData { partition_data: partition_data.clone(), ..topic.clone() }]);
        assert_eq!(judge(&topics("secret"), version, &request).unwrap(), RuleRuling::Pass(None), "{version}");
    }
}

/// Fields of responses that name topics or groups which their requests did not name, and how these are kept from clients.
/// The guide names those that may be seen in passing.
#[test]
fn every_name_in_a_response_is_named_by_its_request_or_explained() {
    const FILTERED: [ApiKey; 3] = [ApiKey::Metadata, ApiKey::ListGroups, ApiKey::ListConfigResources];
    const IN_PASSING: [ApiKey; 9] = [
        // Of groups, whose topics are named by their members.
        ApiKey::ConsumerGroupDescribe,
        ApiKey::OffsetFetch,
        ApiKey::DescribeShareGroupOffsets,
        ApiKey::ShareGroupDescribe,
        ApiKey::StreamsGroupDescribe,
        ApiKey::StreamsGroupHeartbeat,
        // Of the whole cluster.
        ApiKey::DescribeLogDirs,
        ApiKey::DescribeQuorum,
        ApiKey::DescribeTransactions,
    ];
    let rules = topics("secret");
    let mut found = BTreeSet::new();
    macro_rules! collect {
        ($message:ty) => {
            let schema = <$message as Message>::SCHEMA;
            let api = ApiKey::ALL.iter().find(|api| format!("{}Response", api.name()) == schema.name);
            for field in schema.structs.iter().flat_map(|(_, fields)| *fields) {
                let is_name = ["topic", "topic_name", "name", "group_id"].contains(&field.name);
                if let Some(api) = api.filter(|_| is_name && field.ty.contains("String")) {
                    found.insert(*api);
                }
            }
        };
    }
    ottla_protocol::for_each_message!(collect);
    assert!(found.len() > 20);
    for api in found {
        let is_offered = rules.limit(api, supported_versions(api)).is_some();
        let is_explained = FILTERED.contains(&api) || IN_PASSING.contains(&api);
        // What a request names is judged; nothing else is in its response.
        assert!(!is_offered || is_explained || rules.is_judged(api) || NO_NAME.contains(&api), "{api:?}");
    }
}

/// Responses with other names: of configurations, features, listeners and users.
const NO_NAME: [ApiKey; 4] = [
    ApiKey::ApiVersions,
    ApiKey::DescribeDelegationToken,
    ApiKey::UpdateFeatures,
    ApiKey::DescribeClientQuotas,
];
