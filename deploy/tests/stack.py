"""Redis, two replicas and Prometheus, as deploy/compose.yaml has them, on free ports."""

import json
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import yaml

from files import PROMETHEUS, read_yaml
from server import Server

LIMIT_SECONDS = 30


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextmanager
def process(*command, log: Path):
    """Runs a program until the block ends."""
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as it:
        try:
            yield it
        finally:
            it.terminate()


def wait_for(condition, what: str):
    """What `condition` answers, once that is something."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < deadline:
        if answer := condition():
            return answer
        time.sleep(0.1)
    raise AssertionError(f"{what}, not within {LIMIT_SECONDS} s")


class Prometheus:
    """Its HTTP API."""

    def __init__(self, port: int):
        self._url = f"http://127.0.0.1:{port}/api/v1/"

    def get(self, path: str, **parameters):
        """The data of an answer that is a success."""
        url = f"{self._url}{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url) as response:
            answer = json.load(response)
        assert answer["status"] == "success", answer
        return answer["data"]

    def answers(self) -> bool:
        """Whether it serves yet."""
        try:
            return bool(self.get("status/buildinfo"))
        except OSError:
            return False


@contextmanager
def stack(reversid: Path, prometheus: str, folder: Path):
    """Everything at work: the replicas' addresses, their metrics' addresses, and Prometheus."""
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not here")
    redis_port, web_port = free_port(), free_port()
    targets = [f"127.0.0.1:{free_port()}" for _ in range(2)]
    configuration = read_yaml(PROMETHEUS / "prometheus.yaml")
    configuration["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    configuration["rule_files"] = [str(PROMETHEUS / path) for path in configuration["rule_files"]]
    configuration["scrape_configs"][0]["static_configs"] = [{"targets": targets}]
    file = folder / "prometheus.yaml"
    file.write_text(yaml.safe_dump(configuration))

    redis = ["redis-server", "--port", str(redis_port), "--bind", "127.0.0.1", "--save", ""]
    watching = [
        prometheus,
        f"--config.file={file}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{web_port}",
    ]
    with ExitStack() as running:
        running.enter_context(process(*redis, "--dir", str(folder), log=folder / "redis.log"))
        store = f"redis://127.0.0.1:{redis_port}"
        replicas = [
            running.enter_context(Server(reversid, store, flags=("--admin-listen", target)))
            for target in targets
        ]
        running.enter_context(process(*watching, log=folder / "prometheus.log"))
        api = Prometheus(web_port)
        wait_for(api.answers, "Prometheus answers")
        yield [replica.address for replica in replicas], api
