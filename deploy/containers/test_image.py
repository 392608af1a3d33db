"""The image is small, holds what it should and nothing else; its dependencies are built once."""

import json
from pathlib import Path

import pytest

from container import running
from engine import CLIENT, EngineError

MIB = 1 << 20
SIZE_MAX = 25 * MIB


@pytest.fixture(scope="module")
def inspected(engine, image) -> dict:
    """All that the engine knows of the image."""
    return json.loads(engine.docker("image", "inspect", image))[0]


def test_it_is_small(inspected):
    """Little to pull: the programs and the authorities that TLS trusts."""
    print(f"{inspected['Size'] / MIB:.1f} MiB")
    assert inspected["Size"] < SIZE_MAX


def test_it_says_what_it_is(engine, image, inspected, build_flags):
    """Labels, `--version` and the sources agree."""
    config = inspected["Config"]
    labels = {key.rpartition(".")[2]: value for key, value in config["Labels"].items()}
    built = dict(flag.split("=", 1) for flag in build_flags[1::2])
    assert labels["title"] == "reversid"
    assert labels["licenses"] == "MIT OR Apache-2.0"
    assert (labels["revision"], labels["created"]) == (built["COMMIT"], built["CREATED"])
    said = engine.docker("run", "--rm", "--network=none", image, "--version").splitlines()
    assert said[:2] == [f"reversid {labels['version']}", f"commit: {built['COMMIT']}"]
    assert config["User"] == "65532:65532"
    assert config["StopSignal"] == "SIGTERM"
    assert set(config["Volumes"]) == {"/data"}
    assert set(config["ExposedPorts"]) == {"7420/tcp", "7421/tcp"}


def test_nothing_else_is_in_it(engine, image):
    """No shell to get into, and nothing that runs with another's rights."""
    made = engine.docker("create", image).strip()
    try:
        listing = engine.run("sh", "-c", f"{CLIENT} export {made} | tar -t")
    finally:
        engine.docker("rm", "--volumes", made)
    names = [name for name in listing.split() if not name.endswith("/")]
    of_the_engine = (".dockerenv", "dev/", "etc/host", "etc/mtab", "etc/resolv", "proc/", "sys/")
    assert {name for name in names if not name.startswith(of_the_engine)} == {
        "reversid",
        "reversictl",
        "etc/ssl/certs/ca-certificates.crt",
    }
    no_shell = pytest.raises(EngineError, match="no such file|not found")
    with running(engine, image) as container, no_shell:
        container.execute("sh", "-c", "true")


def test_it_runs_without_any_right(engine, image):
    """As a user of no name, without capabilities and without a way to any."""
    with running(engine, image) as container:
        text = Path(f"/proc/{container.state['Pid']}/status").read_text()
    status = dict(line.split(":\t", 1) for line in text.splitlines())
    assert status["Uid"].split() == status["Gid"].split() == ["65532"] * 4
    assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0
    assert status["NoNewPrivs"] == "1"


def test_a_change_of_ours_builds_no_dependency_anew(engine, image, context, build_flags):
    """The layer of dependencies is kept when a source changes."""
    source = context / "src" / "lib.rs"
    text = source.read_text()
    source.write_text(text + "// Changed.\n")
    try:
        log = engine.build(context, *build_flags, "--target=dependencies")
    finally:
        source.write_text(text)
    steps = log.split("\n\n")
    compiled = [step for step in steps if "[dependencies " in step and "cargo build" in step]
    assert len(compiled) == 1, log
    assert "CACHED" in compiled[0], log
