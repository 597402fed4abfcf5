"""The gateway compared with kafka-proxy and with no proxy."""
