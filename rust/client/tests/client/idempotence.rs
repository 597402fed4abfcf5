//! Tests idempotence: each record is written once and in order, whatever is lost; sequence numbers
//! are never reused while their first use may be in the log; only a gap bumps the epoch (KIP-98,
//! KIP-360).

use crate::support::numbered::*;
use crate::support::*;
use ottla_client::Kind;
use ottla_mock::{Fault, Match, MockCluster, Reaction, TopicSpec, When};
use ottla_protocol::{ApiKey, ErrorCode};

const PRODUCE: ApiKey = ApiKey::Produce;

fn on_produce(reaction: Reaction) -> Fault {
    Fault::once(Match::api(PRODUCE), reaction)
}

#[tokio::test(start_paused = true)]
async fn sequence_numbers_are_consecutive_per_partition() {
    let cluster = cluster(2).await;
    let producer = producer(&cluster, &SINGLE).await;
    for n in 0..6 {
        offset_of(&send(&producer, n % 2, &n.to_string()).await).await.expect("written");
    }
    assert_eq!(numbers(&cluster), [(0, 0), (0, 1), (0, 2)]);
    assert_eq!(cluster.request_count(None, ApiKey::InitProducerId), 1, "one id for all partitions");
}

#[tokio::test(start_paused = true)]
async fn five_batches_of_a_partition_are_in_flight_after_the_first() {
    let cluster = cluster(1).await;
    let producer = producer(&cluster, &SINGLE).await;
    cluster.inject(Fault::new(Match::api(PRODUCE), Reaction::Delay(ms(150))));
    let first = send_all(&producer, 0..10).await;
    let in_flight = || producer.client().connections().iter().map(|status| status.in_flight).max();
    // The broker does not know the producer yet, and would accept whatever comes first.
    until(|| in_flight() == Some(1)).await;
    assert_eq!(written(&cluster), texts([]));
    offset_of(&first[0]).await.expect("written");
    until(|| in_flight() == Some(5)).await;
    offset_of(&first[9]).await.expect("written");
    assert_eq!(written(&cluster), texts(0..10));
}

/// A batch fails while others are behind it: those are rejected, and sent again in order.
#[tokio::test(start_paused = true)]
async fn out_of_order_behind_a_retry_is_retried() {
    for code in [ErrorCode::NotEnoughReplicas, ErrorCode::NotLeaderOrFollower, ErrorCode::CorruptMessage] {
        let cluster = cluster(1).await;
        let producer = producer(&cluster, &SINGLE).await;
        offset_of(&send(&producer, 0, "0").await).await.expect("written");
        cluster.inject(on_produce(Reaction::Delay(ms(100))));
        cluster.inject(on_produce(Reaction::Error(code)));
        for delivery in send_all(&producer, 1..10).await {
            offset_of(&delivery).await.expect("written");
        }
        assert_eq!(written(&cluster), texts(0..10));
        assert_eq!(numbers(&cluster), (0..10).map(|n| (0, n)).collect::<Vec<_>>(), "{code:?}: no new epoch");
    }
}

/// A batch that fails for good leaves a gap: those behind it are written under a new epoch.
#[tokio::test(start_paused = true)]
async fn a_gap_bumps_the_epoch_and_loses_nothing_else() {
    let cluster = cluster(1).await;
    let producer = producer(&cluster, &SINGLE).await;
    offset_of(&send(&producer, 0, "0").await).await.expect("written");
    cluster.inject(on_produce(Reaction::Delay(ms(100))));
    cluster.inject(on_produce(Reaction::Error(ErrorCode::InvalidRecord)));
    let sent = send_all(&producer, 1..6).await;
    let error = offset_of(&sent[0]).await.expect_err("refused");
    assert_eq!(error.code(), Some(ErrorCode::InvalidRecord));
    assert!(!error.is_maybe_done(), "{error}");
    for delivery in &sent[1..] {
        offset_of(delivery).await.expect("written");
    }
    assert_eq!(written(&cluster), texts([0, 2, 3, 4, 5]));
    assert_eq!(numbers(&cluster), [(0, 0), (1, 0), (1, 1), (1, 2), (1, 3)]);
}

#[tokio::test(start_paused = true)]
async fn the_sequence_number_of_a_rejected_batch_is_reused() {
    let cluster = cluster(1).await;
    let producer = producer(&cluster, &SINGLE).await;
    offset_of(&send(&producer, 0, "0").await).await.expect("written");
    cluster.inject(on_produce(Reaction::Error(ErrorCode::TopicAuthorizationFailed)));
    offset_of(&send(&producer, 0, "1").await).await.expect_err("refused");
    offset_of(&send(&producer, 0, "2").await).await.expect("written");
    assert_eq!(numbers(&cluster), [(0, 0), (0, 1)]);
}

