"""Starts an engine and builds the image, once for all tests; without an engine they are skipped."""

import importlib
import random
import re
import subprocess
from pathlib import Path

import pytest

import generate
from composed import Project, program
from engine import HOME, REPOSITORY, Engine, EngineError

generate.generate()
importlib.invalidate_caches()

IMAGE = "reversid:dev"


def git(*arguments: str) -> str:
    """What git says of the sources."""
    asked = ["git", "-C", REPOSITORY, *arguments]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="session")
def engine():
    """A running engine."""
    try:
        engine = Engine()
    except EngineError as error:
        pytest.skip(str(error))
    with engine:
        yield engine


@pytest.fixture(scope="session")
def build_flags() -> list[str]:
    """What docs/container.md has people build with."""
    commit, created = git("rev-parse", "HEAD"), git("show", "--no-patch", "--format=%cI", "HEAD")
    return ["--build-arg", f"COMMIT={commit}", "--build-arg", f"CREATED={created}"]


@pytest.fixture(scope="session")
def context() -> Path:
    """The folder that the image is built from."""
    return HOME / "context"


@pytest.fixture(scope="session")
def image(engine, context, build_flags) -> str:
    """The image, built of the sources as they are."""
    base = re.search(r"^FROM (\S+) AS base$", (context / "Dockerfile").read_text(), re.MULTILINE)[1]
    if not engine.has(base):
        home = "ENV CARGO_HOME=/usr/local/cargo"
        engine.import_folder(HOME / "rootfs", base, home)
    engine.build(context, *build_flags, "--tag", IMAGE)
    return IMAGE


@pytest.fixture(scope="session")
def redis_image(engine, image) -> None:
    """Of this machine's programs, under the name that the file has for it."""
    images = Project(engine).images
    assert images["reversid-a"] == images["reversid-b"] == image
    names = "redis-server redis-cli sh getent awk grep tr sleep"
    # Whoever is in the network may ask it, as in the image of that name.
    entry = """ENTRYPOINT ["sh", "-c", "exec \\"$0\\" \\"$@\\" --protected-mode no"]"""
    programs = [program(name) for name in names.split()]
    engine.import_programs(images["redis"], programs, "redis", "/data", entry)


@pytest.fixture
def rng() -> random.Random:
    """Random numbers that are the same in every run."""
    return random.Random(2026)
