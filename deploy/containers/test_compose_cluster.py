"""deploy/compose.yaml with deploy/cluster.env: the same replicas, over a Redis Cluster."""

import pytest

from composed import UP, A, B, Project
from reversi.v1.rules_pb2 import BOARD_6X6, Rules
from reversi_client import connect
from spectator import Spectator
from table import Table

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
        table = Table(a, rng, Rules(board=BOARD_6X6, players=2))
        watcher = Spectator(b, table.game.game_id)
        watcher.wait_for("snapshot")
        table.join()
        for _ in range(8):
            table.play()
        project("down", "--timeout=30")
        project(*UP, "--wait", *SERVICES)
        while not table.finished:
            table.play()
        watcher.finish()
        record = table.record()
    assert record[2:] == table.moves
    assert watcher.events == record[1:]
    assert "reset" not in watcher.kinds
