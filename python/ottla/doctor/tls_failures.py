"""What to do about a TLS handshake that failed: each kind of failure has a fix of its own."""

from __future__ import annotations

from collections.abc import Mapping

# By reason: what it means, and what to do.
TLS_FAILURES: Mapping[str, tuple[str, str]] = {
    "certificate": (
        "presents a certificate that this client does not accept",
        "have a certificate issued that follows the X.509 rules for servers",
    ),
    "certificate_expired": (
        "presents a certificate that has expired",
        (
            "renew the broker's certificate and have the broker load it; if its date is in the "
            "future, set this machine's clock"
        ),
    ),
    "certificate_not_yet_valid": (
        "presents a certificate that is not valid yet",
        (
            "set this machine's clock, if it is wrong; else wait, or have the certificate issued "
            "with an earlier date"
        ),
    ),
    "certificate_name": (
        "presents a certificate for other names",
        (
            "connect by a name that the certificate has, or have one issued whose subject "
            "alternative names include this one; ssl.endpoint.identification.algorithm= (empty) "
            "turns the check off, and with it the protection"
        ),
    ),
    "certificate_issuer": (
        "presents a certificate whose issuer this client does not trust",
        (
            "put the certificate of the authority that issued it (PEM) into "
            "ssl.truststore.location, together with intermediate ones that the broker does not send"
        ),
    ),
    "certificate_purpose": (
        "presents a certificate that is not meant for servers",
        "have a certificate issued for the broker itself, with the extended key usage serverAuth",
    ),
    "certificate_revoked": (
        "presents a certificate that was revoked",
        "have a new certificate issued, and find out why this one was revoked",
    ),
    "client_certificate_missing": (
        "requires a client certificate, and none is configured",
        (
            "set ssl.keystore.location (PEM), or ssl.keystore.certificate.chain and "
            "ssl.keystore.key, to a certificate that the broker trusts; or use a listener with "
            "ssl.client.auth=none"
        ),
    ),
    "client_certificate_refused": (
        "refused this client's certificate",
        (
            "have the certificate in ssl.keystore.location issued by an authority in the broker's "
            "ssl.truststore.location, check its dates, and that it has the extended key usage "
            "clientAuth"
        ),
    ),
    "tls_version": (
        "speaks no version of TLS that this client accepts",
        (
            "enable TLSv1.2 or TLSv1.3 on the broker (ssl.enabled.protocols), or name the version "
            "there that both have"
        ),
    ),
    "tls_cipher": (
        "found no cipher suite in common with this client",
        (
            "enable an AEAD suite (AES-GCM, ChaCha20-Poly1305) on the broker (ssl.cipher.suites) "
            "and check that its key is one of RSA or ECDSA"
        ),
    ),
    "tls_server_name": (
        "does not know the host name that was asked for",
        (
            "connect by the name that the server or the balancer in front of it is configured for "
            "(SNI)"
        ),
    ),
}
