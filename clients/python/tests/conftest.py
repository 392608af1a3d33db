"""Builds `reversid`, and runs one for each store."""

import random
import shutil
import socket
import subprocess
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from binary import build
from generate import REPOSITORY
from reversi_client import connect
from server import Server


@pytest.fixture(scope="session")
def reversid() -> Path:
    """The server's binary."""
    return build()


@contextmanager
def redis(folder: Path):
    """A Redis of its own, and the URL of it."""
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = ["redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", str(folder)]
    with subprocess.Popen([*command, "--save", ""], stdout=subprocess.PIPE, text=True) as running:
        try:
            assert any("Ready to accept connections" in line for line in running.stdout)
            yield f"redis://127.0.0.1:{port}"
        finally:
            running.kill()


@pytest.fixture(scope="session", params=["memory", "file", "redis"])
def server(request, reversid, tmp_path_factory):
    """A running server: every test that asks for it runs once on each store."""
    folder = tmp_path_factory.mktemp("store")
    urls = {"memory": "memory:", "file": f"file:{folder}/games.redb"}
    store = redis(folder) if request.param == "redis" else nullcontext(urls[request.param])
    with store as url, Server(reversid, url) as running:
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
