"""A watch resumes from any version that was the game's, and says so when one was not."""

import pytest

from reversi.v1.game_pb2 import Version
from reversi.v1.game_service_pb2 import (
    END_REASON_GAME_DELETED,
    RESET_REASON_HISTORY_DIVERGED,
    RESET_REASON_REVISION_AHEAD,
    DeleteGameRequest,
)
from reversi.v1.rules_pb2 import Rules
from reversi_client import call
from spectator import Spectator
from table import Table


@pytest.fixture
def table(stub, rng) -> Table:
    """A game of two at revision 6."""
    table = Table(stub, rng, Rules(players=2))
    table.join()
    for _ in range(4):
        table.play()
    assert table.version.revision == 6
    return table


def end(table: Table) -> None:
    """Deletes the game, which ends its watches."""
    game_id, token = table.game.game_id, table.owner_token
    call(table.stub.DeleteGame, DeleteGameRequest(game_id=game_id, owner_token=token))


@pytest.mark.parametrize("revision", [0, 1, 4, 6])
def test_the_replay_is_the_record_from_there_on(table, revision):
    """With the digest of that revision, or with 0 in its place."""
    record = table.record()
    known = record[revision - 1].version if revision else Version()
    watchers = [
        Spectator(table.stub, table.game.game_id, after=after)
        for after in (known, Version(revision=revision))
    ]
    for watcher in watchers:
        watcher.wait_for("caught_up")
    record.append(table.play())
    end(table)
    for watcher in watchers:
        watcher.finish()
        assert watcher.events == record[revision:]
        assert watcher.kinds[len(record) - 1 - revision] == "caught_up"
        assert watcher.messages[-1].end.reason == END_REASON_GAME_DELETED


@pytest.mark.parametrize(
    ("ahead", "reason"),
    [(0, RESET_REASON_HISTORY_DIVERGED), (3, RESET_REASON_REVISION_AHEAD)],
    ids=["diverged", "ahead"],
)
def test_another_history_is_reset_to_the_servers(table, ahead, reason):
    """The reset encloses the game as it is, and what follows comes after that."""
    after = Version(revision=6 + ahead, digest=table.version.digest ^ 1)
    watcher = Spectator(table.stub, table.game.game_id, after=after)
    watcher.wait_for("reset")
    last = table.play()
    end(table)
    watcher.finish()
    reset = watcher.messages[0].reset
    assert reset.reason == reason
    assert reset.game.version == table.moves[-2].version
    assert reset.game.position == table.moves[-2].position
    assert watcher.events == [last]
