"""Null and empty metadata of a group's offsets are told apart, in requests and in responses."""

from __future__ import annotations

from typing import Any

import pytest

import ottla
from ottla.admin import CommittedOffset, operation_runners
from ottla.admin.operation_call import BlockingCall
from ottla.errors import KafkaError
from ottla.testing import MockCluster


@pytest.mark.parametrize("metadata", [None, "", "text"])
def test_metadata_is_what_was_sent(
    metadata: str | None, mock_cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Any] = []

    class EditingCall(BlockingCall):
        """Notes the metadata that is sent; responses have it although brokers store no null."""

        async def _send(self, requests: Any) -> Any:
            sent.extend(
                partition["committed_metadata"]
                for request in requests
                if request[0] == "OffsetCommit"
                for topic in request[2][0]["topics"]
                for partition in topic["partitions"]
            )
            responses = await super()._send(requests)
            for request, response in zip(requests, responses, strict=True):
                if request[0] == "OffsetFetch" and not isinstance(response, KafkaError):
                    group = response[1]["groups"][0]
                    group["topics"][0]["partitions"][0]["metadata"] = metadata
            return responses

    monkeypatch.setattr(operation_runners, "BlockingCall", EditingCall)
    offset = CommittedOffset(3, metadata=metadata)
    mock_cluster.create_topic("t")
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        admin.alter_group_offsets("g", {("t", 0): offset})
        assert sent == [metadata]
        assert admin.list_group_offsets(["g"]) == {"g": {("t", 0): offset}}
