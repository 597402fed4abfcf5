"""Token providers, by their module in kafka-python 2.0."""

from ottla.compat.kafka.net.sasl.oauth import AbstractTokenProvider

__all__ = ["AbstractTokenProvider"]
