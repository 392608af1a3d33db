"""Whole games of both kinds, watched, with every digest, flip and pass recomputed here."""

from history import check_history
from plain_rules import PlainBoard
from reversi.v1.game_pb2 import (
    GAME_STATUS_FINISHED,
    GAME_STATUS_IN_PROGRESS,
    MOVE_KIND_ADJACENT,
    MOVE_KIND_FLIP,
    OUTCOME_REASON_NO_MOVES,
)
from reversi.v1.game_service_pb2 import END_REASON_GAME_FINISHED, GetGameRequest
from reversi.v1.rules_pb2 import (
    BOARD_8X8,
    BOARD_OCTAGON,
    COLOR_BLACK,
    COLOR_GREEN,
    COLOR_RED,
    COLOR_WHITE,
    BlockedSquares,
    Rules,
)
from reversi_client import call
from spectator import Spectator
from table import Table

COLORS = [COLOR_BLACK, COLOR_WHITE, COLOR_RED, COLOR_GREEN]


def test_four_players_fill_the_octagon(stub, rng):
    """Everybody places 21 discs, by the rules, and two watchers miss nothing."""
    table = Table(stub, rng, Rules(board=BOARD_OCTAGON, players=4))
    play_watched(table)

    placed = [event.move_played.color for event in table.moves]
    assert [placed.count(color) for color in COLORS] == [21, 21, 21, 21]
    assert table.position.ply == 84
    assert "-" not in table.position.board
    kinds = {event.move_played.kind for event in table.moves}
    assert kinds == {MOVE_KIND_FLIP, MOVE_KIND_ADJACENT}
    check_by_plain_rules(table)


def test_two_players_finish_on_a_blocked_board(stub, rng):
    """Forced passes and the end come where the rules say, and two watchers miss nothing."""
    blocked = BlockedSquares(count=4, seed=2026)
    table = Table(stub, rng, Rules(board=BOARD_8X8, players=2, blocked_squares=blocked))
    assert table.game.rules.blocked_squares == blocked
    assert table.game.layout.squares == ["a4", "h4", "a7", "b8"]
    play_watched(table)

    assert any(event.move_played.passed for event in table.moves), "choose a seed with a pass"
    assert table.position.board.count("#") == 4
    check_by_plain_rules(table)


def play_watched(table: Table) -> None:
    """Plays to the end before two watchers, one of whom hangs up and comes back later."""
    stub, game_id = table.stub, table.game.game_id
    faithful = Spectator(stub, game_id)
    leaver = Spectator(stub, game_id, leave_after=12)
    faithful.wait_for("snapshot")
    leaver.wait_for("snapshot")

    table.join()
    while not table.finished and table.version.revision < 30:
        table.play()
    leaver.finish()
    seen = leaver.events[-1].version
    assert seen.revision == 12
    returner = Spectator(stub, game_id, after=seen)
    returner.wait_for("caught_up")
    while not table.finished:
        table.play()
    faithful.finish()
    returner.finish()

    record = table.record()
    check_history(record)
    assert record[0].created.seats == table.created.game.seats
    assert record[1].HasField("seat_claimed")
    assert record[2:] == table.moves
    assert faithful.messages[0].snapshot == table.created.game
    assert faithful.events == record[1:]
    assert leaver.events + returner.events == record[1:]
    for spectator in faithful, returner:
        assert spectator.messages[-1].end.reason == END_REASON_GAME_FINISHED
        assert spectator.kinds.count("end") == 1

    stored = call(stub.GetGame, GetGameRequest(game_id=game_id)).game
    assert stored.version == record[-1].version
    assert stored.position == record[-1].position
    assert stored.outcome == record[-1].outcome
    assert stored.status == GAME_STATUS_FINISHED


def check_by_plain_rules(table: Table) -> None:
    """Replays the moves on the plain board and compares all that the server said about them."""
    players = [seat.color for seat in table.game.seats]
    multicolor = table.game.rules.multicolor
    before, board = table.game.position, PlainBoard(table.game.position.board)
    for event in table.moves:
        move, after = event.move_played, event.position
        assert move.color == before.to_move
        assert move.square in before.legal_moves
        assert move.kind == before.move_kind
        assert move.flips == board.put(move.square, move.color)
        assert after.board == str(board)
        assert after.ply == before.ply + 1
        assert [count.color for count in after.counts] == players
        assert [count.discs for count in after.counts] == [board.count(p) for p in players]

        waiting, mover, legal = next_turn(board, players, move.color, multicolor)
        assert after.to_move == mover
        assert after.legal_moves == legal
        assert move.passed == waiting
        assert event.status == (GAME_STATUS_IN_PROGRESS if legal else GAME_STATUS_FINISHED)
        before = after

    outcome = table.moves[-1].outcome
    best = max(count.discs for count in before.counts)
    winners = [count.color for count in before.counts if count.discs == best]
    assert outcome.reason == OUTCOME_REASON_NO_MOVES
    assert outcome.counts == before.counts
    assert outcome.draw == (len(winners) > 1)
    assert outcome.winners == ([] if outcome.draw else winners)


def next_turn(board: PlainBoard, players: list[int], last: int, multicolor: bool):
    """Who has to pass after `last` has moved, who moves then (0 for nobody), and where."""
    turn = players[last:] + players[:last]
    if multicolor:
        legal = board.flipping(turn[0]) or board.touching()
        return [], turn[0] if legal else 0, legal
    for passes, mover in enumerate(turn):
        if legal := board.flipping(mover):
            return turn[:passes], mover, legal
    return [], 0, []
