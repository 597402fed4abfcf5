"""kafka-python's arguments for TLS and SASL as ottla's configuration.

Invariants: certificates are always verified; a client certificate, a revocation list or a proxy
that the program has asked for is used or refused, and never dropped. No secret is in a message.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable, Mapping
from typing import Any

from ottla.compat.kafka.errors import KafkaConfigurationError
from ottla.compat.kafka.net.sasl.oauth import AbstractTokenProvider

__all__ = ["security"]

log = logging.getLogger("ottla.compat")


def security(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of TLS and SASL.

    Raises:
        KafkaConfigurationError: an argument cannot be obeyed.
    """
    for name in ("proxy_url", "socks5_proxy"):
        if config.get(name) is not None:
            raise KafkaConfigurationError(f"{name}: connections through proxies are not supported")
    protocol = config["security_protocol"]
    result: dict[str, Any] = {}
    if protocol in ("SSL", "SASL_SSL"):
        context = config["ssl_context"]
        result |= _from_files(config) if context is None else _from_context(context)
    if protocol in ("SASL_PLAINTEXT", "SASL_SSL"):
        result |= _sasl(config)
    return result


def _from_files(config: Mapping[str, Any]) -> dict[str, Any]:
    if config["ssl_crlfile"] is not None:
        raise KafkaConfigurationError("ssl_crlfile: revocation lists are not supported")
    result: dict[str, Any] = {}
    if config["ssl_cafile"] is not None:
        result["ssl_truststore_location"] = str(config["ssl_cafile"])
    certificate, key = config["ssl_certfile"], config["ssl_keyfile"]
    if certificate is not None and key is not None:
        result["ssl_certificate_location"] = str(certificate)
        result["ssl_key_location"] = str(key)
    elif certificate is not None:
        # One file with both.
        result["ssl_keystore_location"] = str(certificate)
    if config["ssl_password"] is not None:
        result["ssl_key_password"] = _text(config["ssl_password"])
    if not config["ssl_check_hostname"]:
        result["ssl_endpoint_identification_algorithm"] = ""
    return result


def _text(password: Any) -> str:
    value = password() if callable(password) else password
    return value.decode() if isinstance(value, bytes | bytearray) else str(value)


def _from_context(context: ssl.SSLContext) -> dict[str, Any]:
    if context.verify_mode != ssl.CERT_REQUIRED:
        raise KafkaConfigurationError(
            "ssl_context: certificates are always verified; use ssl.CERT_REQUIRED and the "
            "authority to trust"
        )
    if context.verify_flags & (ssl.VERIFY_CRL_CHECK_LEAF | ssl.VERIFY_CRL_CHECK_CHAIN):
        raise KafkaConfigurationError("ssl_context: revocation lists are not supported")
    log.warning(
        "ssl_context: only its authorities and its check of host names are used; for a client "
        "certificate, pass ssl_certfile and ssl_keyfile instead of ssl_context"
    )
    authorities = context.get_ca_certs(binary_form=True)
    result: dict[str, Any] = {}
    if authorities:
        result["ssl_truststore_certificates"] = "".join(
            ssl.DER_cert_to_PEM_cert(each) for each in authorities
        )
    if not context.check_hostname:
        result["ssl_endpoint_identification_algorithm"] = ""
    return result


def _sasl(config: Mapping[str, Any]) -> dict[str, Any]:
    mechanism = config["sasl_mechanism"]
    if mechanism is None:
        raise KafkaConfigurationError("sasl_mechanism is required with this security_protocol")
    result: dict[str, Any] = {"sasl_mechanism": mechanism}
    if mechanism == "OAUTHBEARER":
        provider = config["sasl_oauth_token_provider"]
        if isinstance(provider, str):
            # By name, which kafka-python does not have.
            result["sasl_oauthbearer_token_provider"] = provider
        else:
            result["sasl_oauth_token"] = _token(provider)
    elif mechanism == "GSSAPI":
        name = config["sasl_kerberos_name"]
        service = config["sasl_kerberos_service_name"]
        # The name of a principal: kafka@host.
        result["sasl_kerberos_service_name"] = service if name is None else str(name).split("@")[0]
    else:
        for name in ("username", "password"):
            value = config[f"sasl_plain_{name}"]
            if value is None:
                raise KafkaConfigurationError(f"sasl_plain_{name} is required for {mechanism}")
            result[f"sasl_{name}"] = value
    return result


def _token(provider: Any) -> Callable[[], tuple[Any, ...]]:
    if not isinstance(provider, AbstractTokenProvider):
        raise KafkaConfigurationError(
            "sasl_oauth_token_provider: expected an AbstractTokenProvider for OAUTHBEARER, or a "
            "name as in sasl.oauthbearer.token.provider, such as aws-msk-iam"
        )

    def token() -> tuple[Any, ...]:
        extensions = provider.extensions()
        # kafka-python does not know when a token expires.
        return (
            (provider.token(), None, dict(extensions)) if extensions else (provider.token(), None)
        )

    return token
