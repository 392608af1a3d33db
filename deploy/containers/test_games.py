"""Games on a running container: played whole, kept across stops and updates."""

import grpc
import pytest

from container import running, volume
from engine import wait_until
from reversi.v1.game_service_pb2 import WatchGameRequest
from reversi.v1.rules_pb2 import BOARD_OCTAGON, Rules
from reversi_client import connect, reason
from spectator import Spectator
from table import Table


def test_a_whole_game_is_played_inside(engine, image):
    """`reversictl` is there to look with: it plays, watches and verifies a game."""
    with running(engine, image) as container:
        container.wait_until_healthy()
        said = container.execute("reversictl", "demo")
    assert "every digest, flip, pass and position" in said, said


def test_a_game_goes_on_after_an_update(engine, image, rng):
    """A stop ends watches with a reason, the process with 0; every move is there afterwards."""
    rules = Rules(board=BOARD_OCTAGON, players=4)
    with volume(engine) as data:
        with running(engine, image, f"--volume={data}:/data") as container:
            container.wait_until_healthy()
            with connect(container.address) as stub:
                table = Table(stub, rng, rules)
                table.join()
                for _ in range(20):
                    table.play()
                watch = stub.WatchGame(WatchGameRequest(game_id=table.game.game_id))
                assert next(watch).snapshot.version == table.version
                container.stop()
                with pytest.raises(grpc.RpcError) as ended:
                    for _ in watch:
                        pass
            assert ended.value.code() == grpc.StatusCode.UNAVAILABLE
            assert reason(ended.value) == "SERVER_DRAINING"
            assert (container.state["ExitCode"], container.state["OOMKilled"]) == (0, False)
            assert "drained" in container.log

        with running(engine, image, f"--volume={data}:/data") as container:
            container.wait_until_healthy()
            with connect(container.address) as stub:
                table.stub = stub
                watcher = Spectator(stub, table.game.game_id)
                watcher.wait_for("snapshot")
                while not table.finished:
                    table.play()
                watcher.finish()
                assert table.record()[-len(table.moves) :] == table.moves
                assert watcher.events == table.moves[20:]


def test_health_follows_the_store(engine, image):
    """Without its Redis it lives and is not ready: the check fails, and says why."""
    nobody = "--env=REVERSID_STORE=redis://127.0.0.1:1"
    with running(engine, image, nobody) as container:
        wait_until(lambda: container.state["Health"]["Log"], "it is checked")
        check = container.state["Health"]["Log"][-1]
        assert check["ExitCode"] == 1
        assert "NOT_SERVING" in check["Output"]
        assert "SERVING" in container.execute("reversid", "health", "--live")
