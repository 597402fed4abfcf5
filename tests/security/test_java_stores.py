"""Java stores: the command in the error message converts each to a working PEM file."""

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


def command_for(store: Path, kind: str, store_type: str) -> str:
    """Return the command in the error message of a store."""
    config = {
        "security.protocol": "SSL",
        f"ssl.{kind}.location": str(store),
        f"ssl.{kind}.password": PASSWORD,
        f"ssl.{kind}.type": store_type,
    }
    with pytest.raises(errors.ConfigError, match="only PEM is supported") as raised:
        ottla.Client("127.0.0.1:9", config, connect=False)
    assert PASSWORD not in str(raised.value)
    found = re.search(r"`(.+?)`", str(raised.value))
    assert found is not None
    return found[1]


def run(command: str, directory: Path) -> None:
    """Run the printed command, and enter the password at each prompt."""
    # Separately: keytool reads all of its input, and leaves nothing for the next command.
    for part in command.split(" && "):
        # Without a terminal, openssl needs options to read passwords from standard input.
        command_line = part.replace("openssl pkcs12", "openssl pkcs12 -passin stdin -passout stdin")
        done = subprocess.run(
            ["sh", "-c", command_line],
            cwd=directory,
            input=f"{PASSWORD}\n" * 4,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def connectable(config: dict[str, str]) -> None:
    ottla.Client("127.0.0.1:9", {"security.protocol": "SSL", **config}, connect=False).close()


@pytest.mark.parametrize("store_type", FORMATS)
def test_a_trust_store_of_java_is_converted_as_the_error_says(
    tmp_path: Path, store_type: str
) -> None:
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

    # Users often configure JKS, whatever the store's type.
    run(command_for(store, "truststore", "JKS"), tmp_path)
    found = tmp_path / "ca.pem"
    assert found.read_text().count("BEGIN CERTIFICATE") == 2
    connectable({"ssl.truststore.location": str(found)})


@pytest.mark.parametrize("store_type", FORMATS)
def test_a_key_store_of_java_is_converted_as_the_error_says(
    tmp_path: Path, store_type: str
) -> None:
    store = tmp_path / "keystore.jks"
    into = ("-storetype", store_type, "-keystore", str(store))
    keytool("-genkeypair", "-alias", "me", "-keyalg", "RSA", "-dname", "CN=me", *into)
    run(command_for(store, "keystore", store_type), tmp_path)
    connectable(
        {
            "ssl.keystore.location": str(tmp_path / "keystore.pem"),
            "ssl.key.password": PASSWORD,
        }
    )
