"""Watching a game across lost connections, with proof that nothing was missed."""

from collections.abc import Iterator

import grpc

from reversi.v1.game_pb2 import Version
from reversi.v1.game_service_pb2 import WatchGameRequest, WatchGameResponse
from reversi.v1.game_service_pb2_grpc import GameServiceStub

from .calls import pause
from .digest import event_digest

# No reconnection mends these. Any other end is the server's or a proxy's way of saying "resume".
FINAL = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.UNIMPLEMENTED,
}


class BrokenHistory(Exception):
    """The server sent what does not follow from what it had sent before."""


def watch(
    stub: GameServiceStub, game_id: str, after: Version | None = None
) -> Iterator[WatchGameResponse]:
    """Yields every message of a watch but heartbeats; the last one is `end`.

    Starts with a snapshot, or, given `after`, with the events that follow that version. When the
    stream is cut or the server asks for it, the watch resumes where it was, and the caller sees no
    difference but another `caught_up`. Closing the iterator ends the watch. Raises BrokenHistory,
    and `grpc.RpcError` for what no reconnection mends.
    """
    attempt = 0
    while True:
        call = stub.WatchGame(WatchGameRequest(game_id=game_id, resume_after=after))
        try:
            for response in call:
                attempt = 0
                after = _version_after(after, response)
                kind = response.WhichOneof("message")
                if kind != "heartbeat":
                    yield response
                if kind == "end":
                    return
            raise BrokenHistory("the stream closed with OK, but without an end")
        except grpc.RpcError as error:
            if error.code() in FINAL:
                raise
        finally:
            call.cancel()
        attempt += 1
        pause(attempt)


def _version_after(seen: Version | None, response: WatchGameResponse) -> Version | None:
    """The last version seen once `response` is, if it follows `seen`; else BrokenHistory."""
    match response.WhichOneof("message"):
        case "snapshot":
            return response.snapshot.version
        case "reset":
            return response.reset.game.version
        case "event":
            return _follow(seen, response.event)
        case "caught_up" | "heartbeat" as kind:
            version = getattr(response, kind).version
            known = seen is not None and seen.revision == version.revision
            if not known or seen.digest not in (0, version.digest):
                raise BrokenHistory(f"{kind} at revision {version.revision}, after {seen}")
            return version
        case _:
            return seen


def _follow(seen: Version | None, event) -> Version:
    revision = event.version.revision
    if seen is None or revision != seen.revision + 1:
        raise BrokenHistory(f"an event at revision {revision}, after {seen}")
    # A digest of 0 stands for one that the caller does not know.
    if seen.digest not in (0, event.previous_digest):
        raise BrokenHistory(f"revision {revision} follows another history")
    if event.version.digest != event_digest(event):
        raise BrokenHistory(f"the digest of revision {revision} is not that of its change")
    return event.version
