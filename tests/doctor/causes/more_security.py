"""More of TLS and SASL, and their true causes."""

from __future__ import annotations

from tests.doctor.causes.cause import Cause

_SERVER = "127.0.0.1:8080"

MORE_SECURITY = {
    "tls/not_yet_valid": Cause(
        "the certificate is valid from tomorrow on",
        "TLS: the certificate is not valid yet, or this machine's clock is wrong",
        (_SERVER, "not valid yet|not yet valid"),
        ("clock",),
        ("expired", "not trust"),
    ),
    "tls/self_signed": Cause(
        "the broker's certificate is signed by itself, and the client trusts another authority",
        "TLS: the issuer, the broker itself, is not trusted",
        (_SERVER, "not trust|self-signed"),
        ("truststore",),
        ("expired", "other host names"),
    ),
    "tls/incomplete_chain": Cause(
        "the broker sends its certificate without the intermediate one; the client trusts the root",
        "TLS: the intermediate certificate is missing",
        (_SERVER, "not trust|intermediate|chain"),
        ("intermediate",),
        ("expired", "other host names"),
    ),
    "tls/old_version": Cause(
        "the server speaks TLS 1.1 at most",
        "TLS: no version in common",
        (_SERVER, "version"),
        (r"TLSv1\.2|ssl.enabled.protocols",),
        ("expired", "speaks plaintext", "packets are dropped"),
    ),
    "tls/no_common_cipher": Cause(
        "the server has one cipher suite, CBC with static RSA keys",
        "TLS: no cipher suite in common",
        (_SERVER, "cipher"),
        ("ssl.cipher.suites|suite",),
        ("expired", "speaks plaintext"),
    ),
    "tls/client_of_another_authority": Cause(
        "the client's certificate was issued by an authority that the server does not know",
        "TLS: the server rejects the client's certificate",
        (_SERVER, "rejected this client's certificate|client('s)? certificate"),
        ("truststore",),
        ("none is configured", "speaks plaintext"),
    ),
    "tls/name_instead_of_address": Cause(
        "the client connects by address, and the certificate has the host's name only",
        "TLS: the address is not in the certificate",
        (_SERVER, "other host names|not .*name", "kafka.ottla.test"),
        ("connect by a name",),
        ("expired", "not trust"),
    ),
    "sasl/token_expired": Cause(
        "the client's own token ended an hour ago",
        "SASL: the token is expired, or the broker rejects it as such",
        (r"127\.0\.0\.1:9\d+", "token"),
        ("token",),
        ("password is wrong", "packets are dropped", "speaks TLS"),
    ),
}
