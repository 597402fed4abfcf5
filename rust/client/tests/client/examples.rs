//! Proves: the programs in `examples/` do what they say, on a cluster on loopback.

use crate::support::*;

#[path = "../../examples/produce_and_consume.rs"]
mod produce_and_consume;
#[path = "../../examples/scan_to_arrow.rs"]
mod scan_to_arrow;

#[tokio::test]
async fn the_examples_of_rust_programs_run() {
    let cluster = tcp_cluster(4).await;
    let servers = cluster.bootstrap();
    assert_eq!(within_deadline(produce_and_consume::run(&servers)).await.expect("invoices"), 1_000);
    let (rows, batches) = within_deadline(scan_to_arrow::run(&servers, "invoices")).await.expect("rows");
    assert_eq!(rows, 1_000);
    assert!(batches >= 1);
}
