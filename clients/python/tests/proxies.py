"""Runs nginx and Envoy as `deploy/` sets them up, changing addresses and paths alone.

Each is looked for in `.tools/`, where `./test` puts it, and then on the path.
"""

import os
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest

from generate import REPOSITORY

PROXIES = ["nginx", "envoy"]
START_SECONDS = 20
# How long a stream may be idle, as both are set up.
IDLE_SECONDS = 65


class Certificate:
    """A certificate for 127.0.0.1 that signs itself."""

    def __init__(self, folder: Path):
        if shutil.which("openssl") is None:
            pytest.skip("openssl is not installed")
        self.path, self.key = folder / "tls.crt", folder / "tls.key"
        make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
        who = ["-subj", "/CN=reversid", "-addext", "subjectAltName=IP:127.0.0.1"]
        where = ["-keyout", str(self.key), "-out", str(self.path)]
        subprocess.run([*make.split(), *who, *where], check=True, stderr=subprocess.DEVNULL)

    @property
    def credentials(self) -> grpc.ChannelCredentials:
        """Those of a client that trusts this certificate alone."""
        return grpc.ssl_channel_credentials(self.path.read_bytes())


@contextmanager
def behind(kind: str, folder: Path, certificate: Certificate, replicas, idle=IDLE_SECONDS):
    """A running proxy of this kind before `replicas`; its address. Streams may be idle so long."""
    port = free_port()
    prepare = {"nginx": _nginx, "envoy": _envoy}[kind]
    command = prepare(folder, certificate, replicas, port, idle)
    with (folder / f"{kind}.log").open("w+") as log:
        running = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            _wait_for(port, running, log.name)
            yield f"127.0.0.1:{port}"
        finally:
            running.terminate()
            running.wait(START_SECONDS)


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _wait_for(port: int, running: subprocess.Popen, log: str) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and running.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError("the proxy does not listen:\n" + Path(log).read_text())


def _program(name: str, *places: Path) -> str:
    found = next((str(place) for place in places if place.exists()), shutil.which(name))
    return found or pytest.skip(f"{name} is not installed")


def _settings(name: str, changes: dict[str, str]) -> str:
    """A file of `deploy/`, with what each key stands for once put in its place."""
    text = (REPOSITORY / "deploy" / name).read_text()
    for old, new in changes.items():
        assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {name}"
        text = text.replace(old, new)
    return text


def _nginx(folder: Path, certificate: Certificate, replicas, port: int, idle: float) -> list[str]:
    program = _program("nginx", REPOSITORY / ".tools/nginx/usr/sbin/nginx")
    own = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    paths = "".join(f"    {name}_temp_path {folder}/{name};\n" for name in own)
    before = "server reversid-0.example:7420 max_fails=1 fail_timeout=1s;"
    after = before.replace("reversid-0.example:7420", "{}")
    changes = {
        "http {\n": "http {\n    access_log off;\n" + paths,
        before: after.format(replicas[0]),
        before.replace("0.ex", "1.ex"): after.format(replicas[1]),
        "listen 443 ": f"listen 127.0.0.1:{port} ",
        "/etc/nginx/tls/tls.crt": str(certificate.path),
        "/etc/nginx/tls/tls.key": str(certificate.key),
        f"grpc_read_timeout {IDLE_SECONDS}s;": f"grpc_read_timeout {int(idle * 1000)}ms;",
    }
    settings = folder / "nginx.conf"
    settings.write_text(_settings("nginx/nginx.conf", changes))
    # As root its workers would be somebody who may not enter this folder.
    user = "user root; " if os.getuid() == 0 else ""
    own = f"{user}daemon off; pid {folder}/nginx.pid;"
    return [program, "-e", "stderr", "-p", str(folder), "-c", str(settings), "-g", own]


def _envoy(folder: Path, certificate: Certificate, replicas, port: int, idle: float) -> list[str]:
    program = _program("envoy", REPOSITORY / ".tools/venv/bin/envoy")
    endpoint = (
        "              - endpoint:\n"
        "                  address:\n"
        "                    socket_address: {{address: {}, port_value: {}}}\n"
    )
    changes = {
        "port_value: 9901": "port_value: 0",
        "address: 0.0.0.0, port_value: 443": f"address: 127.0.0.1, port_value: {port}",
        endpoint.format("reversid-headless.reversid.svc.cluster.local", 7420): "".join(
            endpoint.format(*replica.split(":")) for replica in replicas
        ),
        "/etc/envoy/tls/tls.crt": str(certificate.path),
        "/etc/envoy/tls/tls.key": str(certificate.key),
        f"stream_idle_timeout: {IDLE_SECONDS}s": f"stream_idle_timeout: {idle}s",
    }
    settings = folder / "envoy.yaml"
    settings.write_text(_settings("envoy/envoy.yaml", changes))
    return [program, "-c", str(settings), "--disable-hot-restart", "--concurrency", "1"]
