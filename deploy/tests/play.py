"""Plays on two replicas at once, so that everything that is measured has something to tell."""

import random
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import grpc

from reversi.v1.event_pb2 import GameEvent
from reversi.v1.game_pb2 import Version
from reversi.v1.game_service_pb2 import (
    CreateGameRequest,
    CreateLayoutRequest,
    DeleteGameRequest,
    GetGameRequest,
    GetLayoutRequest,
    JoinGameRequest,
    ListGamesRequest,
    MakeMoveRequest,
    NewSeat,
    WatchGameRequest,
)
from reversi.v1.rules_pb2 import (
    BOARD_6X6,
    BOARD_8X8,
    BOARD_10X10,
    BOARD_OCTAGON,
    OBJECTIVE_FEWEST_DISCS,
    Rules,
)
from spectator import Spectator
from table import Table

VARIANTS = [
    Rules(board=BOARD_6X6, players=2),
    Rules(board=BOARD_8X8, players=2, objective=OBJECTIVE_FEWEST_DISCS),
    Rules(board=BOARD_10X10, players=3),
    Rules(board=BOARD_OCTAGON, players=4),
]


class Play(threading.Thread):
    """Goes on until `stop`; what went wrong is in `failure`."""

    def __init__(self, stubs):
        super().__init__(daemon=True)
        self.stubs = stubs
        self.rng = random.Random(2026)
        self.failure: Exception | None = None
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Ends it, after the move that it is at."""
        self._stopped.set()
        self.join()

    def run(self) -> None:
        try:
            while not self._stopped.is_set():
                for rules in VARIANTS:
                    self._game(rules)
                self._race()
                self._layout()
        except Exception as failure:
            self.failure = failure

    def _game(self, rules: Rules) -> None:
        """One game, with moves at either replica, watched at both."""
        table = Table(self.stubs[0], self.rng, rules)
        game_id = table.game.game_id
        beginning = table.game.version
        watchers = [Spectator(stub, game_id) for stub in self.stubs]
        table.join()
        while not (table.finished or self._stopped.is_set()):
            table.stub = self.rng.choice(self.stubs)
            table.play()
            if len(table.moves) == 1:
                self._refused(table)
        self._resume(game_id, beginning)
        self._resume(game_id, Version(revision=100_000, digest=1))
        if table.finished:
            for watcher in watchers:
                watcher.finish()
        here = self.rng.choice(self.stubs)
        here.GetGame(GetGameRequest(game_id=game_id))
        here.ListGames(ListGamesRequest(player_id="player-1"))
        here.DeleteGame(DeleteGameRequest(game_id=game_id, owner_token=table.owner_token))

    def _refused(self, table: Table) -> None:
        """A move on a square that is taken."""
        request: MakeMoveRequest = table.next_move()
        last: GameEvent = table.moves[-1]
        request.square = last.move_played.square
        with suppress(grpc.RpcError):
            self.stubs[0].MakeMove(request)

    def _resume(self, game_id: str, after: Version) -> None:
        """The first message of a watch after this version."""
        stream = self.stubs[1].WatchGame(WatchGameRequest(game_id=game_id, resume_after=after))
        next(stream)
        stream.cancel()

    def _race(self) -> None:
        """Four players take the seats of one game at the same moment, at both replicas."""
        seats = [NewSeat(open=True)] * 4
        request = CreateGameRequest(rules=VARIANTS[3], seats=seats, request_id=str(uuid.uuid4()))
        game_id = self.stubs[0].CreateGame(request).game.game_id
        with ThreadPoolExecutor(len(seats)) as players:
            for number in range(len(seats)):
                stub = self.stubs[number % 2]
                join = JoinGameRequest(game_id=game_id, player_id=f"racer-{number}")
                players.submit(stub.JoinGame, join)

    def _layout(self) -> None:
        created = self.stubs[0].CreateLayout(CreateLayoutRequest(board=BOARD_8X8, count=2, seed=7))
        self.stubs[1].GetLayout(GetLayoutRequest(layout_id=created.layout.layout_id))
