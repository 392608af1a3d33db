"""Builds `reversid`."""

import json
import subprocess
from pathlib import Path

from generate import REPOSITORY

# As the Rust tests build it, so that nothing is built a second time with other features.
BUILD = "cargo test --workspace --locked --no-run --test architecture --message-format=json"


def build() -> Path:
    """The server's binary."""
    built = subprocess.run(BUILD.split(), cwd=REPOSITORY, stdout=subprocess.PIPE, check=True)
    artifacts = map(json.loads, built.stdout.splitlines())
    executables = (
        Path(artifact["executable"]) for artifact in artifacts if artifact.get("executable")
    )
    return next(path for path in executables if path.name == "reversid")
