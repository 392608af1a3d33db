"""Connecting, and calls that are repeated until their outcome is known."""

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import grpc

from reversi.v1.game_service_pb2_grpc import GameServiceStub

OUTCOME_UNKNOWN = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED}

# A server that restarts is looked for once a second, instead of after the library's two minutes.
OPTIONS = [("grpc.max_reconnect_backoff_ms", 1000)]


@contextmanager
def connect(
    address: str, credentials: grpc.ChannelCredentials | None = None
) -> Iterator[GameServiceStub]:
    """A stub for the service at `address` ("host:port"), over TLS if there are `credentials`.

    Its calls end with it.
    """
    with open_channel(address, credentials) as channel:
        yield GameServiceStub(channel)


def open_channel(
    address: str, credentials: grpc.ChannelCredentials | None = None, options: Sequence = ()
) -> grpc.Channel:
    """The channel alone, for stubs of other services or with more options. The caller closes it."""
    options = [*OPTIONS, *options]
    if credentials is None:
        return grpc.insecure_channel(address, options)
    return grpc.secure_channel(address, credentials, options)


def call(method, request, timeout: float = 5.0, attempts: int = 10):
    """Calls `method`, such as `stub.MakeMove`, and repeats it while its outcome is unknown.

    `timeout` is in seconds and for each attempt. A repeat is safe for what only reads, and for any
    request with a `request_id`: the server then answers what it answered first. Raises the last
    `grpc.RpcError`.
    """
    for attempt in range(1, attempts + 1):
        try:
            return method(request, timeout=timeout)
        except grpc.RpcError as error:
            if error.code() not in OUTCOME_UNKNOWN or attempt == attempts:
                raise
            pause(attempt)


def pause(attempt: int) -> None:
    """Waits before the next attempt: at most 0.1 s after the first, 2 s later on, with jitter."""
    time.sleep(random.uniform(0.5, 1.0) * min(2.0, 0.1 * 2 ** (attempt - 1)))
