"""The findings for failed TLS handshakes: each kind of failure has a fix of its own."""

from __future__ import annotations

from collections.abc import Mapping

# By reason: the problem, and the fix.
TLS_FAILURES: Mapping[str, tuple[str, str]] = {
    "certificate": (
        "presents a certificate that this client rejects",
        "issue a certificate that follows the X.509 rules for servers",
    ),
    "certificate_expired": (
        "presents an expired certificate",
        (
            "renew the broker's certificate and make the broker load it; if its end date is in the "
            "future, correct this machine's clock"
        ),
    ),
    "certificate_not_yet_valid": (
        "presents a certificate that is not valid yet",
        (
            "correct this machine's clock if it is wrong; otherwise wait, or issue the certificate "
            "with an earlier start date"
        ),
    ),
    "certificate_name": (
        "presents a certificate for other host names",
        (
            "connect by a name in the certificate, or issue one whose subject alternative names "
            "include this name; ssl.endpoint.identification.algorithm= (empty) disables the check, "
            "and with it the protection"
        ),
    ),
    "certificate_issuer": (
        "presents a certificate from an issuer that this client does not trust",
        (
            "add the certificate of the issuing authority (PEM) to ssl.truststore.location, with "
            "any intermediate certificates that the broker does not send"
        ),
    ),
    "certificate_purpose": (
        "presents a certificate that is not meant for servers",
        "issue a certificate for the broker itself, with the extended key usage serverAuth",
    ),
    "certificate_revoked": (
        "presents a revoked certificate",
        "issue a new certificate, and find out why this one was revoked",
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
        "rejected this client's certificate",
        (
            "check that an authority in the broker's ssl.truststore.location issued the "
            "certificate in ssl.keystore.location, that its dates are valid, and that it has the "
            "extended key usage clientAuth"
        ),
    ),
    "tls_version": (
        "supports no TLS version that this client accepts",
        (
            "enable TLSv1.2 or TLSv1.3 on the broker (ssl.enabled.protocols), or set this client's "
            "ssl.enabled.protocols to a version that both support"
        ),
    ),
    "tls_cipher": (
        "has no cipher suite in common with this client",
        (
            "enable an AEAD suite (AES-GCM, ChaCha20-Poly1305) on the broker (ssl.cipher.suites), "
            "and check that its key is RSA or ECDSA"
        ),
    ),
    "tls_server_name": (
        "does not know the requested host name",
        (
            "connect by the name for which the server, or the load balancer in front of it, is "
            "configured (SNI)"
        ),
    ),
}
