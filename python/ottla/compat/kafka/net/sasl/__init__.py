"""Authentication: token providers for OAUTHBEARER."""

from ottla.compat.kafka.net.sasl.oauth import AbstractTokenProvider

__all__ = ["AbstractTokenProvider"]
