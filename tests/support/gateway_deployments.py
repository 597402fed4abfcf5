"""The files of docs/guides/gateway, and the commands in them on ports that are free.

    deployment = Deployment("kubernetes.yaml", port=free_ports_in_a_row(4), status=free_ports(1)[0])

Invariant: of a command, nothing is replaced but ports, files and the advertised name.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped] # it has no types

from tests.support.jars import REPOSITORY

DIRECTORY = REPOSITORY / "docs" / "guides" / "gateway"
MANIFESTS = ("kubernetes.yaml", "kubernetes-sni.yaml")
UNIT = "ottla-gateway.service"
# The ports of the files: the status, bootstrap, and the brokers 0 to 2.
STATUS, FIRST, LAST = 19091, 19092, 19095
_PORT = re.compile(r"\b19\d\d\d\b")


@dataclass(frozen=True)
class Ports:
    """The ports of a test in the place of those in the files.

    Attributes:
        first: the bootstrap port; the brokers 0, 1 and 2 have the next ones.
        status: the port of the status.
    """

    first: int
    status: int

    def replaced(self, text: str) -> str:
        """Return a text with these ports."""

        def replacement(found: re.Match[str]) -> str:
            port = int(found[0])
            assert STATUS <= port <= LAST, f"{text}: {port} is a port of no other file"
            return str(self.status if port == STATUS else self.first + port - FIRST)

        return _PORT.sub(replacement, text)


class Manifest:
    """A file with the objects of Kubernetes for a gateway."""

    def __init__(self, name: str) -> None:
        """Read the file of this name."""
        text = (DIRECTORY / name).read_text(encoding="utf-8")
        self.objects: dict[str, Any] = {each["kind"]: each for each in yaml.safe_load_all(text)}

    @cached_property
    def pod(self) -> dict[str, Any]:
        """The template of the Deployment's pods."""
        template: dict[str, Any] = self.objects["Deployment"]["spec"]["template"]
        return template

    @cached_property
    def container(self) -> dict[str, Any]:
        """The only container of a pod."""
        [container] = self.pod["spec"]["containers"]
        found: dict[str, Any] = container
        return found

    @cached_property
    def ports(self) -> dict[str, int]:
        """The ports of the container by name."""
        return {each["name"]: each["containerPort"] for each in self.container["ports"]}

    def mounted(self, path: str) -> dict[str, Any]:
        """Return the volume that has a file of the container."""
        [mount] = [
            each
            for each in self.container["volumeMounts"]
            if str(Path(path).parent) == each["mountPath"]
        ]
        [volume] = [each for each in self.pod["spec"]["volumes"] if each["name"] == mount["name"]]
        found: dict[str, Any] = volume
        return found


def unit_of(name: str = UNIT) -> dict[str, list[str]]:
    """Return the keys of the unit's sections, each with its values."""
    values: dict[str, list[str]] = {}
    for line in (DIRECTORY / name).read_text(encoding="utf-8").splitlines():
        key, separator, value = line.partition("=")
        if separator and not line.startswith("#"):
            values.setdefault(key, []).append(value)
    return values


def arguments_of_the_unit() -> list[str]:
    """Return the words of the unit's command after the program."""
    [command] = unit_of()["ExecStart"]
    program, *arguments = shlex.split(command)
    assert Path(program).name == "ottla"
    return arguments
