//! Proves: a share consumer waits without busy loops, delivers each record once, and recovers from lost
//! responses and lost sessions.

use ottla_mock::{Fault, Match, Reaction, When};
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::Duration;

use crate::support::share::*;
use crate::support::*;

/// Regression: a waiting poll and the consumer's task woke each other without end. The paused clock advances
/// only while both sleep.
#[tokio::test(start_paused = true)]
async fn a_waiting_poll_sleeps() {
    let cluster = share_cluster(0).await;
    let consumer = share_member(&cluster, &[]).await;
    let started = Instant::now();
    let records = within_deadline(consumer.poll(Duration::from_secs(60), 10)).await.expect("polled");
    assert!(records.is_empty());
    assert_took(started, Duration::from_secs(60), Duration::from_secs(61));
    let fetches = cluster.request_count(None, ApiKey::ShareFetch);
    assert!((60..=130).contains(&fetches), "{fetches} fetches of 500 ms each");
    close(consumer).await;
}

#[tokio::test(start_paused = true)]
async fn records_are_accepted_once_whatever_request_fails() {
    let lost = Reaction::Disconnect(When::AfterHandling);
    let refused = Reaction::Error(ErrorCode::ShareSessionNotFound);
    for api in [ApiKey::ShareFetch, ApiKey::ShareAcknowledge] {
        for reaction in [lost.clone(), refused.clone(), Reaction::Disconnect(When::BeforeHandling)] {
            for skip in 0..4 {
                let cluster = share_cluster(10).await;
                let consumer = share_member(&cluster, &[]).await;
                cluster.inject(Fault::once(Match::api(api).skip(skip), reaction.clone()));
                let mut offsets = read(&consumer, 10).await;
                within_deadline(consumer.commit(CALL_TIMEOUT)).await.expect("committed");
                close(consumer).await;
                offsets.sort_unstable();
                offsets.dedup();
                assert_eq!(offsets, (0..10).collect::<Vec<_>>(), "{api:?} {reaction:?} {skip}");
                until(|| (1..=3).all(|broker| cluster.share_sessions(broker) == 0)).await;
            }
        }
    }
}
