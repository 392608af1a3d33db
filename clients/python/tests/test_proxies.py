"""Long streams, drains, errors and pages behind nginx and Envoy, as they are set up in `deploy/`.

That everything else goes through them too is in the other tests, which run behind each.
"""

import http.client
import re
import ssl
import time
from contextlib import ExitStack, contextmanager

import grpc
import pytest

from conftest import redis
from generate import REPOSITORY
from history import check_history
from proxies import PROXIES, behind, free_port
from reversi.v1.game_pb2 import Game
from reversi.v1.game_service_pb2 import (
    AbortGameRequest,
    CreateGameRequest,
    GetGameRequest,
    GetGameResponse,
    NewSeat,
    WatchGameRequest,
    WatchGameResponse,
)
from reversi.v1.game_service_pb2_grpc import GameServiceStub
from reversi.v1.rules_pb2 import Rules
from reversi_client import bad_fields, call, connect, metadata, open_channel, reason
from server import Server
from watched import WatchedTable

DEPLOYMENT = REPOSITORY / "docs" / "deployment.md"
IDLE_SECONDS = 1.5
# Envoy's limit of a whole call, unless it is told otherwise; nginx has none.
CALL_SECONDS = {"nginx": 0, "envoy": 15}
CALLS_LOGGED = ("--log", "reversid::api=debug,info")
Code = grpc.StatusCode


@pytest.fixture(params=PROXIES)
def proxy(request, tmp_path, certificate):
    """Puts a proxy of this kind before replicas, and gives a stub and the address."""

    @contextmanager
    def put(replicas, **settings):
        with (
            behind(request.param, tmp_path, certificate, replicas, **settings) as address,
            connect(address, certificate.credentials) as stub,
        ):
            yield stub, address

    put.kind = request.param
    return put


def test_heartbeats_keep_an_idle_watch(proxy, reversid):
    """For longer than the proxy bears a silent stream, or any call by default."""
    beating = ("--watch-heartbeat", "300ms")
    with (
        Server(reversid, "memory:", flags=beating) as server,
        proxy([server.address] * 2, idle=IDLE_SECONDS) as (stub, _),
    ):
        game, token = new_game(stub)
        begin = time.monotonic()
        stream = stub.WatchGame(WatchGameRequest(game_id=game.game_id))
        assert next(stream).snapshot == game
        while time.monotonic() < begin + max(3 * IDLE_SECONDS, 1 + CALL_SECONDS[proxy.kind]):
            assert next(stream).HasField("heartbeat")
        event = abort(stub, game, token)
        seen = next(message for message in stream if not message.HasField("heartbeat"))
        assert seen.event == event
        assert next(stream).HasField("end")


def test_a_watch_without_heartbeats_is_cut(proxy, reversid):
    """So the limit is there, and what keeps a watch is heartbeats alone."""
    silent = ("--watch-heartbeat", "1h")
    with (
        Server(reversid, "memory:", flags=silent) as server,
        proxy([server.address] * 2, idle=IDLE_SECONDS) as (stub, _),
    ):
        game, _ = new_game(stub)
        begin = time.monotonic()
        stream = stub.WatchGame(WatchGameRequest(game_id=game.game_id))
        assert next(stream).snapshot == game
        with pytest.raises(grpc.RpcError) as cut:
            next(stream)
        assert IDLE_SECONDS / 2 < time.monotonic() - begin < 3 * IDLE_SECONDS
        assert reason(cut.value) == ""


def test_a_backend_has_more_watches_than_a_proxy_allows_by_default(proxy, reversid, certificate):
    """nginx: 128 on a connection; Envoy: 1,024 on all of them together."""
    with (
        Server(reversid, "memory:") as server,
        proxy([server.address] * 2) as (stub, address),
        ExitStack() as open_channels,
    ):
        game, _ = new_game(stub)
        request = WatchGameRequest(game_id=game.game_id)
        own = [("grpc.use_local_subchannel_pool", 1)]
        connections, each = (1, 150) if proxy.kind == "nginx" else (2, 600)
        for _ in range(connections):
            channel = open_channel(address, certificate.credentials, own)
            watcher = GameServiceStub(open_channels.enter_context(channel))
            streams = [watcher.WatchGame(request, timeout=60) for _ in range(each)]
            assert all(next(stream).snapshot == game for stream in streams)


