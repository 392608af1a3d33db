"""The Compose file is sound, opens nothing beyond loopback, and gives containers little."""

import subprocess

import pytest

from files import COMPOSE, DEPLOY, PROMETHEUS, read_yaml

SERVICES = COMPOSE["services"]


@pytest.mark.parametrize("environment", [[], ["--env-file", DEPLOY / "cluster.env"]])
def test_compose_takes_the_file(compose, environment):
    command = [compose, "-f", DEPLOY / "compose.yaml", *environment, "config", "--quiet"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")


def test_ports_are_on_loopback_alone():
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports), ports


def test_containers_get_no_more_than_they_need():
    for name, service in SERVICES.items():
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name


def test_images_are_pinned():
    for name, service in SERVICES.items():
        image, tag = service["image"].split(":")
        assert image == "reversid" or tag.count(".") == 2, f"{name}: {service['image']}"


def test_redis_keeps_what_it_acknowledged():
    for name in ("redis", *(f"node-{number}" for number in range(1, 7))):
        service = SERVICES[name]
        given = dict(zip(service["command"][1::2], service["command"][2::2], strict=True))
        assert given["--appendonly"] == "yes", name
        assert given["--appendfsync"] == "everysec", name
        assert given["--maxmemory-policy"] == "noeviction", name
        assert given["--maxmemory"].endswith("mb"), name
        assert service["volumes"] == [f"{name}-data:/data"]


def test_prometheus_scrapes_every_replica():
    replicas = {name for name, service in SERVICES.items() if service["image"] == "reversid:dev"}
    (job,) = read_yaml(PROMETHEUS / "prometheus.yaml")["scrape_configs"]
    (targets,) = job["static_configs"]
    ports = {SERVICES[name]["environment"]["REVERSID_ADMIN_LISTEN"] for name in replicas}
    (port,) = {address.rpartition(":")[2] for address in ports}
    assert set(targets["targets"]) == {f"{name}:{port}" for name in replicas}
    assert len(replicas) == 2


def test_the_collector_names_only_what_it_defines():
    collector = read_yaml(DEPLOY / "otel/collector.yaml")
    for kind, pipeline in collector["service"]["pipelines"].items():
        for part, names in pipeline.items():
            assert set(names) <= set(collector[part]), f"{kind}: {part}"
