//! The constants beside the messages say which version is the first one with a field.

use ottla_protocol::Message;
use ottla_protocol::messages::delete_topics::{DeleteTopicState, DeleteTopicsRequest};
use ottla_protocol::messages::end_txn::{EndTxnRequest, EndTxnResponse};
use ottla_protocol::messages::fetch::{FetchRequest, FetchTopic};
use ottla_protocol::messages::offset_commit::{OffsetCommitRequest, OffsetCommitRequestTopic};
use ottla_protocol::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use ottla_protocol::messages::produce::{ProduceRequest, TopicProduceData};
use ottla_protocol::messages::txn_offset_commit::{TxnOffsetCommitRequest, TxnOffsetCommitRequestTopic};
use ottla_protocol::wire::Uuid;

const ID: Uuid = Uuid([7; 16]);

/// What is left of a message that is written and read in a version.
fn sent<M: Message>(message: &M, version: i16) -> M {
    M::from_bytes(message.to_frame(version).unwrap().to_bytes(), version).unwrap()
}

macro_rules! assert_names_by_id {
    ($request:ident, $topic:ident, $name:ident, |$topics:ident| $build:expr, |$read:ident| $first:expr) => {
        let $topics = vec![$topic { $name: "t".to_owned(), topic_id: ID, ..Default::default() }];
        let request = $build;
        for (version, name, id) in
            [($request::FIRST_BY_ID - 1, "t", Uuid::ZERO), ($request::FIRST_BY_ID, "", ID)]
        {
            let $read = sent(&request, version);
            let topic = $first;
            assert_eq!((topic.$name.as_str(), topic.topic_id), (name, id), "version {version}");
        }
    };
}

#[test]
fn topics_are_named_by_id_from_this_version_on() {
    assert_names_by_id!(
        ProduceRequest,
        TopicProduceData,
        name,
        |topics| ProduceRequest { topic_data: topics, ..Default::default() },
        |request| &request.topic_data[0]
    );
    assert_names_by_id!(
        FetchRequest,
        FetchTopic,
        topic,
        |topics| FetchRequest { topics, ..Default::default() },
        |request| &request.topics[0]
    );
    assert_names_by_id!(
        OffsetCommitRequest,
        OffsetCommitRequestTopic,
        name,
        |topics| OffsetCommitRequest { topics, ..Default::default() },
        |request| &request.topics[0]
    );
    assert_names_by_id!(
        OffsetFetchRequest,
        OffsetFetchRequestTopics,
        name,
        |topics| OffsetFetchRequest {
            groups: vec![OffsetFetchRequestGroup { topics: Some(topics), ..Default::default() }],
            ..Default::default()
        },
        |request| &request.groups[0].topics.as_ref().unwrap()[0]
    );
    assert_names_by_id!(
        TxnOffsetCommitRequest,
        TxnOffsetCommitRequestTopic,
        name,
        |topics| TxnOffsetCommitRequest { topics, ..Default::default() },
        |request| &request.topics[0]
    );
}

#[test]
fn topics_are_deleted_by_id_from_this_version_on() {
    let topics = vec![DeleteTopicState { topic_id: ID, ..Default::default() }];
    let request = DeleteTopicsRequest { topics, ..Default::default() };
    assert!(request.to_frame(DeleteTopicsRequest::FIRST_BY_ID - 1).is_err());
    assert_eq!(sent(&request, DeleteTopicsRequest::FIRST_BY_ID).topics[0].topic_id, ID);
}

#[test]
fn the_end_of_a_transaction_returns_the_next_epoch_from_this_version_on() {
    let response = EndTxnResponse { producer_id: 4, producer_epoch: 7, ..Default::default() };
    for (version, epoch) in
        [(EndTxnRequest::FIRST_OF_PROTOCOL_2 - 1, -1), (EndTxnRequest::FIRST_OF_PROTOCOL_2, 7)]
    {
        assert_eq!(sent(&response, version).producer_epoch, epoch, "version {version}");
    }
}
