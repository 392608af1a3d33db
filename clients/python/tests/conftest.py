"""Builds `reversid`, and runs one for each store."""

import json
import random
import subprocess
from pathlib import Path

import pytest

from generate import REPOSITORY
from reversi_client import connect
from server import Server

# As the Rust tests build it, so that nothing is built a second time with other features.
BUILD = "cargo test --workspace --locked --no-run --test architecture --message-format=json"


@pytest.fixture(scope="session")
def reversid() -> Path:
    """The server's binary."""
    built = subprocess.run(BUILD.split(), cwd=REPOSITORY, stdout=subprocess.PIPE, check=True)
    artifacts = map(json.loads, built.stdout.splitlines())
    executables = (
        Path(artifact["executable"]) for artifact in artifacts if artifact.get("executable")
    )
    return next(path for path in executables if path.name == "reversid")


@pytest.fixture(scope="session", params=["memory", "file"])
def server(request, reversid, tmp_path_factory):
    """A running server: every test that asks for it runs once on each store."""
    path = tmp_path_factory.mktemp("store") / "games.redb"
    with Server(reversid, "memory:" if request.param == "memory" else f"file:{path}") as running:
        yield running


@pytest.fixture
def stub(server):
    """A connection to `server`."""
    with connect(server.address) as stub:
        yield stub


@pytest.fixture
def rng() -> random.Random:
    """Random numbers that are the same in every run."""
    return random.Random(2026)


@pytest.fixture(scope="session")
def vectors() -> Path:
    """The folder of the project's vectors."""
    return REPOSITORY / "crates" / "rules" / "tests" / "data"
