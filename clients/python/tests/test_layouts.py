"""A seed gives the same blocked squares in every release, and as anybody else computes them."""

from reversi.v1.game_service_pb2 import CreateGameRequest, CreateLayoutRequest, GetLayoutRequest
from reversi.v1.rules_pb2 import BOARD_CROSS, BOARD_OCTAGON, BlockedSquares, Board, Rules
from reversi_client import call

BOARDS = {"octagon": BOARD_OCTAGON, "cross-board": BOARD_CROSS}


def test_layouts_are_those_of_the_vectors(stub, vectors):
    """Every seventh row; all boards and the seeds that need a rejection are among them."""
    lines = (vectors / "layouts.tsv").read_text().splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")][::7]
    assert {row[0] for row in rows} == {"6x6", "8x8", "10x10", *BOARDS}
    assert any(int(row[1]) for row in rows)
    for board, handicap, count, seed, squares in rows:
        request = CreateLayoutRequest(
            board=BOARDS.get(board) or Board.Value(f"BOARD_{board.upper()}"),
            handicap_corners=int(handicap),
            count=int(count),
            seed=int(seed),
        )
        layout = call(stub.CreateLayout, request).layout
        assert layout.squares == squares.split(), (board, handicap, count, seed)
        assert layout == call(stub.CreateLayout, request).layout


def test_a_layout_serves_many_games(stub):
    """A game on a layout says what the layout was drawn from, so that it can be had again."""
    layout = call(stub.CreateLayout, CreateLayoutRequest(count=3)).layout
    assert layout == call(stub.GetLayout, GetLayoutRequest(layout_id=layout.layout_id)).layout
    blocked = BlockedSquares(layout_id=layout.layout_id)
    for _ in range(2):
        game = call(stub.CreateGame, CreateGameRequest(rules=Rules(blocked_squares=blocked))).game
        assert game.layout == layout
        assert game.rules.blocked_squares == BlockedSquares(count=3, seed=layout.seed)
        again = call(stub.CreateGame, CreateGameRequest(rules=game.rules)).game
        assert again.layout == layout
        assert again.rules == game.rules
