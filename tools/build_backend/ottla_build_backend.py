"""The PEP 517 build backend: maturin, after a check that the console's chart library is there.

`pip install .` and `python -m build` call it. Invariant: no wheel and no source distribution is
built without the library, since its console would show numbers without curves. An editable
installation serves a checkout, which may fetch the library later. A wheel's list of contents is in
the form that `wheel_sbom` defines.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import maturin
import wheel_sbom

_ROOT = Path(__file__).resolve().parents[2]
_VENDOR = Path("python/ottla/console/static/vendor")
_FILES = ("uPlot.esm.js", "uPlot.min.css", "uPlot.LICENSE")

build_editable = maturin.build_editable
get_requires_for_build_editable = maturin.get_requires_for_build_editable
prepare_metadata_for_build_editable = maturin.prepare_metadata_for_build_editable


def check_console_assets(root: Path = _ROOT) -> None:
    """End the build with the remedy if a file of the chart library is missing.

    Raises:
        SystemExit: a file is missing.
    """
    missing = [name for name in _FILES if not (root / _VENDOR / name).is_file()]
    if missing:
        raise SystemExit(
            f"ottla: {_VENDOR} lacks {', '.join(missing)}: the console would have no charts.\n"
            "In a checkout, run tools/console_assets.sh, which fetches them from npm by hash, and "
            "build again from that directory. Wheels and source distributions of releases have "
            "them."
        )


def get_requires_for_build_wheel(*arguments: Any, **keywords: Any) -> list[str]:
    """Check the assets before anything is compiled."""
    check_console_assets()
    required: list[str] = maturin.get_requires_for_build_wheel(*arguments, **keywords)
    return required


def prepare_metadata_for_build_wheel(*arguments: Any, **keywords: Any) -> str:
    """Check the assets first: without build isolation, frontends call this hook first."""
    check_console_assets()
    name: str = maturin.prepare_metadata_for_build_wheel(*arguments, **keywords)
    return name


def get_requires_for_build_sdist(*arguments: Any, **keywords: Any) -> list[str]:
    """Check the assets, which a source distribution contains."""
    check_console_assets()
    required: list[str] = maturin.get_requires_for_build_sdist(*arguments, **keywords)
    return required


def build_wheel(wheel_directory: str, *arguments: Any, **keywords: Any) -> str:
    """Build a wheel."""
    check_console_assets()
    name: str = maturin.build_wheel(wheel_directory, *arguments, **keywords)
    wheel_sbom.finish(Path(wheel_directory) / name)
    return name


def build_sdist(*arguments: Any, **keywords: Any) -> str:
    """Build a source distribution."""
    check_console_assets()
    name: str = maturin.build_sdist(*arguments, **keywords)
    return name
