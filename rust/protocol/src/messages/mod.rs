//! The messages of Kafka's protocol: one file per API, with all versions of its request and response.
//!
//! Covers brokers from 2.1 to 4.4, except APIs that only brokers and controllers use, and APIs that were
//! removed. `notation.rs` explains the notation of the files; [`crate::api`] has the keys.

// The fields have Kafka's names, which the protocol page of Kafka's documentation explains.
#![allow(missing_docs)]

#[macro_use]
mod notation;

pub mod add_offsets_to_txn;
pub mod add_partitions_to_txn;
pub mod add_raft_voter;
pub mod alter_client_quotas;
pub mod alter_configs;
pub mod alter_partition_reassignments;
pub mod alter_replica_log_dirs;
pub mod alter_share_group_offsets;
pub mod alter_user_scram_credentials;
pub mod api_versions;
pub mod consumer_group_describe;
pub mod consumer_group_heartbeat;
pub mod consumer_protocol_assignment;
pub mod consumer_protocol_subscription;
pub mod create_acls;
pub mod create_delegation_token;
pub mod create_partitions;
pub mod create_topics;
pub mod delete_acls;
pub mod delete_groups;
pub mod delete_records;
pub mod delete_share_group_offsets;
pub mod delete_share_group_state;
pub mod delete_topics;
pub mod describe_acls;
pub mod describe_client_quotas;
pub mod describe_cluster;
pub mod describe_configs;
pub mod describe_delegation_token;
pub mod describe_groups;
pub mod describe_log_dirs;
pub mod describe_producers;
pub mod describe_quorum;
pub mod describe_share_group_offsets;
pub mod describe_topic_partitions;
pub mod describe_transactions;
pub mod describe_user_scram_credentials;
pub mod elect_leaders;
pub mod end_txn;
pub mod end_txn_marker;
pub mod expire_delegation_token;
pub mod fetch;
pub mod find_coordinator;
pub mod get_telemetry_subscriptions;
pub mod heartbeat;
pub mod incremental_alter_configs;
pub mod init_producer_id;
pub mod initialize_share_group_state;
pub mod join_group;
pub mod leave_group;
pub mod list_config_resources;
pub mod list_groups;
pub mod list_offsets;
pub mod list_partition_reassignments;
pub mod list_transactions;
pub mod metadata;
pub mod offset_commit;
pub mod offset_delete;
pub mod offset_fetch;
pub mod offset_for_leader_epoch;
pub mod produce;
pub mod push_telemetry;
pub mod read_share_group_state;
pub mod read_share_group_state_summary;
pub mod remove_raft_voter;
pub mod renew_delegation_token;
pub mod sasl_authenticate;
pub mod sasl_handshake;
pub mod share_acknowledge;
pub mod share_fetch;
pub mod share_group_describe;
pub mod share_group_heartbeat;
pub mod streams_group_describe;
pub mod streams_group_heartbeat;
pub mod streams_group_topology_description_update;
pub mod sync_group;
pub mod txn_offset_commit;
pub mod unregister_broker;
pub mod unregister_controller;
pub mod update_features;
pub mod write_share_group_state;
pub mod write_txn_markers;

use crate::wire::{Context, Field, Frame, Reader, Result, WireError, Writer};
use bytes::Bytes;

/// A message: a struct with a name and versions.
pub trait Message: Field + Default + std::fmt::Debug + Clone + PartialEq + Send + 'static {
    /// Kafka's name of the message.
    const NAME: &'static str;
    /// The lowest supported version.
    const MIN_VERSION: i16;
    /// The highest supported version.
    const MAX_VERSION: i16;
    /// Whether a version is flexible (KIP-482).
    const FLEXIBLE: fn(i16) -> bool;
    /// The message's schema, which tests compare with Kafka's.
    #[cfg(feature = "schema")]
    const SCHEMA: crate::schema::MessageSchema;

    /// Reads the message.
    fn decode(r: &mut Reader, version: i16) -> Result<Self> {
        Self::read(r, context::<Self>(version)?)
    }

    /// Reads the message from `bytes`, which must contain nothing else.
    fn from_bytes(bytes: Bytes, version: i16) -> Result<Self> {
        let mut r = Reader::new(bytes);
        let message = Self::decode(&mut r, version)?;
        match r.remaining() {
            0 => Ok(message),
            left => Err(WireError::Trailing { message: Self::NAME, left }),
        }
    }

    /// Writes the message.
    fn encode(&self, w: &mut Writer, version: i16) -> Result<()> {
        self.write(w, context::<Self>(version)?)
    }

    /// Writes the message without header and length.
    fn to_frame(&self, version: i16) -> Result<Frame> {
        let mut w = Writer::new();
        self.encode(&mut w, version)?;
        Ok(w.finish())
    }
}

fn context<M: Message>(version: i16) -> Result<Context> {
    if (M::MIN_VERSION..=M::MAX_VERSION).contains(&version) {
        Ok(Context { version, flexible: (M::FLEXIBLE)(version), nullable: false, name: M::NAME })
    } else {
        Err(WireError::Version { message: M::NAME, version, min: M::MIN_VERSION, max: M::MAX_VERSION })
    }
}
