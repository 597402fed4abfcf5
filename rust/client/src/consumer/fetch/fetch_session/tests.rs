//! Fetch sessions, checked against a model of a broker.

use std::collections::BTreeMap;

use ottla_protocol::wire::Uuid;

use super::*;

fn partition_at(topic: &str, partition: i32, offset: i64) -> RequestedPartition {
    let mut id = [0; 16];
    id[15] = topic.as_bytes()[0];
    RequestedPartition { partition: (topic.into(), partition), topic_id: Uuid(id), offset, leader_epoch: 1 }
}

/// A broker model that forgets sessions when the test says so.
#[derive(Default)]
struct Broker {
    session: Option<(i32, i32)>,
    session_partitions: BTreeMap<TopicPartition, i64>,
    sessions_created: i32,
}

impl Broker {
    /// The session id and the partitions that it fetches for a request, or an error code.
    fn serve(&mut self, data: &FetchRequestData) -> Result<(i32, BTreeMap<TopicPartition, i64>), ErrorCode> {
        if data.session_epoch == INITIAL {
            self.sessions_created += 1;
            self.session = Some((self.sessions_created, 1));
            self.session_partitions.clear();
        } else {
            match self.session {
                Some((id, epoch)) if id == data.session_id => {
                    if epoch != data.session_epoch {
                        return Err(ErrorCode::InvalidFetchSessionEpoch);
                    }
                    self.session = Some((id, epoch + 1));
                }
                _ => return Err(ErrorCode::FetchSessionIdNotFound),
            }
        }
        for (partition, _) in &data.forgotten {
            assert!(
                self.session_partitions.remove(partition).is_some(),
                "removed although not in the session"
            );
        }
        for position in &data.partitions {
            self.session_partitions.insert(position.partition.clone(), position.offset);
        }
        let id = self.session.map_or(0, |(id, _)| id);
        Ok((id, self.session_partitions.clone()))
    }
}

fn wanted(partitions: &[RequestedPartition]) -> BTreeMap<TopicPartition, i64> {
    partitions.iter().map(|p| (p.partition.clone(), p.offset)).collect()
}

#[test]
fn a_request_names_only_changed_partitions() {
    let mut session = FetchSession::default();
    let first = session.build_request_data(vec![
        partition_at("a", 0, 5),
        partition_at("a", 1, 7),
        partition_at("b", 0, 9),
    ]);
    assert_eq!((first.session_id, first.session_epoch, first.partitions.len()), (0, 0, 3));
    session.handle_response(ErrorCode::None, 77);
    let second = session.build_request_data(vec![partition_at("a", 0, 6), partition_at("b", 0, 9)]);
    assert_eq!((second.session_id, second.session_epoch), (77, 1));
    assert_eq!(second.partitions, [partition_at("a", 0, 6)]);
    assert_eq!(second.forgotten, [(("a".into(), 1), partition_at("a", 1, 7).topic_id)]);
    session.handle_response(ErrorCode::None, 77);
    let third = session.build_request_data(vec![partition_at("a", 0, 6), partition_at("b", 0, 9)]);
    assert_eq!((third.session_epoch, third.partitions.len(), third.forgotten.len()), (2, 0, 0));
}

#[test]
fn after_a_lost_response_a_new_session_closes_the_old_one() {
    let mut session = FetchSession::default();
    session.build_request_data(vec![partition_at("a", 0, 5)]);
    session.handle_response(ErrorCode::None, 77);
    session.build_request_data(vec![partition_at("a", 0, 6)]);
    session.reset();
    let next = session.build_request_data(vec![partition_at("a", 0, 6)]);
    assert_eq!((next.session_id, next.session_epoch, next.partitions.len()), (77, 0, 1));
}

#[test]
fn a_session_unknown_to_the_broker_is_not_named_again() {
    for (code, id) in [(ErrorCode::FetchSessionIdNotFound, 0), (ErrorCode::InvalidFetchSessionEpoch, 77)] {
        let mut session = FetchSession::default();
        session.build_request_data(vec![partition_at("a", 0, 5)]);
        session.handle_response(ErrorCode::None, 77);
        session.build_request_data(vec![partition_at("a", 0, 6)]);
        session.handle_response(code, 0);
        let next = session.build_request_data(vec![partition_at("a", 0, 6)]);
        assert_eq!((next.session_id, next.session_epoch, next.partitions.len()), (id, 0, 1), "{code:?}");
    }
}

#[test]
fn without_a_session_slot_every_request_names_all_partitions() {
    let mut session = FetchSession::default();
    for _ in 0..3 {
        let data = session.build_request_data(vec![partition_at("a", 0, 5), partition_at("a", 1, 5)]);
        assert_eq!((data.session_id, data.session_epoch, data.partitions.len()), (0, 0, 2));
        session.handle_response(ErrorCode::None, 0);
    }
    assert!(session.close_request().is_none());
}

#[test]
fn recreated_topics_and_topics_without_ids_start_a_new_session() {
    let mut session = FetchSession::default();
    session.build_request_data(vec![partition_at("a", 0, 5)]);
    session.handle_response(ErrorCode::None, 77);
    let remade = RequestedPartition { topic_id: Uuid([9; 16]), ..partition_at("a", 0, 5) };
    let data = session.build_request_data(vec![remade.clone()]);
    assert_eq!((data.session_epoch, data.partitions), (0, vec![remade]));
    session.handle_response(ErrorCode::None, 78);
    let nameless = RequestedPartition { topic_id: Uuid::default(), ..partition_at("b", 0, 5) };
    let data = session.build_request_data(vec![partition_at("a", 1, 5), nameless]);
    assert!(!data.by_id);
    assert_eq!((data.session_id, data.session_epoch, data.partitions.len()), (78, 0, 2));
}

#[test]
fn epochs_wrap_to_one() {
    let mut session = FetchSession { id: 1, epoch: i32::MAX, partitions: HashMap::new() };
    session.handle_response(ErrorCode::None, 1);
    assert_eq!(session.epoch, 1);
}

/// Whatever is requested, lost and forgotten: the broker fetches what the consumer wants.
#[test]
fn the_broker_fetches_the_wanted_partitions() {
    for seed in 0..200 {
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut session, mut broker) = (FetchSession::default(), Broker::default());
        for step in 0..100 {
            let mut partitions = Vec::new();
            for (topic, partition) in [("a", 0), ("a", 1), ("b", 0), ("c", 3)] {
                if random.bool() {
                    partitions.push(partition_at(topic, partition, random.i64(0..4)));
                }
            }
            let data = session.build_request_data(partitions.clone());
            match random.u8(0..20) {
                0 => broker.session = None,
                // The request was lost.
                1 => {
                    session.reset();
                    continue;
                }
                _ => {}
            }
            match broker.serve(&data) {
                // The response was lost.
                Ok(_) if random.u8(0..20) == 0 => session.reset(),
                Ok((id, fetched)) => {
                    assert_eq!(fetched, wanted(&partitions), "seed {seed}, step {step}");
                    session.handle_response(ErrorCode::None, id);
                }
                Err(code) => session.handle_response(code, 0),
            }
        }
    }
}