/// KIP-360: an unclean election loses acknowledged records; the producer continues all the same.
#[tokio::test(start_paused = true)]
async fn a_truncated_log_bumps_the_epoch() {
    let cluster = cluster(1).await;
    let producer = producer(&cluster, &SINGLE).await;
    for delivery in send_all(&producer, 0..3).await {
        offset_of(&delivery).await.expect("written");
    }
    cluster.truncate("t", 0, 1).unwrap();
    for delivery in send_all(&producer, 3..6).await {
        offset_of(&delivery).await.expect("written");
    }
    assert_eq!(written(&cluster), texts([0, 3, 4, 5]));
    assert_eq!(numbers(&cluster), [(0, 0), (1, 0), (1, 1), (1, 2)]);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_producer_and_a_rejected_epoch_start_over() {
    let cluster = cluster(1).await;
    let producer = producer(&cluster, &SINGLE).await;
    offset_of(&send(&producer, 0, "0").await).await.expect("written");
    cluster.inject(on_produce(Reaction::Error(ErrorCode::UnknownProducerId)));
    offset_of(&send(&producer, 0, "1").await).await.expect("written");
    cluster.inject(on_produce(Reaction::Error(ErrorCode::InvalidProducerEpoch)));
    offset_of(&send(&producer, 0, "2").await).await.expect("written");
    let view = cluster.partition_log("t", 0).unwrap();
    let stamps: Vec<_> =
        view.batches.iter().map(|b| (b.producer_id, b.producer_epoch, b.base_sequence)).collect();
    let id = stamps[0].0;
    assert_eq!(stamps, [(id, 0, 0), (id, 1, 0), (id + 1, 0, 0)], "the last one under another id");
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_counts_as_written_even_without_an_offset() {
    let cluster = cluster(1).await;
    let producer = producer(&cluster, &SINGLE).await;
    // The broker recognizes the batch and reports its offset.
    cluster.inject(on_produce(Reaction::Disconnect(When::AfterHandling)));
    assert_eq!(offset_of(&send(&producer, 0, "0").await).await.expect("written"), 0);
    assert_eq!(written(&cluster), texts([0]));
    // Or it does not.
    cluster.inject(on_produce(Reaction::Error(ErrorCode::DuplicateSequenceNumber)));
    assert_eq!(offset_of(&send(&producer, 0, "1").await).await.expect("written"), -1);
}

/// An expired batch that may be in the log keeps its sequence numbers, and later ones wait.
#[tokio::test(start_paused = true)]
async fn an_expired_batch_that_may_be_in_the_log_keeps_its_sequence_number() {
    let cluster = cluster(1).await;
    let pairs = [("linger.ms", "0"), ("request.timeout.ms", "3000"), ("delivery.timeout.ms", "3000")];
    let producer = producer(&cluster, &pairs).await;
    offset_of(&send(&producer, 0, "0").await).await.expect("written");
    // Written late: the next batch finds out.
    cluster.inject(on_produce(Reaction::Delay(ms(4500))));
    let error = offset_of(&send(&producer, 0, "1").await).await.expect_err("too late");
    assert!(error.is_maybe_done() && error.kind() == Kind::Timeout, "{error}");
    until(|| written(&cluster).len() == 2).await;
    offset_of(&send(&producer, 0, "2").await).await.expect("written");
    assert_eq!(written(&cluster), texts(0..3));
    // Never written: the next batch gets a new epoch, so the lost one can never follow it.
    let last = numbers(&cluster)[2];
    cluster.inject(on_produce(Reaction::Silence));
    let error = offset_of(&send(&producer, 0, "3").await).await.expect_err("too late");
    assert!(error.is_maybe_done(), "{error}");
    offset_of(&send(&producer, 0, "4").await).await.expect("written");
    assert_eq!(written(&cluster), texts([0, 1, 2, 4]));
    assert_eq!(numbers(&cluster)[3], (last.0 + 1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_topic_that_disappears_briefly_keeps_its_sequence_numbers() {
    let cluster = cluster(1).await;
    let producer = producer(&cluster, &SINGLE).await;
    offset_of(&send(&producer, 0, "0").await).await.expect("written");
    for api in [PRODUCE, ApiKey::Metadata] {
        let fault = Fault::once(Match::api(api), Reaction::Error(ErrorCode::UnknownTopicOrPartition));
        cluster.inject(fault);
    }
    for delivery in send_all(&producer, 1..4).await {
        offset_of(&delivery).await.expect("written");
    }
    assert_eq!(numbers(&cluster), [(0, 0), (0, 1), (0, 2), (0, 3)]);
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_is_too_large_is_split_in_order_with_its_sequence_numbers() {
    for (idempotence, codec) in [("true", "none"), ("true", "zstd"), ("false", "lz4")] {
        let cluster = MockCluster::start(in_memory()).await.unwrap();
        let spec = TopicSpec::new("t").partitions(1).config("max.message.bytes", "700");
        cluster.create_topic(spec).unwrap();
        // Without idempotence, only one request at a time keeps the order.
        let in_flight = if idempotence == "true" { "5" } else { "1" };
        let pairs = [
            ("linger.ms", "20"),
            ("enable.idempotence", idempotence),
            ("compression.type", codec),
            ("max.in.flight.requests.per.connection", in_flight),
        ];
        let producer = producer(&cluster, &pairs).await;
        let mut random = fastrand::Rng::with_seed(7);
        let value = |n: i32, len: usize, random: &mut fastrand::Rng| {
            format!("{n}-{}", std::iter::repeat_with(|| random.alphanumeric()).take(len).collect::<String>())
        };
        let mut sent = Vec::new();
        for n in 0..40 {
            // One of them is too large even alone.
            let text = value(n, if n == 25 { 2_000 } else { 100 }, &mut random);
            sent.push((send(&producer, 0, &text).await, text));
        }
        let mut expected = Vec::new();
        for (n, (delivery, text)) in sent.into_iter().enumerate() {
            match offset_of(&delivery).await {
                Ok(offset) => expected.push((offset, text)),
                Err(error) => {
                    assert_eq!((n, error.code()), (25, Some(ErrorCode::MessageTooLarge)), "{error}");
                    assert!(!error.is_maybe_done(), "{error}");
                }
            }
        }
        assert_eq!(expected.len(), 39);
        assert_eq!(log(&cluster, "t", 0), expected, "in order, at the reported offsets");
        until(|| producer.buffered_bytes() == 0).await;
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_producer_id_records_fail_with_the_reason_and_later_ones_are_written() {
    let cluster = cluster(1).await;
    let producer = producer(&cluster, &SINGLE).await;
    let refusal = Reaction::Error(ErrorCode::ClusterAuthorizationFailed);
    cluster.inject(Fault::once(Match::api(ApiKey::InitProducerId), refusal));
    let error = offset_of(&send(&producer, 0, "0").await).await.expect_err("no id");
    assert_eq!(error.kind(), Kind::Authorization, "{error}");
    assert!(error.to_string().contains("enable.idempotence"), "{error}");
    assert!(!error.is_maybe_done(), "{error}");
    let passing = Reaction::Error(ErrorCode::CoordinatorLoadInProgress);
    cluster.inject(Fault::once(Match::api(ApiKey::InitProducerId), passing));
    offset_of(&send(&producer, 0, "1").await).await.expect("written");
    assert_eq!(written(&cluster), texts([1]));
}

#[tokio::test(start_paused = true)]
async fn without_idempotence_batches_have_no_sequence_numbers() {
    let cluster = cluster(1).await;
    for pairs in [[("acks", "1"), ("linger.ms", "0")], [("enable.idempotence", "false"), ("linger.ms", "0")]]
    {
        let producer = producer(&cluster, &pairs).await;
        offset_of(&send(&producer, 0, "0").await).await.expect("written");
    }
    assert_eq!(numbers(&cluster), [(-1, -1), (-1, -1)]);
    assert_eq!(cluster.request_count(None, ApiKey::InitProducerId), 0);
}

#[tokio::test(start_paused = true)]
async fn retries_limit_the_attempts() {
    let cluster = cluster(1).await;
    let producer = producer(&cluster, &[("linger.ms", "0"), ("retries", "2")]).await;
    let fault =
        cluster.inject(Fault::new(Match::api(PRODUCE), Reaction::Error(ErrorCode::NotEnoughReplicas)));
    let error = offset_of(&send(&producer, 0, "0").await).await.expect_err("failed");
    assert_eq!(cluster.fault_hits(fault), 3);
    assert!(error.to_string().contains("retries=2"), "{error}");
    cluster.clear_faults();
    offset_of(&send(&producer, 0, "1").await).await.expect("written");
    assert_eq!(numbers(&cluster), [(0, 0)]);
}
