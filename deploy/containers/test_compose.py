"""deploy/compose.yaml as it is: replicas over Redis are one service, and Prometheus sees both."""

import json
import urllib.parse
import urllib.request

import pytest

from composed import UP, A, B, Project, program
from engine import REPOSITORY, wait_until
from reversi_client import connect
from watched import WatchedTable

PROMETHEUS = REPOSITORY / ".tools" / "prometheus" / "usr" / "bin"


@pytest.fixture(scope="module")
def project(engine, redis_image):
    """All that the file says of replicas, Redis and Prometheus, running."""
    project = Project(engine)
    images = project.images
    prometheus = [program(name, PROMETHEUS) for name in ("prometheus", "promtool")]
    entry = 'ENTRYPOINT ["/bin/prometheus"]'
    engine.import_programs(images["prometheus"], prometheus, "nobody", "/prometheus", entry)
    try:
        project(*UP, "--wait", "reversid-a", "reversid-b", "redis")
        # Not waited for: its health check needs a newer one than Debian's.
        project(*UP, "prometheus")
        yield project
    finally:
        print(project("logs", "--no-color"))
        project("down", "--volumes", "--timeout=30")


def query(expression: str) -> list[dict]:
    """What Prometheus has for it."""
    url = "http://127.0.0.1:9090/api/v1/query?" + urllib.parse.urlencode({"query": expression})
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)["data"]["result"]


def test_a_game_goes_on_while_a_replica_is_replaced(project, rng):
    """Played at one and watched at the other, then at the other alone. Redis restarts as well."""
    with connect(A) as a, connect(B) as b:
        table = WatchedTable(a, rng, watched_by=b)
        table.play_to(8)
        project("stop", "reversid-a")
        table.stub = b
        table.play_to(16)
        project("restart", "redis")
        project(*UP, "--wait", "reversid-a")
        table.stub = a
        table.play_out()


def test_prometheus_sees_both_replicas(engine, image, project):
    """Both are scraped, and tell what they are built of."""
    wait_until(lambda: len(query('up{job="reversid"} == 1')) == 2, "both are scraped")
    version = engine.docker("run", "--rm", image, "-V").split()[1]
    wait_until(lambda: query("reversi_build_info"), "they tell what they are")
    assert {row["metric"]["version"] for row in query("reversi_build_info")} == {version}
