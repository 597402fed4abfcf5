"""Older releases of Kafka, which clients still meet: scenarios of tests/cluster, all of Admin."""