def test_replicas_are_rolled_amid_a_game(proxy, reversid, rng, tmp_path):
    """Players and a watcher behind the proxy notice nothing; no replica cuts anything off."""
    with redis(tmp_path) as store:
        first, second = Server(reversid, store), Server(reversid, store)
        with proxy([first.address, second.address]) as (stub, _):
            table = WatchedTable(stub, rng, Rules(players=2))
            with second:
                table.play_to(10)
                with first:
                    pass
                table.play_to(20)
                replaced = Server(reversid, store, listen=first.address)
            with replaced:
                check_history(table.play_out())
    assert table.watcher.kinds.count("snapshot") == 1
    assert "caught_up" in table.watcher.kinds, "the watch was never moved to another replica"


def test_a_client_balances_by_itself(reversid, rng, tmp_path):
    """As the documents set it up: both replicas answer, and one alone when the other goes."""
    [config] = re.findall(r"```json\n(.*?)```", DEPLOYMENT.read_text(), re.DOTALL)
    # A name that stands for both; of two addresses gRPC would make an authority that is none.
    options = [("grpc.service_config", config), ("grpc.default_authority", "reversid")]
    with redis(tmp_path) as store, Server(reversid, store, flags=CALLS_LOGGED) as staying:
        with Server(reversid, store, flags=CALLS_LOGGED) as going:
            address = f"ipv4:{staying.address},{going.address}"
            channel = open_channel(address, options=options)
            stub = GameServiceStub(channel)
            table = WatchedTable(stub, rng, Rules(players=2))
            table.play_to(22)
            for server in staying, going:
                assert server.log.count("/MakeMove") >= 8
        with channel:
            table.play_out()


def test_a_refusal_comes_through_whole(proxy, reversid, certificate):
    """With every detail there can be; and that of a message which is much too large."""
    with (
        Server(reversid, "memory:") as server,
        proxy([server.address] * 2) as (stub, address),
    ):
        labels = {f"{number:02}\n" + "k" * 61: "v" for number in range(33)}
        error = refusal(stub.CreateGame, CreateGameRequest(labels=labels))
        assert (error.code(), reason(error)) == (Code.INVALID_ARGUMENT, "INVALID_FIELD")
        assert len(bad_fields(error)) == 21

        large = GetGameRequest(game_id="x" * 3_000_000)
        error = refusal(stub.GetGame, large)
        assert (error.code(), reason(error)) == (Code.RESOURCE_EXHAUSTED, "LIMIT_REACHED")
        assert metadata(error)["limit"] == "message_bytes"
        assert page(address, certificate, "GetGame", large).headers["grpc-status"] == "8"


def test_a_replica_that_is_away_is_not_noticed(proxy, reversid):
    """Not by a single call, though none is repeated by its caller."""
    with (
        Server(reversid, "memory:") as server,
        proxy([server.address, f"127.0.0.1:{free_port()}"]) as (stub, _),
    ):
        for _ in range(20):
            assert stub.CreateGame(CreateGameRequest(), timeout=5).game.game_id


@pytest.mark.parametrize("proxy", ["envoy"], indirect=True)
def test_a_replica_that_is_not_ready_gets_no_calls(proxy, reversid):
    """It is well, but its store is away; Envoy asks its health, which nginx cannot."""
    away = f"redis://127.0.0.1:{free_port()}"
    with (
        Server(reversid, "memory:") as ready,
        Server(reversid, away) as waiting,
        proxy([ready.address, waiting.address]) as (stub, _),
    ):
        for _ in range(20):
            assert stub.CreateGame(CreateGameRequest(), timeout=5).game.game_id


