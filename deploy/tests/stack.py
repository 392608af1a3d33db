"""Redis, two replicas and Prometheus, as deploy/compose.yaml has them, on free ports."""

import json
import re
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

    def firing(self) -> set[str]:
        """The alerts that do; none can be evaluated with an error."""
        rules = [rule for group in self.get("rules")["groups"] for rule in group["rules"]]
        assert not [rule for rule in rules if rule["health"] == "err"]
        return {rule["name"] for rule in rules if rule["state"] == "firing"}


class Stack:
    """Everything at work, until the block ends."""

    def __init__(self, reversid: Path, prometheus: str, folder: Path, hurry: bool = False):
        """In a hurry, alerts look at seconds where they would at minutes, and wait for nothing."""
        if shutil.which("redis-server") is None:
            pytest.skip("redis-server is not here")
        self._reversid, self._prometheus = reversid, prometheus
        self._folder, self._hurry = folder, hurry
        self._redis_port, self._web_port = free_port(), free_port()
        self._redis, self._running = ExitStack(), ExitStack()
        self._targets = [f"127.0.0.1:{free_port()}" for _ in range(2)]
        self.replicas: list[Server] = []
        self.prometheus = Prometheus(self._web_port)

    def __enter__(self) -> "Stack":
        with ExitStack() as running:
            running.callback(self.stop_redis)
            self.start_redis()
            store = f"redis://127.0.0.1:{self._redis_port}"
            for target in self._targets:
                replica = Server(self._reversid, store, flags=("--admin-listen", target))
                self.replicas.append(running.enter_context(replica))
            watching = [
                self._prometheus,
                f"--config.file={self._configuration()}",
                f"--storage.tsdb.path={self._folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{self._web_port}",
            ]
            running.enter_context(process(*watching, log=self._folder / "prometheus.log"))
            wait_for(self.prometheus.answers, "Prometheus answers")
            self._running = running.pop_all()
        return self

    def __exit__(self, *_) -> None:
        self._running.close()

    def start_redis(self) -> None:
        """With nothing in it."""
        command = ["redis-server", "--port", str(self._redis_port), "--bind", "127.0.0.1"]
        command += ["--save", "", "--dir", str(self._folder)]
        self._redis.enter_context(process(*command, log=self._folder / "redis.log"))

    def stop_redis(self) -> None:
        """Whatever it had is gone."""
        self._redis.close()

    def _configuration(self) -> Path:
        """Our files, with other targets, and more often."""
        configuration = read_yaml(PROMETHEUS / "prometheus.yaml")
        configuration["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
        configuration["scrape_configs"][0]["static_configs"] = [{"targets": self._targets}]
        (self._folder / "rules").mkdir()
        for file in (PROMETHEUS / "rules").iterdir():
            rules = file.read_text()
            if self._hurry:
                rules = re.sub(r"\[\d+[mh]\]", "[10s]", re.sub(r"for: \w+", "for: 0s", rules))
            (self._folder / "rules" / file.name).write_text(rules)
        path = self._folder / "prometheus.yaml"
        path.write_text(yaml.safe_dump(configuration))
        return path
