//! WriteTxnMarkers (27), versions 1–2: write the end of transactions to partitions. Coordinators of the mock
//! write their markers directly; this is how an operator ends a transaction that no coordinator knows.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::write_txn_markers::{
    WritableTxnMarker, WritableTxnMarkerPartitionResult, WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult, WriteTxnMarkersRequest, WriteTxnMarkersResponse,
};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::fault::FaultTarget;
use crate::log::Marker;
use crate::state::ClusterState;
use crate::transaction::ProducerIdAndEpoch;

impl RequestHandler for WriteTxnMarkersRequest {
    fn targets(&self, _version: i16, _state: &ClusterState) -> Vec<FaultTarget> {
        let of = |topic: &str, index| FaultTarget { topic: topic.to_owned(), partition: Some(index) };
        let topics = self.markers.iter().flat_map(|marker| &marker.topics);
        topics.flat_map(|topic| topic.partition_indexes.iter().map(|index| of(&topic.name, *index))).collect()
    }

    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<WriteTxnMarkersResponse> {
        let markers = self.markers.iter().map(|marker| {
            let topics = marker.topics.iter().map(|topic| {
                let partitions = topic.partition_indexes.iter().map(|index| {
                    let written = write(context, marker, &topic.name, *index);
                    WritableTxnMarkerPartitionResult {
                        partition_index: *index,
                        error_code: written.err().unwrap_or(ErrorCode::None).code(),
                    }
                });
                WritableTxnMarkerTopicResult { name: topic.name.clone(), partitions: partitions.collect() }
            });
            WritableTxnMarkerResult { producer_id: marker.producer_id, topics: topics.collect() }
        });
        HandlerResult::Response(WriteTxnMarkersResponse { markers: markers.collect() })
    }
}

fn write(
    context: &mut RequestContext<'_>,
    marker: &WritableTxnMarker,
    topic: &str,
    index: i32,
) -> Result<(), ErrorCode> {
    context.check_fault(topic, Some(index))?;
    let (broker, now) = (context.broker, context.now);
    let partition = context.state.partition_mut(topic, index)?;
    partition.check_leader(broker, -1)?;
    let producer = ProducerIdAndEpoch { id: marker.producer_id, epoch: marker.producer_epoch };
    let (commit, coordinator_epoch) = (marker.transaction_result, marker.coordinator_epoch);
    partition.log.check_marker(producer, coordinator_epoch)?;
    let leader_epoch = partition.leader_epoch;
    partition.log.write_marker(Marker { producer, commit, coordinator_epoch }, (leader_epoch, now))?;
    context.changed = true;
    context.check_fault_after_handling(topic, Some(index))
}
