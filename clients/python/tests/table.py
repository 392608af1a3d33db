"""A game at the table: creates it, plays it at random, and keeps every event answered."""

import random
import uuid

from reversi.v1.event_pb2 import GameEvent
from reversi.v1.game_pb2 import GAME_STATUS_FINISHED
from reversi.v1.game_service_pb2 import (
    CreateGameRequest,
    JoinGameRequest,
    ListGameEventsRequest,
    MakeMoveRequest,
    NewSeat,
)
from reversi.v1.rules_pb2 import Rules
from reversi_client import call


def fresh_id() -> str:
    """A request id that no run has used, on any server."""
    return str(uuid.uuid4())


class Table:
    """All seats but the last are claimed at creation; the last one joins, which starts the game."""

    def __init__(self, stub, rng: random.Random, rules: Rules):
        self.stub, self.rng = stub, rng
        seats = [NewSeat(player_id=f"player-{i}") for i in range(1, rules.players)]
        seats.append(NewSeat(open=True))
        request = CreateGameRequest(rules=rules, seats=seats, request_id=fresh_id())
        self.created = call(stub.CreateGame, request)
        self.game = self.created.game
        self.owner_token = self.created.owner_token
        self.tokens = {seat.color: seat.seat_token for seat in self.created.seat_tokens}
        self.moves: list[GameEvent] = []

    def join(self) -> None:
        """Takes the last seat."""
        request = JoinGameRequest(
            game_id=self.game.game_id, player_id="last", request_id=fresh_id()
        )
        joined = call(self.stub.JoinGame, request)
        self.tokens[joined.color] = joined.seat_token
        self.game = joined.game

    @property
    def position(self):
        """After the last move."""
        return self.moves[-1].position if self.moves else self.game.position

    @property
    def version(self):
        """After the last move."""
        return self.moves[-1].version if self.moves else self.game.version

    @property
    def finished(self) -> bool:
        """Whether the last move ended the game."""
        return bool(self.moves) and self.moves[-1].status == GAME_STATUS_FINISHED

    def next_move(self) -> MakeMoveRequest:
        """A random legal move that nobody else may come before."""
        return MakeMoveRequest(
            game_id=self.game.game_id,
            square=self.rng.choice(self.position.legal_moves),
            seat_token=self.tokens[self.position.to_move],
            expected_version=self.version,
            request_id=fresh_id(),
        )

    def play(self, request: MakeMoveRequest | None = None) -> GameEvent:
        """Makes this move, or a random one."""
        event = call(self.stub.MakeMove, request or self.next_move()).event
        self.moves.append(event)
        return event

    def record(self, page_size: int = 7) -> list[GameEvent]:
        """The whole history as the server lists it, page by page."""
        events, request = [], ListGameEventsRequest(game_id=self.game.game_id, page_size=page_size)
        while True:
            page = call(self.stub.ListGameEvents, request)
            events += page.events
            if not page.next_page_token:
                return events
            request.page_token = page.next_page_token
