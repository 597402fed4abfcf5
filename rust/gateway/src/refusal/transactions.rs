//! Refusals of what concerns transactions and idempotent producers.

use super::groups::committed;
use super::{Named, each, refusals};

refusals! {
    InitProducerId: init_producer_id::InitProducerIdRequest, r, codes => InitProducerIdResponse {
        error_code: match &r.transactional_id {
            Some(id) => codes.transactional_id(id),
            None => codes.cluster(),
        },
        producer_id: -1,
        producer_epoch: -1,
        ..Default::default()
    };
    AddPartitionsToTxn: add_partitions_to_txn::AddPartitionsToTxnRequest, r, codes => {
        let topics = |transaction: &str, topics: Vec<AddPartitionsToTxnTopic>| {
            each(topics, |topic| AddPartitionsToTxnTopicResult {
                results_by_partition: each(topic.partitions, |partition_index| AddPartitionsToTxnPartitionResult {
                    partition_index,
                    partition_error_code: codes.first([
                        Named::TransactionalId(transaction),
                        Named::Topic(&topic.name, Some(partition_index)),
                    ]),
                    ..Default::default()
                }),
                name: topic.name,
                ..Default::default()
            })
        };
        AddPartitionsToTxnResponse {
            results_by_topic_v3_and_below: topics(&r.v3_and_below_transactional_id, r.v3_and_below_topics),
            results_by_transaction: each(r.transactions, |transaction| AddPartitionsToTxnResult {
                topic_results: topics(&transaction.transactional_id, transaction.topics),
                transactional_id: transaction.transactional_id,
                ..Default::default()
            }),
            ..Default::default()
        }
    };
    AddOffsetsToTxn: add_offsets_to_txn::AddOffsetsToTxnRequest, r, codes => AddOffsetsToTxnResponse {
        error_code: codes.first([Named::TransactionalId(&r.transactional_id), Named::Group(&r.group_id)]),
        ..Default::default()
    };
    EndTxn: end_txn::EndTxnRequest, r, codes => EndTxnResponse {
        error_code: codes.transactional_id(&r.transactional_id),
        ..Default::default()
    };
    TxnOffsetCommit: txn_offset_commit::TxnOffsetCommitRequest, r, codes => {
        // A transaction that is refused is refused for each of its partitions.
        let transaction = codes.transactional_id(&r.transactional_id);
        let is_refused = codes.any();
        let mut topics = committed!(
            codes, &r.group_id, r.topics, TxnOffsetCommitResponseTopic, TxnOffsetCommitResponsePartition
        );
        for partition in topics.iter_mut().flat_map(|topic| &mut topic.partitions).filter(|_| is_refused) {
            partition.error_code = transaction;
        }
        TxnOffsetCommitResponse { topics, ..Default::default() }
    };
    DescribeTransactions: describe_transactions::DescribeTransactionsRequest, r, codes =>
        DescribeTransactionsResponse {
            transaction_states: each(r.transactional_ids, |transactional_id| TransactionState {
                error_code: codes.transactional_id(&transactional_id),
                transactional_id,
                ..Default::default()
            }),
            ..Default::default()
        };
}
