"""make-cluster.sh makes one cluster of six nodes, and keeps it one when addresses change."""

import random
import shutil
import socket
import subprocess
from contextlib import ExitStack, suppress

import pytest

from files import DEPLOY
from stack import process, wait_for

SCRIPT = DEPLOY / "redis/make-cluster.sh"
NODES = 6


def ask(port: int, *command: str) -> str:
    asked = ["redis-cli", "-c", "-p", str(port), *command]
    return subprocess.run(asked, capture_output=True, text=True).stdout.strip()


def node_port() -> int:
    """A port that is free, as is the one that nodes speak at among themselves."""
    while True:
        port = random.randrange(20_000, 30_000)
        with suppress(OSError), socket.socket() as own, socket.socket() as bus:
            own.bind(("127.0.0.1", port))
            bus.bind(("127.0.0.1", port + 10_000))
            return port


def start(running: ExitStack, folders, ports) -> None:
    """A node for each folder, on the port of its place."""
    for folder, port in zip(folders, ports, strict=True):
        settings = "--bind 127.0.0.1 --appendonly yes --cluster-enabled yes --port"
        command = ["redis-server", "--save", "", *settings.split(), str(port), "--dir", str(folder)]
        running.enter_context(process(*command, log=folder / "log"))
    for port in ports:
        wait_for(lambda port=port: ask(port, "ping") == "PONG", "it answers")


def make_cluster(ports) -> None:
    addresses = [f"localhost:{port}" for port in ports]
    result = subprocess.run(["sh", SCRIPT, *addresses], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.endswith(f"make-cluster: {NODES} nodes are one cluster\n")


def test_the_nodes_are_one_cluster_also_when_their_addresses_have_changed(tmp_path):
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not here")
    folders = [tmp_path / str(number) for number in range(NODES)]
    for folder in folders:
        folder.mkdir()
    ports = [node_port() for _ in range(NODES)]
    with ExitStack() as running:
        start(running, folders, ports)
        make_cluster(ports)
        port = ports[0]
        known = ask(port, "cluster", "nodes")
        assert ask(port, "set", "key", "kept") == "OK"
        make_cluster(ports)
        assert len(ask(port, "cluster", "nodes").splitlines()) == len(known.splitlines()) == NODES

    # Each node comes back where another one was.
    ports = ports[1:] + ports[:1]
    with ExitStack() as running:
        start(running, folders, ports)
        make_cluster(ports)
        port = ports[0]
        assert ask(port, "get", "key") == "kept"
        assert "noaddr" not in ask(port, "cluster", "nodes")
