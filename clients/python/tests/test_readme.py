"""The README's example is a program that works."""

import os
import re
import subprocess
import sys

from generate import GENERATED, HERE
from server import Server


def test_the_example_plays_a_game(reversid):
    """As it stands there, but for the address."""
    [example] = re.findall(r"```python\n(.*?)```", (HERE / "README.md").read_text(), re.DOTALL)
    assert "127.0.0.1:7420" in example
    with Server(reversid, "memory:") as server:
        played = subprocess.run(
            [sys.executable, "-c", example.replace("127.0.0.1:7420", server.address)],
            env={**os.environ, "PYTHONPATH": f"{HERE}:{GENERATED}"},
            stdout=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert played.returncode == 0
    assert "Black" in played.stdout