def test_without_replicas_a_caller_is_told_to_come_again(proxy, reversid, certificate):
    """As UNAVAILABLE without details, which means "outcome unknown"; and it is answered later."""
    replica = f"127.0.0.1:{free_port()}"
    with proxy([replica] * 2) as (stub, address):
        error = refusal(stub.CreateGame, CreateGameRequest())
        assert (error.code(), reason(error)) == (Code.UNAVAILABLE, "")
        answer = page(address, certificate, "GetGame", GetGameRequest(game_id="none"))
        told = answer.headers["grpc-status"] or answer.status
        assert told in ("14", 503)
        if told == "14":
            assert answer.headers["content-type"] == "application/grpc-web+proto"
        assert answer.headers["access-control-allow-origin"] == "*"
        with Server(reversid, "memory:", listen=replica):
            assert call(stub.CreateGame, CreateGameRequest(), attempts=20).game.game_id


def test_a_page_calls_and_watches_over_http_1(proxy, reversid, certificate):
    """gRPC-Web: preflight, answer, refusal, and each message of a watch as it is sent."""
    with (
        Server(reversid, "memory:") as server,
        proxy([server.address] * 2) as (stub, address),
    ):
        game, token = new_game(stub)
        preflight = page(address, certificate, "GetGame", verb="OPTIONS")
        assert preflight.status == 200
        assert preflight.headers["access-control-allow-origin"] == "*"

        answer = page(address, certificate, "GetGame", GetGameRequest(game_id=game.game_id))
        flag, message = frame(answer)
        assert (flag, GetGameResponse.FromString(message).game) == (0, game)
        assert b"grpc-status:0" in frame(answer)[1]

        refused = page(address, certificate, "GetGame", GetGameRequest(game_id="none"))
        assert refused.headers["grpc-status"] == "5"
        assert refused.headers["grpc-status-details-bin"]
        assert "grpc-status-details-bin" in refused.headers["access-control-expose-headers"]

        stream = page(address, certificate, "WatchGame", WatchGameRequest(game_id=game.game_id))
        assert WatchGameResponse.FromString(frame(stream)[1]).snapshot == game
        event = abort(stub, game, token)
        assert WatchGameResponse.FromString(frame(stream)[1]).event == event
        assert WatchGameResponse.FromString(frame(stream)[1]).HasField("end")
        assert b"grpc-status:0" in frame(stream)[1]


def new_game(stub) -> tuple[Game, str]:
    """A game of two, and its owner's token."""
    seats = [NewSeat(player_id="ann"), NewSeat(player_id="ben")]
    created = call(stub.CreateGame, CreateGameRequest(seats=seats))
    return created.game, created.owner_token


def abort(stub, game: Game, token: str):
    """Ends the game, and returns the event."""
    request = AbortGameRequest(game_id=game.game_id, owner_token=token)
    return call(stub.AbortGame, request).event


def refusal(method, request) -> grpc.RpcError:
    """The error that the call ends with, at once."""
    with pytest.raises(grpc.RpcError) as caught:
        method(request, timeout=5)
    return caught.value


def page(address: str, certificate, method: str, message=None, verb: str = "POST"):
    """What a page of another origin is answered, over HTTP/1.1."""
    trust = ssl.create_default_context(cafile=certificate.path)
    host, port = address.split(":")
    connection = http.client.HTTPSConnection(host, int(port), timeout=10, context=trust)
    headers = {"origin": "https://play.example", "content-type": "application/grpc-web+proto"}
    if verb == "OPTIONS":
        headers = {**headers, "access-control-request-method": "POST"}
    sent = message.SerializeToString() if message else b""
    body = b"\0" + len(sent).to_bytes(4, "big") + sent if message else None
    connection.request(verb, f"/reversi.v1.GameService/{method}", body, headers)
    return connection.getresponse()


def frame(answer) -> tuple[int, bytes]:
    """The next frame of a body: its flag, which tells messages from trailers, and what is in it."""
    head = answer.read(5)
    return head[0], answer.read(int.from_bytes(head[1:], "big"))
