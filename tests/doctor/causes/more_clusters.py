"""More faulty clusters, and their true causes."""

from __future__ import annotations

from tests.doctor.causes.cause import Cause

_NETWORK = ("packets are dropped", "large packets", "no route", "firewall")
_B2 = r"broker 2\b"

MORE_CLUSTERS = {
    "clusters/one_dead_name": Cause(
        "one of three bootstrap names cannot be resolved; the other two work",
        "a bootstrap name is wrong; clients work",
        ("kafka-gone.invalid", "cannot be resolved"),
        ("name",),
        severity="warning",
    ),
    "clusters/slow_broker": Cause(
        "broker 2 takes two seconds for each response",
        "broker 2 is slow: it, and not the network to it",
        (_B2, "slow"),
        ("load|garbage|disk",),
        ("is down", "large packets", "packets are dropped"),
        severity="warning",
    ),
    "clusters/broker_closes": Cause(
        "broker 2 closes the connection at each request for metadata",
        "broker 2 speaks Kafka at its address and closes connections at Metadata",
        (_B2, "closed|closes"),
        ("log",),
        ("packets are dropped", "large packets", "nothing listens", "TLS"),
    ),
    "clusters/truncated_response": Cause(
        "broker 2's responses to Metadata are cut in half, and the connection is closed",
        "what is between this client and broker 2 cuts responses",
        (_B2, "closed|closes|cut|incomplete|in the middle"),
        ("log|proxy|network",),
        ("nothing listens", "large packets", "SASL_PLAINTEXT"),
    ),
    "clusters/two_behind_one_name": Cause(
        "a proxy connects to two clusters in turn",
        "one address leads to brokers of two clusters",
        ("127.0.0.1:8080|broker 1", "cluster"),
        ("forward|one cluster|load balancer|address",),
        ("packets are dropped", "is down"),
    ),
    "clusters/two_behind_each_address": Cause(
        "each of three brokers advertises a port that a balancer forwards to it and to the next "
        "broker in turn, as a Kubernetes Service does that selects too many pods",
        "each advertised address leads to several brokers of the cluster",
        (r"broker 1\b", "127.0.0.1:8081", "brokers 1 and 2|several brokers"),
        ("one broker|its own", "load balancer|forward|Service"),
        ("packets are dropped", "is down", "another cluster", "same address"),
    ),
    "clusters/broker_of_another_cluster": Cause(
        "the address that broker 2 advertises leads to a broker of another cluster",
        "broker 2's advertised address belongs to another cluster",
        (_B2, "another cluster"),
        ("advertised.listeners|forwarding",),
        ("is down", "packets are dropped"),
        # The identity differs, too, and the broker of the other cluster leads nothing here.
        also=("broker 2", "UNKNOWN_TOPIC"),
    ),
    "clusters/advertised_unspecified": Cause(
        "broker 2 advertises 0.0.0.0, which leads to the client's own machine",
        "the unspecified address is no address that clients can use",
        (_B2, r"0\.0\.0\.0"),
        ("advertised.listeners",),
        ("packets are dropped", "private"),
        also=(_B2,),
    ),
    "clusters/advertised_port_zero": Cause(
        "broker 2 advertises port 0",
        "no client can connect to port 0",
        (_B2, "127.0.0.1:0", "port|refuse|invalid"),
        ("advertised.listeners|listens",),
        ("packets are dropped", "private"),
    ),
    # Written down as healthy at first; but /etc/hosts, which resolves localhost, matches no
    # absolute names, so the brokers cannot be reached.
    "clusters/advertised_trailing_dot": Cause(
        "the brokers advertise localhost with a dot at its end; only /etc/hosts knows localhost",
        "the dot at the end makes the name absolute, which /etc/hosts does not match",
        ("broker 1", r"localhost\.:", "cannot be resolved", r"\bdot\b"),
        ("advertised.listeners",),
        ("container", "private"),
    ),
    "clusters/advertised_upper_case": Cause(
        "the brokers advertise LOCALHOST",
        "nothing is wrong: names have no case",
        severity="none",
        never=("cannot be resolved", "container"),
    ),
    "clusters/container_name": Cause(
        "broker 2 advertises the name of a container; the others an address that works",
        "broker 2's name is known in the containers' network only",
        (_B2, "kafka-broker-2:9092", "cannot be resolved", "container"),
        ("DNS|hosts", "advertised.listeners"),
        ("packets are dropped",),
    ),
    "clusters/group_denied": Cause(
        "the principal may not describe the group",
        "DescribeGroups is denied: the ACL Describe on the group is missing",
        ("billing", "GROUP_AUTHORIZATION_FAILED|may not|denied"),
        ("group", "Describe|Read"),
        ("broker's log", "__consumer_offsets", "no working coordinator"),
    ),
    "clusters/topic_denied": Cause(
        "the principal may not describe the topic",
        "Metadata for the topic is denied: the ACL Describe on the topic is missing",
        ("orders", "TOPIC_AUTHORIZATION_FAILED|may not|denied"),
        ("Describe", "topic"),
        ("create the topic", "does not exist"),
    ),
    "clusters/cluster_denied": Cause(
        "the principal may not describe the cluster: quorum and broker configuration",
        "nothing is wrong for clients, and no broker's health is known to be bad",
        severity="none",
        never=("no leader", "another broker"),
    ),
    "clusters/coordinator_loading": Cause(
        "the coordinator of the group loads its partition for longer than the doctor asks",
        "the coordinator is up and not ready: it is loading the group",
        ("billing", "COORDINATOR_LOAD_IN_PROGRESS|loading"),
        ("wait|log|disk",),
        ("replication.factor", "is down", "cannot be reached"),
    ),
    "clusters/storage_error": Cause(
        "broker 2 answers KAFKA_STORAGE_ERROR for the partitions of a failed disk",
        "a log directory of broker 2 failed",
        (_B2, "KAFKA_STORAGE_ERROR|disk|log directory"),
        ("disk",),
        ("packets are dropped", "large packets", "is down"),
    ),
    "clusters/old_apis": Cause(
        "brokers without DescribeQuorum, DescribeProducers and ListTransactions, as before 2.8",
        "nothing is wrong: older brokers lack these APIs",
        severity="none",
        never=("no leader", "hang"),
    ),
    "clusters/latency": Cause(
        "the path to the brokers takes 300 ms each way",
        "nothing fails: the network is slow, and no broker is at fault",
        severity="none",
        never=("brokers are slow", "large packets", "not respond"),
    ),
    "clusters/throttled": Cause(
        "every response of the brokers has a throttle time of 1.5 s: the client exceeds its quota",
        "a quota throttles this client; no broker is slow",
        ("quota|throttle",),
        ("quota",),
        ("disk", "large packets", "packets are dropped"),
        severity="warning",
    ),
}
