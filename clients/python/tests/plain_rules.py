"""The rules a second time, square by square, to hold the server's answers against."""

from itertools import product

STEPS = [step for step in product((-1, 0, 1), repeat=2) if step != (0, 0)]
LETTERS = {1: "B", 2: "W", 3: "R", 4: "G", 5: "N"}
NO_DISC = {"-", "#", "_"}


def at(square: str) -> tuple[int, int]:
    """File and rank of a square, from 0."""
    return ord(square[0]) - ord("a"), int(square[1:]) - 1


def name(place: tuple[int, int]) -> str:
    """The square's name."""
    return f"{chr(ord('a') + place[0])}{place[1] + 1}"


class PlainBoard:
    """A board that answers slowly and plainly. Colours are the contract's numbers."""

    def __init__(self, text: str):
        rows = enumerate(text.split("/"))
        self.cells = {(file, rank): cell for rank, row in rows for file, cell in enumerate(row)}

    def __str__(self) -> str:
        width = 1 + max(file for file, _ in self.cells)
        ordered = "".join(self.cells[place] for place in self._places())
        return "/".join(ordered[i : i + width] for i in range(0, len(ordered), width))

    def _places(self):
        return sorted(self.cells, key=lambda place: (place[1], place[0]))

    def outflanked(self, place, color: int) -> list[str]:
        """The squares that a disc of `color` there would turn, row by row."""
        turned = []
        for file_step, rank_step in STEPS:
            line, (file, rank) = [], place
            while True:
                file, rank = file + file_step, rank + rank_step
                cell = self.cells.get((file, rank), "_")
                if cell in NO_DISC or cell == LETTERS[color]:
                    break
                line.append((file, rank))
            turned += line if cell == LETTERS[color] else []
        return [name(place) for place in self._places() if place in turned]

    def flipping(self, color: int) -> list[str]:
        """The squares where a disc of `color` turns at least one."""
        return [
            name(p) for p in self._places() if self.cells[p] == "-" and self.outflanked(p, color)
        ]

    def touching(self) -> list[str]:
        """The empty squares beside a disc of any colour."""
        return [name(p) for p in self._places() if self.cells[p] == "-" and self._touches(p)]

    def _touches(self, place) -> bool:
        beside = ((place[0] + file, place[1] + rank) for file, rank in STEPS)
        return any(self.cells.get(place, "_") not in NO_DISC for place in beside)

    def put(self, square: str, color: int) -> list[str]:
        """Places a disc, turns what it outflanks, and returns the squares turned."""
        turned = self.outflanked(at(square), color)
        self.cells.update({at(one): LETTERS[color] for one in [square, *turned]})
        return turned

    def count(self, color: int) -> int:
        """How many discs of `color` lie on the board."""
        return list(self.cells.values()).count(LETTERS[color])
