"""A running container of the image, locked down as docs/container.md recommends."""

import json
import uuid
from contextlib import contextmanager

from engine import Engine, wait_until

LOCKED_DOWN = [
    "--read-only",
    "--cap-drop=ALL",
    "--security-opt=no-new-privileges",
    "--memory=256m",
]
# More than the drain takes.
STOP_SECONDS = 30


class Container:
    """A container that was started."""

    def __init__(self, engine: Engine, name: str):
        self._engine, self.name = engine, name
        self.address = engine.docker("port", name, "7420/tcp").split()[0]

    @property
    def state(self) -> dict:
        """What the engine knows of it."""
        return json.loads(self._engine.docker("inspect", "--format={{json .State}}", self.name))

    def wait_until_healthy(self) -> None:
        """Waits for its own health check."""
        wait_until(lambda: self.state["Health"]["Status"] == "healthy", "it is healthy")

    def execute(self, *command: str) -> str:
        """Runs a program in it."""
        return self._engine.docker("exec", self.name, *command)

    def stop(self) -> None:
        """Stops it as an update would."""
        self._engine.docker("stop", "-t", str(STOP_SECONDS), self.name)

    @property
    def log(self) -> str:
        """All that it logged."""
        return self._engine.docker("logs", self.name)


@contextmanager
def running(engine: Engine, image: str, *flags: str):
    """Starts a container and removes it in the end."""
    name = f"reversid-{uuid.uuid4().hex[:8]}"
    often = "--health-interval=1s"
    publish = "--publish=127.0.0.1::7420"
    try:
        engine.docker(
            "run", "--detach", "--name", name, *LOCKED_DOWN, often, publish, *flags, image
        )
        yield Container(engine, name)
    finally:
        engine.docker("rm", "--force", "--volumes", name)


@contextmanager
def volume(engine: Engine):
    """A volume, removed in the end."""
    name = engine.docker("volume", "create").strip()
    try:
        yield name
    finally:
        engine.docker("volume", "rm", "--force", name)
