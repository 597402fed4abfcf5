"""The list of what a wheel contains (its SBOM, PEP 770), in the form that ottla publishes.

    python tools/build_backend/wheel_sbom.py WHEEL...

maturin writes the crates that are linked into the extension as CycloneDX to `.dist-info/sboms`.
This removes what differs from one build to the next (paths of the machine, time, a random number),
adds the chart library of the console's page, checks the result, and packs the wheel again.

Invariant: two wheels of the same files are the same bytes, wherever and whenever they were built.
Only Python's own library is used, since the build backend calls this.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import sys
import time
import uuid
import zipfile
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[2]
_LOCK = Path("tools/console_assets/package-lock.json")
_CHARTS = "ottla/console/static/vendor/uPlot.esm.js"
_SBOM = re.compile(r"[^/]+\.dist-info/sboms/[^/]+\.json")
_PATH = re.compile(r"path\+file://[^#\"]*?/(rust/[^#\"]*)#")
_SPACE = uuid.UUID("9a1bd6f5-21c5-5c2b-8a55-6a0e3f0f6d1c")


def finish(wheel: Path, root: Path = _ROOT) -> None:
    """Write the wheel's SBOM in its published form, and pack the wheel again.

    Args:
        wheel: the wheel, as maturin built it; it is replaced.
        root: the source tree, from which the version of the chart library is read.

    Raises:
        SystemExit: the wheel has no SBOM, or one that is not right; the wheel is left as it was.
    """
    files, infos = _read(wheel)
    names = [name for name in files if _SBOM.fullmatch(name)]
    if len(names) != 1:
        raise SystemExit(f"{wheel.name}: one SBOM was expected in .dist-info/sboms, found {names}")
    document = _published(json.loads(files[names[0]]))
    if _CHARTS in files:
        document["components"].append(_charts(root))
    document["serialNumber"] = _serial_number(document)
    files[names[0]] = json.dumps(document, indent=1, sort_keys=True).encode() + b"\n"
    record = next(name for name in files if name.endswith(".dist-info/RECORD"))
    files[record] = _record(files[record].decode(), names[0], files[names[0]])
    if faults := _faults(wheel.name, files, names[0]):
        raise SystemExit("\n".join(f"{wheel.name}: {fault}" for fault in faults))
    _write(wheel, files, infos)


def check(wheel: Path) -> list[str]:
    """Return what is wrong with a wheel's SBOM, a sentence each; empty if nothing is."""
    files, _ = _read(wheel)
    names = [name for name in files if _SBOM.fullmatch(name)]
    if len(names) != 1:
        return [f"one SBOM was expected in .dist-info/sboms, found {names}"]
    return _faults(wheel.name, files, names[0])


def _read(wheel: Path) -> tuple[dict[str, bytes], dict[str, zipfile.ZipInfo]]:
    with zipfile.ZipFile(wheel) as archive:
        infos = {info.filename: info for info in archive.infolist()}
        return {name: archive.read(name) for name in infos}, infos


def _write(wheel: Path, files: dict[str, bytes], infos: dict[str, zipfile.ZipInfo]) -> None:
    """Pack the files in the order of their names, with the metadata last, as the format advises."""
    new = wheel.with_name(wheel.name + ".new")
    with zipfile.ZipFile(new, "w") as archive:
        for name in sorted(files, key=lambda name: (".dist-info/" in name, name)):
            info = zipfile.ZipInfo(name, _date())
            # The extension of another build may be readable for others or not: the mode is ours.
            info.external_attr = (0o755 if infos[name].external_attr >> 16 & 0o100 else 0o644) << 16
            info.create_system = 3
            archive.writestr(info, files[name], zipfile.ZIP_DEFLATED, 9)
    new.replace(wheel)


def _date() -> tuple[int, int, int, int, int, int]:
    # The format counts from 1980.
    seconds = max(int(os.environ.get("SOURCE_DATE_EPOCH", 0)), 315_532_800)
    return time.gmtime(seconds)[:6]


def _published(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document without paths, time and random number."""
    text = _PATH.sub(r"path+file:\1#", json.dumps(document))
    text = re.sub(r"\?download_url=file://[^#\"]*", "", text)
    found: dict[str, Any] = json.loads(text)
    found.pop("serialNumber", None)
    found["metadata"].pop("timestamp", None)
    if "SOURCE_DATE_EPOCH" in os.environ:
        moment = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))
        found["metadata"]["timestamp"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", moment)
    return found


def _charts(root: Path) -> dict[str, Any]:
    package = json.loads((root / _LOCK).read_text("utf-8"))["packages"]["node_modules/uplot"]
    purl = f"pkg:npm/uplot@{package['version']}"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": "uplot",
        "version": package["version"],
        "description": "The charts of the console's page.",
        "scope": "required",
        "licenses": [{"expression": package["license"]}],
        "purl": purl,
    }


def _serial_number(document: dict[str, Any]) -> str:
    """Return a number that two documents share only if they are equal."""
    return f"urn:uuid:{uuid.uuid5(_SPACE, json.dumps(document, sort_keys=True))}"


def _record(text: str, name: str, contents: bytes) -> bytes:
    """Return RECORD with the hash of the new SBOM, in the order of the names."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(contents).digest()).rstrip(b"=").decode()
    lines = [line for line in text.splitlines() if not line.startswith(f"{name},")]
    lines.append(f"{name},sha256={digest},{len(contents)}")
    return "".join(f"{line}\n" for line in sorted(lines)).encode()


def _faults(wheel: str, files: dict[str, bytes], name: str) -> list[str]:
    document = json.loads(files[name])
    root = document["metadata"]["component"]
    components = document["components"]
    purls = [component.get("purl", "") for component in components]
    faults = []
    if document["bomFormat"] != "CycloneDX":
        faults.append(f"{name} is {document['bomFormat']}, not CycloneDX")
    if root["version"] != wheel.split("-")[1]:
        faults.append(f"{name} is of version {root['version']}")
    # Python's classes, the engine, the runtime, TLS, and a library in C.
    for needed in ("ottla-client", "ottla-protocol", "tokio", "rustls", "zstd-sys"):
        if not any(purl.startswith(f"pkg:cargo/{needed}@") for purl in purls):
            faults += [f"{name} lacks {needed}"]
    if _CHARTS in files and not any(purl.startswith("pkg:npm/uplot@") for purl in purls):
        faults.append(f"{name} lacks the chart library")
    bare = [component["name"] for component in components if not component.get("licenses")]
    if bare:
        faults.append(f"{name} has no licence of {', '.join(bare)}")
    if b"file:///" in files[name]:
        faults.append(f"{name} has a path of the machine that built it")
    return faults


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        finish(Path(argument))
        print(f"{argument}: SBOM checked")
