"""A server that dies amid a game costs its players and watchers nothing but a reconnection."""

from reversi_client import connect
from server import Server
from watched import WatchedTable


def test_a_killed_server_goes_on_where_it_was(reversid, tmp_path, rng):
    """Every acknowledged move is there again, and a watcher resumes by itself without a gap."""
    store = f"file:{tmp_path / 'games.redb'}"
    first = Server(reversid, store)
    with connect(first.address) as stub:
        table = WatchedTable(stub, rng)
        table.play_to(10)
        first.kill()

        with Server(reversid, store, listen=first.address):
            assert table.record()[2:] == table.moves
            table.play_out()
    assert table.watcher.kinds.count("snapshot") == 1
