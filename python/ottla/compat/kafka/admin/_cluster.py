"""The admin calls about the cluster: its brokers, their disks, its quorum and features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any

from ottla.compat.kafka._errors import translated, translating
from ottla.compat.kafka._named import Named
from ottla.compat.kafka.admin._base import AdminBase, error_class
from ottla.compat.kafka.errors import BrokerResponseError
from ottla.compat.kafka.structs import TopicPartitionReplica

__all__ = ["ClusterCalls", "UpdateFeatureType"]


class UpdateFeatureType(Named, IntEnum):
    """How the level of a feature may change."""

    UNKNOWN = 0
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


_DOWNGRADES = {
    UpdateFeatureType.UNKNOWN: "no",
    UpdateFeatureType.UPGRADE: "no",
    UpdateFeatureType.SAFE_DOWNGRADE: "safe",
    UpdateFeatureType.UNSAFE_DOWNGRADE: "unsafe",
}


class ClusterCalls(AdminBase):
    """The methods; ``KafkaAdminClient`` has the attributes."""

    def describe_cluster(self) -> dict[str, Any]:
        """Describe the cluster: its id, its controller and its brokers."""
        with translating():
            found = self._admin.describe_cluster(
                fenced=True, authorized_operations=True, timeout=self._seconds()
            )
        return {
            "cluster_id": found.cluster_id,
            "controller_id": -1 if found.controller is None else found.controller,
            "brokers": [
                {
                    "broker_id": broker.id,
                    "host": broker.host,
                    "port": broker.port,
                    "rack": broker.rack,
                    "is_fenced": bool(broker.is_fenced),
                }
                for broker in found.brokers
            ],
            "authorized_operations": found.authorized_operations,
        }

    def describe_log_dirs(
        self, topic_partitions: Any = None, brokers: Iterable[int] | None = None
    ) -> list[dict[str, Any]]:
        """Describe the log directories of brokers.

        Args:
            topic_partitions: only these topics, as a list, or as a dict with their partitions.
            brokers: the brokers. Default: all.
        """
        with translating():
            found = self._admin.describe_log_dirs(brokers, timeout=self._seconds())
        result = []
        for broker, directories in found.items():
            shown = [_directory(each, topic_partitions) for each in directories]
            result.append({"broker": broker, "log_dirs": shown})
        return result

    def alter_replica_log_dirs(
        self, replica_assignments: Mapping[TopicPartitionReplica, str]
    ) -> dict[TopicPartitionReplica, type[BrokerResponseError]]:
        """Move replicas to other directories; returns the class of the error of each."""
        wanted = {
            (replica.topic, replica.partition, replica.broker_id): path
            for replica, path in replica_assignments.items()
        }
        with translating():
            found = self._admin.alter_replica_log_dirs(
                wanted, errors="return", timeout=self._seconds()
            )
        return {
            TopicPartitionReplica(*replica): error_class(each) for replica, each in found.items()
        }

    def describe_metadata_quorum(self) -> dict[str, Any]:
        """Describe the KRaft quorum."""
        with translating():
            found = self._admin.describe_metadata_quorum(timeout=self._seconds())
        partition = {
            "error": None,
            "partition_index": 0,
            "leader_id": found.leader_id,
            "leader_epoch": found.leader_epoch,
            "high_watermark": found.high_watermark,
            "current_voters": [vars(each) for each in found.voters],
            "observers": [vars(each) for each in found.observers],
        }
        return {"topics": [{"topic_name": "__cluster_metadata", "partitions": [partition]}]}

    def describe_features(self, send_request_to_controller: bool = False) -> dict[str, Any]:
        """Describe the features of the cluster: the supported and the finalized levels of each."""
        with translating():
            found = self._admin.describe_features(timeout=self._seconds())
        result: dict[str, dict[str, Any]] = {}
        for levels in found.supported_features.values():
            for name, level in levels.items():
                result[name] = {"supported": (level.min_version, level.max_version)}
        for name, finalized in found.finalized_features.items():
            feature = result.setdefault(name, {})
            feature["finalized"] = (finalized, finalized)
            feature["finalized_epoch"] = found.finalized_features_epoch
        return result

    def update_features(
        self,
        feature_updates: Mapping[str, Any],
        validate_only: bool = False,
        timeout_ms: float | None = 60_000,
    ) -> dict[str, str]:
        """Change the finalized levels of features; returns ``OK`` or the error of each.

        Args:
            feature_updates: by feature, the level, or a pair of an ``UpdateFeatureType`` and it.
            validate_only: whether to let the controller check them only.
            timeout_ms: milliseconds.
        """
        by_kind: dict[UpdateFeatureType, dict[str, int]] = {}
        for name, update in feature_updates.items():
            kind, level = (
                update if isinstance(update, tuple) else (UpdateFeatureType.UPGRADE, update)
            )
            by_kind.setdefault(UpdateFeatureType.build_from(kind), {})[name] = int(level)
        timeout = self._seconds(timeout_ms)
        results: dict[str, Any] = dict.fromkeys(feature_updates)
        for kind, levels in by_kind.items():
            downgrade: Any = _DOWNGRADES[kind]
            with translating():
                if validate_only:
                    self._admin.update_features(
                        levels, downgrade=downgrade, dry_run=True, timeout=timeout
                    )
                    continue
                results |= self._admin.update_features(
                    levels, downgrade=downgrade, errors="return", timeout=timeout
                )
        return {
            name: "OK" if error is None else str(translated(error))
            for name, error in results.items()
        }


def _directory(found: Any, chosen: Any) -> dict[str, Any]:
    topics: dict[str, list[dict[str, Any]]] = {}
    for replica in found.replicas:
        if chosen is not None and replica.topic not in chosen:
            continue
        if isinstance(chosen, Mapping) and replica.partition not in chosen[replica.topic]:
            continue
        topics.setdefault(replica.topic, []).append(
            {
                "partition_index": replica.partition,
                "partition_size": replica.size,
                "offset_lag": replica.offset_lag,
                "is_future_key": replica.is_future,
            }
        )
    return {
        "error_code": 0 if found.error is None else -1,
        "log_dir": found.path,
        "topics": [{"name": name, "partitions": each} for name, each in topics.items()],
        "total_bytes": -1 if found.total_bytes is None else found.total_bytes,
        "usable_bytes": -1 if found.usable_bytes is None else found.usable_bytes,
    }
