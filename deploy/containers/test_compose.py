"""deploy/compose.yaml as it is: replicas over Redis are one service, and Prometheus sees both."""

import json
import urllib.parse
import urllib.request

import pytest

from composed import UP, A, B, Project, program
from engine import REPOSITORY, wait_until
from reversi.v1.rules_pb2 import BOARD_6X6, Rules
from reversi_client import connect
from spectator import Spectator
from table import Table

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
        table = Table(a, rng, Rules(board=BOARD_6X6, players=2))
        watcher = Spectator(b, table.game.game_id)
        watcher.wait_for("snapshot")
        table.join()
        for _ in range(8):
            table.play()
        project("stop", "reversid-a")
        table.stub = b
        for _ in range(8):
            table.play()
        project("restart", "redis")
        project(*UP, "--wait", "reversid-a")
        table.stub = a
        while not table.finished:
            table.play()
        watcher.finish()
        record = table.record()
    assert record[2:] == table.moves
    assert watcher.events == record[1:]
    assert "reset" not in watcher.kinds


def test_prometheus_sees_both_replicas(engine, image, project):
    """Both are scraped, and tell what they are built of."""
    wait_until(lambda: len(query('up{job="reversid"} == 1')) == 2, "both are scraped")
    version = engine.docker("run", "--rm", image, "-V").split()[1]
    wait_until(lambda: query("reversi_build_info"), "they tell what they are")
    assert {row["metric"]["version"] for row in query("reversi_build_info")} == {version}
