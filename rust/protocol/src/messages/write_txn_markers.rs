//! WriteTxnMarkers (API key 27): sent by a transaction coordinator, makes partition leaders write end
//! markers.

message! {
    WriteTxnMarkersRequest: versions 1-2, flexible 1+;

    struct WriteTxnMarkersRequest {
        markers: Vec<WritableTxnMarker> [0+],
    }

    struct WritableTxnMarker {
        producer_id: i64 [0+],
        producer_epoch: i16 [0+],
        transaction_result: bool [0+],
        topics: Vec<WritableTxnMarkerTopic> [0+],
        coordinator_epoch: i32 [0+],
        transaction_version: i8 [2+ ignorable],
    }

    struct WritableTxnMarkerTopic {
        name: String [0+],
        partition_indexes: Vec<i32> [0+],
    }
}

message! {
    WriteTxnMarkersResponse: versions 1-2, flexible 1+;

    struct WriteTxnMarkersResponse {
        markers: Vec<WritableTxnMarkerResult> [0+],
    }

    struct WritableTxnMarkerResult {
        producer_id: i64 [0+],
        topics: Vec<WritableTxnMarkerTopicResult> [0+],
    }

    struct WritableTxnMarkerTopicResult {
        name: String [0+],
        partitions: Vec<WritableTxnMarkerPartitionResult> [0+],
    }

    struct WritableTxnMarkerPartitionResult {
        partition_index: i32 [0+],
        error_code: i16 [0+],
    }
}
