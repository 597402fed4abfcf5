"""Test certificates as PEM: an authority and the certificates that it signs, valid or not."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Identity:
    """A certificate and its private key."""

    certificate: str
    private_key: ec.EllipticCurvePrivateKey

    def key(self, password: str | None = None) -> str:
        """Return the key as PKCS#8, encrypted if there is a password."""
        encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
        if password is not None:
            encryption = serialization.BestAvailableEncryption(password.encode())
        return self.private_key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
        ).decode()


class Authority:
    """A certificate authority."""

    def __init__(self, name: str, issuer: Authority | None = None) -> None:
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._public = self._key.public_key()
        now = datetime.now(timezone.utc)
        usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=True,
            crl_sign=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        self._certificate = (
            x509.CertificateBuilder()
            .subject_name(self._name)
            .issuer_name((issuer or self)._name)
            .public_key(self._public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - 30 * _DAY)
            .not_valid_after(now + 30 * _DAY)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._public), critical=False)
            # Python 3.13 accepts no certificate without one, unless it is of a root.
            .add_extension(_key_of((issuer or self)._public), critical=False)
            .sign((issuer or self)._key, hashes.SHA256())
        )

    @property
    def certificate(self) -> str:
        """The authority's certificate, for trust stores."""
        return _pem(self._certificate)

    def intermediate(self, name: str) -> Authority:
        """Return an authority whose certificate this one signs."""
        return Authority(name, self)

    def issue(
        self,
        name: str,
        hosts: Sequence[str] = (),
        ends: timedelta = 7 * _DAY,
        client: bool = False,
        begins: timedelta = -20 * _DAY,
        self_signed: bool = False,
    ) -> Identity:
        """Issue a certificate for a server with these names and addresses, or for a client."""
        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.now(timezone.utc)
        purpose = ExtendedKeyUsageOID.CLIENT_AUTH if client else ExtendedKeyUsageOID.SERVER_AUTH
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        signer = key if self_signed else self._key
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject if self_signed else self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + begins)
            .not_valid_after(now + ends)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
            .add_extension(_key_of(signer.public_key()), critical=False)
        )
        if hosts:
            names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        return Identity(_pem(builder.sign(signer, hashes.SHA256())), key)


def _key_of(issuer: ec.EllipticCurvePublicKey) -> x509.AuthorityKeyIdentifier:
    return x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer)


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
