"""The digest of a game's history, recomputed as the comments of `Version` in game.proto say."""

from hashlib import sha256

from reversi.v1 import event_pb2, rules_pb2


def digest(previous: int, change: bytes) -> int:
    """The digest after `change`, in canonical bytes; `previous` is 0 before the creation."""
    head = sha256(previous.to_bytes(8, "big") + change).digest()[:8]
    return int.from_bytes(head, "big") or 1


def event_digest(event: event_pb2.GameEvent) -> int:
    """The digest that the version of `event` must have, given its `previous_digest`."""
    return digest(event.previous_digest, canonical_bytes(event))


def canonical_bytes(event: event_pb2.GameEvent) -> bytes:
    """The canonical bytes of the change that `event` tells of; ValueError for an unknown kind."""
    match event.WhichOneof("change"):
        case "created":
            return _created(event.game_id, event.created)
        case "seat_claimed":
            return bytes([2, event.seat_claimed.color]) + _text(event.seat_claimed.player_id)
        case "move_played":
            return bytes([3, event.move_played.color]) + _square(event.move_played.square)
        case "resigned":
            return bytes([4, event.resigned.color])
        case "aborted":
            return bytes([5])
        case unknown:
            raise ValueError(f"a change of kind {unknown} at revision {event.version.revision}")


def _created(game_id: str, created: event_pb2.GameCreated) -> bytes:
    rules = created.rules
    settings = [
        rules.board,
        rules.players,
        rules.objective,
        rules.opening,
        rules.handicap_corners,
        rules.multicolor,
    ]
    layout = _layout(created.layout) if created.HasField("layout") else bytes([0])
    seats = b"".join(bytes([seat.claimed]) + _text(seat.player_id) for seat in created.seats)
    return (
        bytes([1]) + _text(game_id) + bytes(settings) + layout + bytes([len(created.seats)]) + seats
    )


def _layout(layout: rules_pb2.Layout) -> bytes:
    drawn = layout.HasField("seed")
    origin = bytes([2, layout.algorithm]) + layout.seed.to_bytes(8, "big") if drawn else bytes([1])
    return origin + bytes([layout.count]) + b"".join(map(_square, layout.squares))


def _text(text: str) -> bytes:
    encoded = text.encode()
    return bytes([len(encoded)]) + encoded


def _square(name: str) -> bytes:
    return bytes([ord(name[0]) - ord("a"), int(name[1:]) - 1])
