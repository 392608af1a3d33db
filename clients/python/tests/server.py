"""Runs the real `reversid` as a process of its own, on a port that the system chooses."""

import os
import re
import subprocess
import threading
from pathlib import Path

LISTENING = re.compile(r"listening.*?(127\.0\.0\.1:\d+)")
START_SECONDS = 20
STOP_SECONDS = 25


class Server:
    """A server process. Leaving the `with` block stops it and demands that it exits with 0."""

    def __init__(self, binary: Path, store: str, listen: str = "127.0.0.1:0", flags: tuple = ()):
        self._output: list[str] = []
        self._listening = threading.Event()
        self.address = ""
        self._process = subprocess.Popen(
            [binary, "--listen", listen, "--store", store, *flags],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "NO_COLOR": "1"},
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._listening.wait(START_SECONDS)
        if not self.address:
            self.kill()
            raise AssertionError("the server does not listen:\n" + self.log)

    def _read(self) -> None:
        for line in self._process.stdout:
            self._output.append(line)
            if not self.address and (found := LISTENING.search(line)):
                self.address = found[1]
                self._listening.set()
        self._listening.set()

    @property
    def log(self) -> str:
        """All that it logged so far."""
        return "".join(self._output)

    def kill(self) -> None:
        """Ends it as a power cut would."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Ends it as a deployment would, and demands that it exits with 0."""
        if self._process.poll() is None:
            self._process.terminate()
        try:
            code = self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            code = "no exit in time"
        self._reader.join()
        assert code == 0, f"the server ended with {code}:\n" + "".join(self._output)

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_) -> None:
        self.stop()
