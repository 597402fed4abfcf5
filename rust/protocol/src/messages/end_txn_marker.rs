//! EndTxnMarker: the value of the control record that ends a transaction.

message! {
    EndTxnMarker: versions 0-0;

    struct EndTxnMarker {
        coordinator_epoch: i32 [0+],
    }
}
