"""The digests that this client recomputes are those of the project's vectors."""

import re

from generate import PROTO
from reversi_client import digest

HEX_ROW = re.compile(r"^//\s+([0-9a-f]{16}) +([0-9a-f]+) +([0-9a-f]{16})$", re.MULTILINE)


def test_vectors_in_the_contract_hold():
    """Those in the comments of `Version`, which is all that an author of another client has."""
    rows = HEX_ROW.findall((PROTO / "reversi/v1/game.proto").read_text())
    assert len(rows) >= 5
    check(rows)


def test_vectors_of_the_rules_hold(vectors):
    """Those that the server's own rules are tested by."""
    lines = (vectors / "digests.tsv").read_text().splitlines()
    rows = [line.split("\t")[1:] for line in lines if line and not line.startswith("#")]
    assert len(rows) >= 5
    check(rows)


def check(rows) -> None:
    for previous, change, expected in rows:
        assert digest(int(previous, 16), bytes.fromhex(change)) == int(expected, 16)
