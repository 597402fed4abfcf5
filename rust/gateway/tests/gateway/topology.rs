//! Proves: a broker that stops refuses connections at its address of the gateway, one that returns elsewhere is found
//! there, and the bootstrap address leads to any broker that is up.

use tokio::net::TcpStream;

use crate::support::*;

async fn is_refused(address: (&str, u16)) -> bool {
    TcpStream::connect(address).await.is_err()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_stops_refuses_connections() {
    let cluster = cluster().await;
    let gateway = gateway(&cluster).await;
    until(|| gateway.brokers().len() == 3).await;
    let address = gateway.brokers()[&2].clone();
    let at = ("127.0.0.1", address.port);
    assert!(!is_refused(at).await);
    cluster.stop_broker(2).await.expect("stopped");
    within_deadline(async {
        while !is_refused(at).await {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await;
    for _ in 0..6 {
        let (client, _) = client(&gateway, &[]).await;
        assert_eq!(client.snapshot().brokers.keys().copied().collect::<Vec<_>>(), [1, 3]);
    }
    cluster.start_broker(2).await.expect("started");
    until(|| gateway.brokers().len() == 3).await;
    assert_eq!(gateway.brokers()[&2], address);
    let (client, _) = client(&gateway, &[]).await;
    assert_eq!(client.snapshot().brokers.len(), 3);
}
