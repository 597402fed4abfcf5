"""A Kerberos realm for tests: MIT's key distribution center on loopback, in a directory."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType

from tests.support.ports import free_ports

REALM = "OTTLA.TEST"
_SBIN = ["/usr/sbin", "/usr/local/sbin"]


def _program(name: str) -> str:
    found = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *_SBIN]))
    if found is None:
        raise RuntimeError(
            f"the Kerberos tests need {name}: run tools/kerberos.sh, or install krb5-kdc, "
            "krb5-admin-server and krb5-user; or deselect them with -m 'not kerberos'"
        )
    return found


class KeyDistributionCenter:
    """The realm, with its principals and keys."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        (self.port,) = free_ports(1)
        self.config = directory / "krb5.conf"
        self._profile = directory / "kdc.conf"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables of a process in the realm."""
        return {"KRB5_CONFIG": str(self.config), "KRB5_KDC_PROFILE": str(self._profile)}

    def _run(self, *command: str, text: str = "", cache: Path | None = None) -> str:
        environment = {**os.environ, **self.environment}
        if cache is not None:
            environment["KRB5CCNAME"] = str(cache)
        done = subprocess.run(
            [_program(command[0]), *command[1:]],
            input=text,
            capture_output=True,
            text=True,
            env=environment,
            timeout=120,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def start(self) -> None:
        """Create the realm and start its server."""
        # No DNS look-ups and no canonical names: this is loopback.
        self.config.write_text(f"""
[libdefaults]
    default_realm = {REALM}
    dns_lookup_kdc = false
    dns_lookup_realm = false
    dns_canonicalize_hostname = false
    rdns = false
    udp_preference_limit = 1
[realms]
    {REALM} = {{
        kdc = 127.0.0.1:{self.port}
    }}
[domain_realm]
    localhost = {REALM}
""")
        here = self.directory
        self._profile.write_text(f"""
[kdcdefaults]
    kdc_listen = ""
    kdc_tcp_listen = 127.0.0.1:{self.port}
[realms]
    {REALM} = {{
        database_name = {here}/principal
        key_stash_file = {here}/stash
        max_life = 1h
    }}
[logging]
    kdc = FILE:{here}/kdc.log
""")
        self._run("kdb5_util", "create", "-s", "-r", REALM, "-P", "master")
        self._process = subprocess.Popen(
            [_program("krb5kdc"), "-n", "-r", REALM],
            env={**os.environ, **self.environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
        )
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            assert self._process.poll() is None, (here / "kdc.log").read_text()
            time.sleep(0.05)
        raise RuntimeError("the key distribution center does not respond")

    def add(self, principal: str) -> Path:
        """Create a principal; return its keytab."""
        keytab = self.directory / f"{principal.replace('/', '-')}.keytab"
        for query in (f"addprinc -randkey {principal}", f"ktadd -k {keytab} {principal}"):
            self._run("kadmin.local", "-r", REALM, "-q", query)
        return keytab

    def kinit(self, principal: str, keytab: Path, life: str = "1h") -> Path:
        """Get a ticket for a principal; return its credential cache."""
        cache = self.directory / f"{principal.replace('/', '-')}.{life}.cache"
        self._run("kinit", "-l", life, "-k", "-t", str(keytab), principal, cache=cache)
        return cache

    def stop(self) -> None:
        """Stop the server."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> KeyDistributionCenter:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
