"""Tools that the tests of deploy/ run; a test whose tool cannot be had is skipped by name."""

import importlib
import shutil
from pathlib import Path

import pytest

import generate
from binary import build
from files import REPOSITORY

generate.generate()
importlib.invalidate_caches()

TOOLS = REPOSITORY / ".tools"


def tool(name: str, *places: Path) -> str:
    """A program's path: from one of these places, or wherever the shell would find it."""
    for place in places:
        if (place / name).exists():
            return str(place / name)
    return shutil.which(name) or pytest.skip(f"{name} is not here")


@pytest.fixture(scope="session")
def promtool() -> str:
    """Checks rules."""
    return tool("promtool", TOOLS / "prometheus/usr/bin")


@pytest.fixture(scope="session")
def prometheus() -> str:
    """Evaluates rules."""
    return tool("prometheus", TOOLS / "prometheus/usr/bin")


@pytest.fixture(scope="session")
def compose() -> str:
    """Reads Compose files."""
    return tool("docker-compose", TOOLS / "venv/bin")


@pytest.fixture(scope="session")
def grafana_types() -> Path:
    """Where the types of Grafana are, and a compiler for them."""
    installed = (TOOLS / "grafana/node_modules/@grafana/schema").exists()
    return TOOLS / "grafana" if installed else pytest.skip("Grafana's types are not here")


@pytest.fixture(scope="session")
def reversid() -> Path:
    """The server's binary."""
    return build()
