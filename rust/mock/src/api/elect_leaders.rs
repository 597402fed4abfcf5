//! ElectLeaders (43), versions 0–2: elects preferred leaders, from version 1 also unclean ones (KIP-460).
//!
//! Null asks for all partitions; the response then has only those that needed an election.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::elect_leaders::{
    ElectLeadersRequest, ElectLeadersResponse, PartitionResult, ReplicaElectionResult,
};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::fault::FaultTarget;
use crate::state::{ApiError, ClusterState, Election};

/// The first version with a type of elections and an error of the request.
const TYPED: i16 = 1;

impl RequestHandler for ElectLeadersRequest {
    fn targets(&self, _version: i16, state: &ClusterState) -> Vec<FaultTarget> {
        let partitions = requested(self, state).into_iter();
        let targets = partitions.flat_map(|(topic, indexes)| {
            indexes.into_iter().map(move |index| FaultTarget { topic: topic.clone(), partition: Some(index) })
        });
        targets.collect()
    }

    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<ElectLeadersResponse> {
        let election = if context.version < TYPED { 0 } else { self.election_type };
        let unknown = || {
            let text = format!("Unknown election type {election}");
            ApiError::new(ErrorCode::InvalidRequest, text)
        };
        let plain = |code: ErrorCode| ApiError::new(code, code.meaning());
        let whole = context.check_request_fault().and_then(|()| context.check_controller());
        let checked = whole.map_err(plain).and_then(|()| Election::from_code(election).ok_or_else(unknown));
        let is_all = self.topic_partitions.is_none();
        let mut response = ElectLeadersResponse::default();
        if let Err(error) = &checked
            && context.version >= TYPED
        {
            response.error_code = error.code.code();
        }
        for (topic, indexes) in requested(self, context.state) {
            let mut results = Vec::with_capacity(indexes.len());
            for index in indexes {
                let election = checked.as_ref().map_err(Clone::clone);
                let outcome = election.and_then(|election| elect(context, (&topic, index), *election));
                match outcome {
                    Err(error) if is_all && error.code == ErrorCode::ElectionNotNeeded => {}
                    outcome => results.push(result(index, outcome)),
                }
            }
            response
                .replica_election_results
                .push(ReplicaElectionResult { topic, partition_result: results });
        }
        HandlerResult::Response(response)
    }

    fn throttle_time(response: &mut ElectLeadersResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

/// The requested partitions, by topic.
fn requested(request: &ElectLeadersRequest, state: &ClusterState) -> Vec<(String, Vec<i32>)> {
    match &request.topic_partitions {
        Some(topics) => topics.iter().map(|t| (t.topic.clone(), t.partitions.clone())).collect(),
        None => {
            let all =
                |topic: &crate::state::Topic| (0..).zip(&topic.partitions).map(|(index, _)| index).collect();
            state.topics().map(|(name, topic)| (name.to_owned(), all(topic))).collect()
        }
    }
}

fn elect(
    context: &mut RequestContext<'_>,
    (topic, index): (&str, i32),
    election: Election,
) -> Result<(), ApiError> {
    let plain = |code: ErrorCode| ApiError::new(code, code.meaning());
    context.check_fault(topic, Some(index)).map_err(plain)?;
    context.state.elect_leader((topic, index), election)?;
    context.changed = true;
    context.check_fault_after_handling(topic, Some(index)).map_err(plain)
}

fn result(partition_id: i32, outcome: Result<(), ApiError>) -> PartitionResult {
    let error = outcome.err();
    PartitionResult {
        partition_id,
        error_code: error.as_ref().map_or(0, |error| error.code.code()),
        error_message: error.map(|error| error.message),
    }
}
