"""deploy/compose.yaml with deploy/cluster.env: the same replicas, over a Redis Cluster."""

import pytest

from composed import UP, A, B, Project
from reversi_client import connect
from watched import WatchedTable

SERVICES = ["reversid-a", "reversid-b"]


@pytest.fixture
def project(engine, redis_image):
    """The replicas and all that they wait for: six nodes, and what makes one cluster of them."""
    project = Project(engine, "cluster.env")
    try:
        project(*UP, "--wait", *SERVICES)
        yield project
    finally:
        print(project("logs", "--no-color"))
        project("down", "--volumes", "--timeout=30")


def test_a_game_goes_on_after_everything_was_put_away_and_started_again(project, rng):
    """With other addresses, maybe; volumes are kept."""
    with connect(A) as a, connect(B) as b:
        table = WatchedTable(a, rng, watched_by=b)
        table.play_to(8)
        project("down", "--timeout=30")
        project(*UP, "--wait", *SERVICES)
        table.play_out()
