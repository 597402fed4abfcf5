"""Secured listeners: the set-ups of tests/security/test_doctor.py."""

from __future__ import annotations

from tests.doctor.causes.cause import Cause

_HERE = r"127\.0\.0\.1:9\d+"
_REJECTED = Cause(
    "the password is wrong",
    "SASL: the broker rejects the credentials",
    (_HERE, "rejected the credentials"),
    ("password",),
    ("packets are dropped", "closes them"),
)

SECURITY = {
    "security/certificate_expired": Cause(
        "the broker's certificate ended yesterday",
        "TLS: the certificate is expired",
        (_HERE, "expired", "CN=broker"),
        ("renew",),
        ("not trust",),
    ),
    "security/certificate_untrusted": Cause(
        "the client does not know the broker's authority",
        "TLS: the issuer is not trusted",
        (_HERE, "not trust", "CN=ottla tests"),
        ("truststore",),
        ("expired",),
    ),
    "security/certificate_wrong_host": Cause(
        "the broker's certificate has another host's name",
        "TLS: the name is not in the certificate",
        (_HERE, "elsewhere.ottla.test"),
        ("subject alternative",),
        ("expired", "not trust"),
    ),
    "security/client_certificate_missing": Cause(
        "the listener requires a client certificate, and the client has none",
        "TLS: no client certificate is configured",
        (_HERE, "client certificate", "none"),
        ("ssl.keystore",),
        ("expired",),
    ),
    "security/plaintext_to_tls": Cause(
        "a plaintext client at a TLS listener",
        "the port speaks TLS",
        (_HERE, "speaks TLS"),
        ("security.protocol",),
    ),
    "security/tls_to_plaintext": Cause(
        "a TLS client at a plaintext listener",
        "the port speaks plaintext",
        (_HERE, "speaks plaintext"),
        ("security.protocol",),
    ),
    "security/mechanism_not_offered": Cause(
        "the client's SASL mechanism is not enabled at the listener",
        "SASL: the listener offers OAUTHBEARER only",
        (_HERE, "mechanism", "OAUTHBEARER"),
        ("mechanism",),
        ("password",),
    ),
    "security/sasl_unknown": Cause(
        "a SASL client at a listener without SASL",
        "the listener does not use SASL",
        (_HERE, "not use SASL"),
        ("security.protocol",),
        ("password",),
    ),
    "security/sasl_wanted": Cause(
        "a client without SASL at a listener with SASL",
        "the listener requires SASL",
        (_HERE, "requires SASL", "SCRAM-SHA-256"),
        ("SASL_PLAINTEXT",),
    ),
    "security/sasl_wanted_over_tls": Cause(
        "a TLS client without SASL at a listener with SASL over TLS",
        "the listener requires SASL",
        (_HERE, "requires SASL", "OAUTHBEARER"),
        ("SASL_SSL",),
        ("SASL_PLAINTEXT",),
    ),
    "security/token_endpoint_down": Cause(
        "nothing listens at the token endpoint",
        "the client gets no token: the endpoint refuses connections",
        (_HERE, "TOKEN_URL", "refused"),
        ("token.endpoint.url",),
        ("rejected the credentials",),
    ),
    "security/token_endpoint_untrusted": Cause(
        "the client does not trust the token endpoint's certificate",
        "the client gets no token: the endpoint's certificate is not trusted",
        (_HERE, "TOKEN_URL", "not trusted", "CN=tokens"),
        ("certificate",),
        ("rejected the credentials",),
    ),
    "security/wrong_client_secret": Cause(
        "the client secret is wrong",
        "the client gets no token: the endpoint rejects its secret",
        (_HERE, "TOKEN_URL", "client secret"),
        ("secret",),
    ),
    "security/user_revoked": Cause(
        "the SCRAM user was deleted",
        "SASL: the broker rejects the credentials",
        (_HERE, "rejected the credentials"),
        ("user",),
        ("packets are dropped",),
    ),
    "security/wrong_password_plain": _REJECTED,
    "security/wrong_password_scram-sha-512": _REJECTED,
}
