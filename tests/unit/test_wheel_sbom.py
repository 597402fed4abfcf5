"""A wheel lists what it contains, without a path or a time of the machine that built it."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.support.jars import REPOSITORY

INFO = "ottla-0.1.0.dist-info"
SBOM = f"{INFO}/sboms/ottla-python.cyclonedx.json"
CHARTS = "ottla/console/static/vendor/uPlot.esm.js"
LINKED = ("ottla-client", "ottla-protocol", "tokio", "rustls", "zstd-sys")


def _module() -> Any:
    # Not a package: the build backend finds it by its path.
    path = REPOSITORY / "tools" / "build_backend" / "wheel_sbom.py"
    spec = importlib.util.spec_from_file_location("wheel_sbom", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SBOMS = _module()


def document(directory: str, moment: str, number: str) -> dict[str, Any]:
    """Return an SBOM as maturin writes it."""

    def crate(name: str) -> dict[str, Any]:
        own = name.startswith("ottla")
        folder = name.removeprefix("ottla-")
        return {
            "type": "library",
            "bom-ref": f"path+file://{directory}/rust/{folder}#{name}@0.1.0" if own else name,
            "name": name,
            "version": "0.1.0",
            "licenses": [{"expression": "MIT"}],
            "purl": f"pkg:cargo/{name}@0.1.0" + f"?download_url=file://../{folder}" * own,
        }

    root = crate("ottla-python")
    root["components"] = [{"purl": "pkg:cargo/ottla-python@0.1.0?download_url=file://.#src/lib.rs"}]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{number}",
        "metadata": {"timestamp": moment, "component": root},
        "components": [crate(name) for name in LINKED],
        "dependencies": [{"ref": root["bom-ref"], "dependsOn": ["tokio"]}],
    }


def wheel(
    directory: Path, sbom: dict[str, Any] | None, *, reverse: bool = False, charts: bool = True
) -> Path:
    """Write a wheel with an SBOM, or without one."""
    files = {"ottla/__init__.py": "x = 1\n", "ottla/_core.abi3.so": "machine code"}
    if charts:
        files[CHARTS] = "charts"
    if sbom is not None:
        files[SBOM] = json.dumps(sbom)
    files[f"{INFO}/RECORD"] = (
        "".join(f"{name},sha256=x,1\n" for name in files) + f"{INFO}/RECORD,,\n"
    )
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "ottla-0.1.0-cp310-abi3-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name in sorted(files, reverse=reverse):
            archive.writestr(name, files[name])
    return path


FIRST = document("/home/a", "2026-01-01T00:00:00Z", "11111111-1111-4111-8111-111111111111")
SECOND = document("/srv/b/c", "2026-02-02T00:00:00Z", "22222222-2222-4222-8222-222222222222")


def test_a_wheel_is_the_same_bytes_wherever_it_was_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1764288000")
    wheels = [wheel(tmp_path / "1", FIRST), wheel(tmp_path / "2", SECOND, reverse=True)]
    assert wheels[0].read_bytes() != wheels[1].read_bytes()
    for each in wheels:
        SBOMS.finish(each)
    assert wheels[0].read_bytes() == wheels[1].read_bytes()
    # Once more changes nothing but the parts that came with the first time.
    assert SBOMS.check(wheels[0]) == []


def test_the_list_has_the_chart_library_and_the_time_of_the_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1764288000")
    path = wheel(tmp_path, FIRST)
    SBOMS.finish(path)
    with zipfile.ZipFile(path) as archive:
        contents = archive.read(SBOM)
        record = archive.read(f"{INFO}/RECORD").decode().splitlines()
        assert archive.namelist()[-1] == SBOM
        assert {info.date_time for info in archive.infolist()} == {(2025, 11, 28, 0, 0, 0)}
    found = json.loads(contents)
    package = json.loads((REPOSITORY / "tools/console_assets/package.json").read_text())
    version = package["dependencies"]["uplot"]
    assert found["components"][-1]["purl"] == f"pkg:npm/uplot@{version}"
    assert found["metadata"]["timestamp"] == "2025-11-28T00:00:00Z"
    assert found["dependencies"][0]["ref"] == "path+file:rust/python#ottla-python@0.1.0"
    assert b"/home/a" not in contents
    digest = base64.urlsafe_b64encode(hashlib.sha256(contents).digest()).decode().rstrip("=")
    assert f"{SBOM},sha256={digest},{len(contents)}" in record
    assert len([line for line in record if line.startswith(SBOM)]) == 1


def test_a_wheel_without_a_list_is_refused(tmp_path: Path) -> None:
    path = wheel(tmp_path, None)
    before = path.read_bytes()
    with pytest.raises(SystemExit, match="one SBOM was expected"):
        SBOMS.finish(path)
    assert path.read_bytes() == before
    assert SBOMS.check(path) == ["one SBOM was expected in .dist-info/sboms, found []"]


@pytest.mark.parametrize("missing", LINKED)
def test_a_list_that_lacks_what_is_linked_is_refused(tmp_path: Path, missing: str) -> None:
    sbom = {**FIRST, "components": [c for c in FIRST["components"] if c["name"] != missing]}
    with pytest.raises(SystemExit, match=f"lacks {missing}"):
        SBOMS.finish(wheel(tmp_path, sbom))


def test_a_list_as_maturin_writes_it_is_not_the_published_form(tmp_path: Path) -> None:
    faults = SBOMS.check(wheel(tmp_path, FIRST))
    assert [fault.removeprefix(f"{SBOM} ") for fault in faults] == [
        "lacks the chart library",
        "has a path of the machine that built it",
    ]


def test_a_wheel_without_the_console_lists_no_chart_library(tmp_path: Path) -> None:
    path = wheel(tmp_path, FIRST, charts=False)
    SBOMS.finish(path)
    with zipfile.ZipFile(path) as archive:
        assert "uplot" not in archive.read(SBOM).decode()


def test_the_program_names_the_wheels_that_it_has_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = wheel(tmp_path, FIRST)
    monkeypatch.setattr(sys, "argv", ["wheel_sbom.py", str(path)])
    exec(
        compile(Path(SBOMS.__file__).read_text(), SBOMS.__file__, "exec"),
        {"__name__": "__main__", "__file__": SBOMS.__file__},
    )
    assert capsys.readouterr().out == f"{path}: SBOM checked\n"


def test_every_wheel_that_is_published_is_checked() -> None:
    program = "python tools/build_backend/wheel_sbom.py dist/*.whl"
    assert program in (REPOSITORY / ".github/workflows/wheels.yml").read_text()
    assert "wheel_sbom.py" in (REPOSITORY / "tools/build_wheel.sh").read_text()
    backend = (REPOSITORY / "tools/build_backend/ottla_build_backend.py").read_text()
    assert "wheel_sbom.finish(" in backend
