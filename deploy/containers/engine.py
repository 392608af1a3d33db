"""A container engine of our own, and images for it on a machine that can pull none."""

import io
import os
import re
import subprocess
import tarfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
HOME = REPOSITORY / ".tools" / "containers"
START_SECONDS = 30
BUILD_SECONDS = 40 * 60
COMMAND_SECONDS = 120

# Debian's own client builds with BuildKit as it is; another one may want a plugin for that.
CLIENT = "/usr/bin/docker" if Path("/usr/bin/docker").exists() else "docker"


class EngineError(Exception):
    """The engine does not start, or refuses a command."""


def wait_until(condition, what: str, seconds: float = 30):
    """Asks until the answer is true, and returns it."""
    deadline = time.monotonic() + seconds
    while not (answer := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.1)
    return answer


class Engine:
    """A running engine. Leaving the `with` block stops it; what it built stays on disk."""

    def __init__(self):
        # Nothing of the user's: no other engine, no credentials, no plugins.
        kept = {key: value for key, value in os.environ.items() if not key.startswith("DOCKER_")}
        self.environment = kept | {"DOCKER_CONFIG": str(HOME / "client"), "DOCKER_BUILDKIT": "1"}
        settings = HOME / "engine.json"
        settings.write_text("{}")
        (HOME / "client").mkdir(exist_ok=True)
        with (HOME / "engine.log").open("w") as log:
            self._process = subprocess.Popen(
                ["dockerd", "--config-file", settings, "--data-root", HOME / "engine"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        try:
            wait_until(self._answers, "the engine answers", START_SECONDS)
        except (AssertionError, EngineError) as error:
            self.stop()
            raise EngineError(f"no engine can be started here: {error}") from error

    def _answers(self) -> bool:
        if self._process.poll() is not None:
            raise EngineError(f"it ended; see {HOME / 'engine.log'}")
        asked = subprocess.run([CLIENT, "version"], capture_output=True, env=self.environment)
        return asked.returncode == 0

    def docker(self, *arguments, seconds: float = COMMAND_SECONDS, **run) -> str:
        """Runs the client and returns what it prints."""
        return self.run(CLIENT, *arguments, seconds=seconds, **run)

    def run(self, *command, seconds: float = COMMAND_SECONDS, **run) -> str:
        """Runs a program that finds this engine. What fails is an `EngineError`, with its words."""
        ended = subprocess.run(
            [str(word) for word in command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self.environment,
            timeout=seconds,
            **run,
        )
        said = ended.stdout.decode(errors="replace")
        if ended.returncode != 0:
            raise EngineError(f"{command} ended with {ended.returncode}:\n{said}")
        return said

    def has(self, image: str) -> bool:
        """Whether there is such an image."""
        return bool(self.docker("image", "ls", "--quiet", image))

    def import_folder(self, folder: Path, image: str, *changes: str) -> None:
        """Makes an image of one layer."""
        tar = subprocess.Popen(["tar", "-C", folder, "-c", "."], stdout=subprocess.PIPE)
        with tar:
            self._import(image, changes, stdin=tar.stdout)

    def import_programs(
        self, image: str, programs: list[Path], user: str, owned: str, *changes: str
    ) -> None:
        """Makes an image of this machine's programs and their libraries.

        They run as `user`, who owns a folder, too.
        """
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            for name, uid in ("tmp", 0), (owned.strip("/"), 65534):
                folder = tarfile.TarInfo(name)
                folder.type, folder.mode, folder.uid, folder.gid = tarfile.DIRTYPE, 0o777, uid, uid
                tar.addfile(folder)
            users = f"root:x:0:0::/:/bin/sh\n{user}:x:65534:65534::/:/bin/sh\n".encode()
            passwd = tarfile.TarInfo("etc/passwd")
            passwd.size = len(users)
            tar.addfile(passwd, io.BytesIO(users))
            files = {f"/bin/{program.name}": program for program in programs}
            for program in programs:
                listed = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
                for library in re.findall(r"(/\S+) \(0x", listed):
                    files[library] = Path(library).resolve()
            for place, file in files.items():
                tar.add(file.resolve(), place)
        self._import(image, (f"USER {user}", f"WORKDIR {owned}", *changes), input=packed.getvalue())

    def _import(self, image: str, changes, **run) -> None:
        flags = [flag for change in changes for flag in ("--change", change)]
        self.docker("import", *flags, "-", image, **run)

    def build(self, folder: Path, *flags: str) -> str:
        """Builds the Dockerfile of a folder, without a network. Returns the log, and keeps it."""
        log = HOME / "build.log"
        with log.open("wb") as kept:
            ended = subprocess.run(
                [CLIENT, "build", "--network=none", "--progress=plain", *flags, folder],
                stdin=subprocess.DEVNULL,
                stdout=kept,
                stderr=subprocess.STDOUT,
                env=self.environment,
                timeout=BUILD_SECONDS,
            )
        said = log.read_text(errors="replace")
        if ended.returncode != 0:
            raise EngineError("the image does not build:\n" + "\n".join(said.splitlines()[-40:]))
        return said

    def stop(self) -> None:
        """Ends it, with all that it runs."""
        self._process.terminate()
        try:
            self._process.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_) -> None:
        self.stop()
