"""The configuration of TLS that an ``ssl.SSLContext`` means.

The core does not use OpenSSL, so the settings are read from the context. Invariant: a context never
makes a connection less strict than OpenSSL would: what cannot be read or is weaker than the core
allows is refused.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

from ottla.compat.aiokafka.helpers import ClientContext

__all__ = ["tls_config"]


def tls_config(context: ssl.SSLContext) -> dict[str, Any]:
    """Return the keyword arguments for ottla's classes.

    Raises:
        ValueError: the context does not verify certificates.
    """
    if context.verify_mode != ssl.CERT_REQUIRED:
        raise ValueError(
            "ssl_context does not verify certificates (verify_mode): load the authority that signed"
            " the brokers' certificates, and leave verify_mode at CERT_REQUIRED"
        )
    config: dict[str, Any] = {
        "ssl_endpoint_identification_algorithm": "https" if context.check_hostname else ""
    }
    if authorities := _authorities(context):
        config["ssl_truststore_certificates"] = authorities
    if isinstance(context, ClientContext) and context.certificate_file is not None:
        config["ssl_certificate_location"] = context.certificate_file
        config["ssl_key_location"] = context.key_file or context.certificate_file
        if context.key_password is not None:
            config["ssl_key_password"] = context.key_password
    return config


def _authorities(context: ssl.SSLContext) -> str:
    """Return the authorities to trust as PEM text; empty for the system's own in a directory."""
    texts = [ssl.DER_cert_to_PEM_cert(der) for der in context.get_ca_certs(binary_form=True)]
    if isinstance(context, ClientContext) and context.authorities_directory is not None:
        # OpenSSL reads a directory only as it needs the certificates.
        for path in sorted(Path(context.authorities_directory).iterdir()):
            text = path.read_text(errors="ignore") if path.is_file() else ""
            if "BEGIN CERTIFICATE" in text:
                texts.append(text)
    return "\n".join(texts)
