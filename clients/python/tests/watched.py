"""A table that somebody watches from before the game starts."""

import random

from reversi.v1.event_pb2 import GameEvent
from reversi.v1.rules_pb2 import BOARD_6X6, Rules
from spectator import Spectator
from table import Table

SMALL = Rules(board=BOARD_6X6, players=2)


class WatchedTable(Table):
    """Played by `stub`, which may be changed; watched over `watched_by`, or the same."""

    def __init__(self, stub, rng: random.Random, rules: Rules = SMALL, watched_by=None):
        super().__init__(stub, rng, rules)
        self.watcher = Spectator(watched_by or stub, self.game.game_id)
        self.watcher.wait_for("snapshot")
        self.join()

    def play_to(self, moves: int) -> None:
        """Plays until so many moves were made."""
        while len(self.moves) < moves:
            self.play()

    def play_out(self) -> list[GameEvent]:
        """Plays to the end, and holds moves, watch and record to be one. Returns the record."""
        while not self.finished:
            self.play()
        self.watcher.finish()
        record = self.record()
        assert record[2:] == self.moves
        assert self.watcher.events == record[1:]
        assert "reset" not in self.watcher.kinds
        return record
