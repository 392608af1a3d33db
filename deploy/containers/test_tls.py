"""The image speaks TLS to a Redis, and trusts nobody by accident."""

import json
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from composed import program
from container import running
from engine import wait_until

PORT = 6390
REQUEST = """
[req]
distinguished_name = name
x509_extensions = redis
prompt = no
[name]
commonName = redis
[redis]
basicConstraints = critical, CA:FALSE
subjectAltName = IP:{address}
"""


@contextmanager
def redis(address: str, folder: Path):
    """A Redis that speaks TLS alone, by a certificate of its own, which is yielded."""
    request, key, certificate = (folder / name for name in ("request", "key.pem", "cert.pem"))
    request.write_text(REQUEST.format(address=address))
    make = [program("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    files = ["-config", request, "-keyout", key, "-out", certificate]
    subprocess.run([*make, *files], check=True, capture_output=True)
    command = [program("redis-server"), "--port", "0", "--tls-port", str(PORT), "--bind", address]
    secure = ["--tls-cert-file", certificate, "--tls-key-file", key, "--tls-auth-clients", "no"]
    rest = ["--protected-mode", "no", "--save", "", "--dir", folder]
    with subprocess.Popen([*command, *secure, *rest], stdout=subprocess.PIPE, text=True) as server:
        try:
            log = []
            assert any(
                "Ready to accept" in line for line in server.stdout if not log.append(line)
            ), log
            yield certificate
        finally:
            server.kill()


@pytest.fixture
def gateway(engine) -> str:
    """This side's address, as containers see it. A new engine does not tell it by itself."""
    name = '--format={{index .Options "com.docker.network.bridge.name"}}'
    bridge = engine.docker("network", "inspect", "bridge", name).strip()
    told = engine.run("ip", "-4", "-json", "address", "show", bridge)
    return json.loads(told)[0]["addr_info"][0]["local"]


def test_a_redis_is_trusted_by_its_authority_alone(engine, image, gateway, tmp_path):
    """With the file of `--redis-ca` it is ready; the authorities of the image do not know it."""
    store = f"--env=REVERSID_STORE=rediss://{gateway}:{PORT}"
    with redis(gateway, tmp_path) as certificate:
        authority = [f"--volume={certificate}:/redis.pem:ro", "--env=REVERSID_REDIS_CA=/redis.pem"]
        with running(engine, image, store, *authority) as container:
            container.wait_until_healthy()
        with running(engine, image, store) as container:
            wait_until(lambda: "not ready" in container.log, "it says that it is not ready")
            assert "UnknownIssuer" in container.log
