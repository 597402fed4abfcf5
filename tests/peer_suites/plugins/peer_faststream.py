"""A pytest plugin for FastStream's suites: its settings name the broker of this run."""

from __future__ import annotations

import importlib
import os

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Change the default of the suite's settings, before tests read them."""
    settings = importlib.import_module(os.environ["OTTLA_PEER_SETTINGS"]).Settings
    bootstrap = os.environ["OTTLA_PEER_BOOTSTRAP"]
    settings.__init__.__defaults__ = (bootstrap,)
    settings.url = bootstrap
