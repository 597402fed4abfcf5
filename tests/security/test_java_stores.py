"""Java stores: PKCS#12 is read, and the command in the error message converts JKS to it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import ottla
from ottla import errors

# Needs no broker, but a JDK, which the tier of cluster tests has.
pytestmark = pytest.mark.cluster

PASSWORD = "changeit"
FORMATS = ["JKS", "PKCS12"]


def keytool(*arguments: str) -> None:
    done = subprocess.run(
        ["keytool", *arguments, "-storepass", PASSWORD],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def prepared(store: Path, kind: str) -> dict[str, str]:
    """Return the configuration for a store, after the command of its error has converted a JKS."""
    config = {
        "security.protocol": "SSL",
        f"ssl.{kind}.location": str(store),
        f"ssl.{kind}.password": PASSWORD,
        # Users often configure JKS, whatever the store's type.
        f"ssl.{kind}.type": "JKS",
    }
    if store.read_bytes()[0] == 0x30:
        return config
    with pytest.raises(errors.ConfigError, match="only PKCS#12 and PEM are supported") as raised:
        ottla.Client("127.0.0.1:9", config, connect=False)
    assert PASSWORD not in str(raised.value)
    found = re.search(r"`(.+?)`", str(raised.value))
    assert found is not None
    done = subprocess.run(
        ["sh", "-c", found[1]],
        cwd=store.parent,
        # The new password twice, and the old one.
        input=f"{PASSWORD}\n" * 3,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {**config, f"ssl.{kind}.location": str(store.parent / f"{kind}.p12")}


def connectable(config: dict[str, str]) -> None:
    ottla.Client("127.0.0.1:9", config, connect=False).close()


@pytest.mark.parametrize("store_type", FORMATS)
def test_a_trust_store_of_java(tmp_path: Path, store_type: str) -> None:
    keys, store = str(tmp_path / "keys"), tmp_path / "the truststore.jks"
    for name in ("first", "second"):
        keytool(
            "-genkeypair",
            "-alias",
            name,
            "-keyalg",
            "EC",
            "-dname",
            f"CN={name}",
            "-keystore",
            keys,
        )
        pem = str(tmp_path / f"{name}.crt")
        keytool("-exportcert", "-rfc", "-alias", name, "-keystore", keys, "-file", pem)
        into = ("-storetype", store_type, "-keystore", str(store))
        keytool("-importcert", "-noprompt", "-alias", name, "-file", pem, *into)

    connectable(prepared(store, "truststore"))


@pytest.mark.parametrize("store_type", FORMATS)
def test_a_key_store_of_java(tmp_path: Path, store_type: str) -> None:
    store = tmp_path / "keystore.jks"
    into = ("-storetype", store_type, "-keystore", str(store))
    keytool("-genkeypair", "-alias", "me", "-keyalg", "RSA", "-dname", "CN=me", *into)
    connectable(prepared(store, "keystore"))
