"""Builds `reversid`, and runs it on each store and behind each proxy."""

import random
import shutil
import socket
import subprocess
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from binary import build
from generate import REPOSITORY
from proxies import PROXIES, Certificate, behind
from reversi.v1.game_service_pb2_grpc import GameServiceStub
from reversi_client import open_channel
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


@pytest.fixture(scope="session")
def certificate(tmp_path_factory) -> Certificate:
    """What a proxy shows, made for this run."""
    return Certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="session", params=["memory", "file", "redis", *PROXIES])
def place(request, reversid, tmp_path_factory):
    """Where the service is, and how to trust it: a server on each store, two behind each proxy."""
    folder = tmp_path_factory.mktemp("place")
    if request.param in PROXIES:
        certificate = request.getfixturevalue("certificate")
        with (
            redis(folder) as url,
            Server(reversid, url) as one,
            Server(reversid, url) as other,
            behind(request.param, folder, certificate, [one.address, other.address]) as address,
        ):
            yield address, certificate.credentials
        return
    urls = {"memory": "memory:", "file": f"file:{folder}/games.redb"}
    store = redis(folder) if request.param == "redis" else nullcontext(urls[request.param])
    with store as url, Server(reversid, url) as server:
        yield server.address, None


@pytest.fixture
def channel(place):
    """A connection to the service: every test that asks for it runs at each place."""
    with open_channel(*place) as channel:
        yield channel


@pytest.fixture
def stub(channel):
    """The service."""
    return GameServiceStub(channel)


@pytest.fixture
def rng() -> random.Random:
    """Random numbers that are the same in every run."""
    return random.Random(2026)


@pytest.fixture(scope="session")
def vectors() -> Path:
    """The folder of the project's vectors."""
    return REPOSITORY / "crates" / "rules" / "tests" / "data"
