"""A refusal says why and changes nothing; a repeated request gets its first answer."""

import grpc
import pytest

from reversi.v1.game_pb2 import Version
from reversi.v1.game_service_pb2 import (
    AbortGameRequest,
    CreateGameRequest,
    DeleteGameRequest,
    GetGameRequest,
    JoinGameRequest,
    MakeMoveRequest,
    NewSeat,
)
from reversi.v1.rules_pb2 import BOARD_6X6, COLOR_BLACK, COLOR_WHITE, Rules
from reversi_client import bad_fields, call, metadata, reason
from table import Table, fresh_id

Code = grpc.StatusCode


@pytest.fixture
def table(stub, rng) -> Table:
    """A game of two on the default board that waits for Black's first move."""
    table = Table(stub, rng, Rules(players=2))
    table.join()
    return table


def refusal(method, request) -> grpc.RpcError:
    """The error that the call must end with."""
    with pytest.raises(grpc.RpcError) as caught:
        call(method, request)
    return caught.value


def altered(request, **fields):
    """A copy of the request with these fields changed; None clears one."""
    copy = type(request)()
    copy.CopyFrom(request)
    for field, value in fields.items():
        copy.ClearField(field)
        if value is not None:
            copy.MergeFrom(type(request)(**{field: value}))
    return copy


def test_every_refusal_of_a_move_names_its_reason(table):
    """Each row breaks one thing in a good move; afterwards the good move is still good."""
    move = table.next_move()
    stale = Version(revision=1, digest=table.created.game.version.digest)
    forged = Version(revision=2, digest=table.version.digest ^ 1)
    rows = [
        (dict(square="z9"), Code.INVALID_ARGUMENT, "INVALID_FIELD"),
        (dict(square="j10"), Code.INVALID_ARGUMENT, "INVALID_FIELD"),
        (dict(game_id="nosuchgame"), Code.NOT_FOUND, "GAME_NOT_FOUND"),
        (dict(seat_token=None, color=COLOR_BLACK), Code.UNAUTHENTICATED, "TOKEN_MISSING"),
        (dict(seat_token="guessed"), Code.PERMISSION_DENIED, "TOKEN_INVALID"),
        (dict(seat_token=table.owner_token), Code.PERMISSION_DENIED, "TOKEN_INVALID"),
        (dict(expected_version=stale), Code.ABORTED, "VERSION_MISMATCH"),
        (dict(expected_version=forged), Code.ABORTED, "VERSION_MISMATCH"),
        (dict(seat_token=table.tokens[COLOR_WHITE]), Code.FAILED_PRECONDITION, "NOT_YOUR_TURN"),
        (dict(square="a1"), Code.FAILED_PRECONDITION, "ILLEGAL_MOVE"),
    ]
    for fields, code, expected in rows:
        error = refusal(table.stub.MakeMove, altered(move, **fields))
        assert (error.code(), reason(error)) == (code, expected), fields
        if code in (Code.ABORTED, Code.FAILED_PRECONDITION):
            assert metadata(error)["current_revision"] == "2"
        if expected == "INVALID_FIELD":
            assert bad_fields(error) == ["square"]
        if expected == "NOT_YOUR_TURN":
            assert metadata(error)["to_move"] == "COLOR_BLACK"
        if expected == "ILLEGAL_MOVE":
            assert metadata(error)["legal_moves"].split(",") == table.position.legal_moves
    unchanged = call(table.stub.GetGame, GetGameRequest(game_id=table.game.game_id)).game
    assert unchanged == table.game
    assert table.play(move).version.revision == 3


def test_every_fault_of_the_rules_is_named_at_once(stub):
    """Three settings that do not combine give three names."""
    rules = Rules(board=BOARD_6X6, players=4, handicap_corners=5, blocked_squares={})
    error = refusal(stub.CreateGame, CreateGameRequest(rules=rules))
    assert (error.code(), reason(error)) == (Code.INVALID_ARGUMENT, "INVALID_FIELD")
    named = set(bad_fields(error))
    assert {"rules.board", "rules.handicap_corners", "rules.blocked_squares"} <= named


def test_a_repeated_move_gets_its_first_answer(table):
    """Also when the game has gone on; the same id with another move is refused."""
    move = table.next_move()
    first = table.play(move)
    table.play()
    assert call(table.stub.MakeMove, move).event == first
    other = altered(move, square=next(s for s in ("d3", "c4") if s != move.square))
    error = refusal(table.stub.MakeMove, other)
    assert (error.code(), reason(error)) == (Code.INVALID_ARGUMENT, "REQUEST_ID_REUSED")
    assert len(table.record()) == 4


def test_a_repeated_creation_or_claim_returns_the_same_tokens(stub):
    """Though the server holds only their hashes."""
    seats = [NewSeat(player_id="host"), NewSeat(open=True)]
    request = CreateGameRequest(seats=seats, request_id=fresh_id())
    created = call(stub.CreateGame, request)
    assert call(stub.CreateGame, request) == created

    claim = JoinGameRequest(game_id=created.game.game_id, player_id="guest", request_id=fresh_id())
    joined = call(stub.JoinGame, claim)
    assert call(stub.JoinGame, claim) == joined
    assert joined.color == COLOR_WHITE
    claim.request_id = ""
    error = refusal(stub.JoinGame, claim)
    assert (error.code(), reason(error)) == (Code.FAILED_PRECONDITION, "NO_OPEN_SEAT")


def test_only_the_owner_ends_a_game(table):
    """Aborting and deleting want the owner token, and a deleted game is gone."""
    game_id = table.game.game_id
    missing = refusal(table.stub.AbortGame, AbortGameRequest(game_id=game_id))
    assert (missing.code(), reason(missing)) == (Code.UNAUTHENTICATED, "TOKEN_MISSING")
    seat = AbortGameRequest(game_id=game_id, owner_token=table.tokens[COLOR_BLACK])
    invalid = refusal(table.stub.AbortGame, seat)
    assert (invalid.code(), reason(invalid)) == (Code.PERMISSION_DENIED, "TOKEN_INVALID")

    call(table.stub.DeleteGame, DeleteGameRequest(game_id=game_id, owner_token=table.owner_token))
    gone = refusal(
        table.stub.MakeMove, MakeMoveRequest(game_id=game_id, square="d3", seat_token="x")
    )
    assert (gone.code(), reason(gone)) == (Code.NOT_FOUND, "GAME_NOT_FOUND")
