"""deploy/compose.yaml, with programs of this machine in place of images that none can pull."""

import json
import shutil
from pathlib import Path

import pytest

from engine import REPOSITORY

DEPLOY = REPOSITORY / "deploy"
COMPOSE = REPOSITORY / ".tools" / "venv" / "bin" / "docker-compose"
A, B = "127.0.0.1:7420", "127.0.0.1:7430"
UP = ["up", "--detach", "--no-build", "--pull=never"]
COMMAND_SECONDS = 120


def program(name: str, *places: Path) -> Path:
    """A program of this machine."""
    found = next((place / name for place in places if (place / name).exists()), shutil.which(name))
    return Path(found or pytest.skip(f"{name} is not here"))


class Project:
    """The services of the file that can be had here, with the settings of an environment file."""

    def __init__(self, engine, environment: str | None = None):
        self._engine = engine
        compose = program("docker-compose", COMPOSE.parent)
        self._command = [compose, "--file", DEPLOY / "compose.yaml"]
        if environment:
            self._command += ["--env-file", DEPLOY / environment]

    def __call__(self, *arguments) -> str:
        return self._engine.run(*self._command, *arguments, seconds=COMMAND_SECONDS)

    @property
    def images(self) -> dict[str, str]:
        """The image of each service."""
        services = json.loads(self("config", "--format=json"))["services"]
        return {name: service["image"] for name, service in services.items()}
