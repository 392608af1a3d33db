"""A server that dies amid a game costs its players and watchers nothing but a reconnection."""

from reversi.v1.rules_pb2 import BOARD_6X6, Rules
from reversi_client import connect
from server import Server
from spectator import Spectator
from table import Table


def test_a_killed_server_goes_on_where_it_was(reversid, tmp_path, rng):
    """Every acknowledged move is there again, and a watcher resumes by itself without a gap."""
    store = f"file:{tmp_path / 'games.redb'}"
    first = Server(reversid, store)
    with connect(first.address) as stub:
        table = Table(stub, rng, Rules(board=BOARD_6X6, players=2))
        watcher = Spectator(stub, table.game.game_id)
        watcher.wait_for("snapshot")
        table.join()
        for _ in range(10):
            table.play()
        first.kill()

        with Server(reversid, store, listen=first.address):
            assert table.record()[2:] == table.moves
            while not table.finished:
                table.play()
            watcher.finish()
            record = table.record()
    assert record[2:] == table.moves
    assert watcher.events == record[1:]
    assert watcher.kinds.count("snapshot") == 1
    assert "reset" not in watcher.kinds
