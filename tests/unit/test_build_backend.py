"""No wheel is built without the console's chart library."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.jars import REPOSITORY

BACKEND = REPOSITORY / "tools/build_backend/ottla_build_backend.py"
VENDOR = "python/ottla/console/static/vendor"


def _hook(tree: Path, hook: str) -> subprocess.CompletedProcess[str]:
    """Call a hook of the backend in a tree, as build frontends do: in a process of its own."""
    target = tree / "tools/build_backend"
    target.mkdir(parents=True, exist_ok=True)
    for module in BACKEND.parent.glob("*.py"):
        (target / module.name).write_bytes(module.read_bytes())
    # Only the check runs: maturin would need the whole tree.
    stub = "import sys, types; sys.modules['maturin'] = types.SimpleNamespace(**dict.fromkeys("
    stub += "['build_editable', 'get_requires_for_build_editable',"
    stub += " 'prepare_metadata_for_build_editable', 'prepare_metadata_for_build_wheel',"
    stub += " 'get_requires_for_build_wheel', 'get_requires_for_build_sdist', 'build_wheel',"
    stub += " 'build_sdist'], lambda *a, **k: 'built'))"
    # tests/unit/test_wheel_sbom.py has what happens to the wheel that it returns.
    stub += "; import wheel_sbom; wheel_sbom.finish = lambda wheel: print(f'{wheel} is finished')"
    code = f"{stub}; import ottla_build_backend as b; print(b.{hook}('dist'))"
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=target,
        env={"PYTHONPATH": str(target)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_a_tree_without_the_chart_library_builds_no_wheel(tmp_path: Path) -> None:
    hooks = ["get_requires_for_build_wheel", "prepare_metadata_for_build_wheel"]
    for hook in [*hooks, "build_wheel", "build_sdist"]:
        done = _hook(tmp_path, hook)
        assert done.returncode == 1, hook
        assert "uPlot.esm.js" in done.stderr
        assert "tools/console_assets.sh" in done.stderr
        assert "Traceback" not in done.stderr
        assert "built" not in done.stdout


def test_a_tree_with_the_chart_library_builds(tmp_path: Path) -> None:
    vendor = tmp_path / VENDOR
    vendor.mkdir(parents=True)
    for name in ["uPlot.esm.js", "uPlot.min.css", "uPlot.LICENSE"]:
        (vendor / name).write_text("x")
    done = _hook(tmp_path, "build_wheel")
    assert done.stdout.splitlines() == ["dist/built is finished", "built"], done.stderr


def test_the_project_uses_the_backend() -> None:
    text = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    assert 'build-backend = "ottla_build_backend"' in text
    assert 'backend-path = ["tools/build_backend"]' in text
    # A source distribution needs it to build its wheel.
    assert "tools/build_backend/*.py" in text
