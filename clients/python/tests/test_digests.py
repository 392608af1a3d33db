"""The digests that this client recomputes are those of the project's vectors."""

import re

from generate import PROTO
from history import check_history
from reversi.v1.game_service_pb2 import AbortGameRequest, ResignGameRequest
from reversi.v1.rules_pb2 import COLOR_RED, BlockedSquares, Rules
from reversi_client import call, digest
from table import Table

# Below each title: the digest before, the canonical bytes over one or more lines, the digest after.
HEX_LINES = re.compile(r"(?:^//     [0-9a-f]+\n)+", re.MULTILINE)


def test_vectors_in_the_contract_hold():
    """Those in the comments of `Version`, which is all that an author of another client has."""
    blocks = HEX_LINES.findall((PROTO / "reversi/v1/game.proto").read_text())
    lines = [block.replace("//", "").split() for block in blocks]
    rows = [(previous, "".join(change), after) for previous, *change, after in lines]
    assert len(rows) >= 5
    check(rows)


def test_vectors_of_the_rules_hold(vectors):
    """Those that the server's own rules are tested by."""
    lines = (vectors / "digests.tsv").read_text().splitlines()
    rows = [line.split("\t")[1:] for line in lines if line and not line.startswith("#")]
    assert len(rows) >= 5
    check(rows)


def test_every_kind_of_change_has_the_digest_of_its_canonical_bytes(stub, rng):
    """On squares that a caller named; drawn ones are in the whole games."""
    blocked = BlockedSquares(squares=["H8", "a2"])
    table = Table(stub, rng, Rules(players=3, blocked_squares=blocked))
    assert table.game.layout.squares == ["a2", "h8"]
    table.join()
    table.play()
    game_id = table.game.game_id
    resign = ResignGameRequest(game_id=game_id, seat_token=table.tokens[COLOR_RED])
    assert call(stub.ResignGame, resign).event.version.revision == 4
    abort = AbortGameRequest(game_id=game_id, owner_token=table.owner_token)
    assert call(stub.AbortGame, abort).event.version.revision == 5
    record = table.record(page_size=0)
    check_history(record)
    kinds = ["created", "seat_claimed", "move_played", "resigned", "aborted"]
    assert [event.WhichOneof("change") for event in record] == kinds


def check(rows) -> None:
    for previous, change, expected in rows:
        assert digest(int(previous, 16), bytes.fromhex(change)) == int(expected, 16)
