"""What goes wrong for real is told by the alerts that are for it, and by no other."""

from contextlib import suppress

import grpc

from reversi.v1.game_service_pb2 import GetGameRequest
from reversi_client import connect
from stack import Stack, wait_for

NO_STORE = {"ReversidStoreUnreachable", "ReversidReplicaNotReady"}
NO_ANSWERS = {"ReversidErrors", "ReversidErrorsPersist"}


def test_incidents_are_told_by_their_alerts(reversid, prometheus, tmp_path):
    """Redis goes and comes back; then one replica goes, then the other."""
    with Stack(reversid, prometheus, tmp_path, hurry=True) as stack:
        alerts = stack.prometheus
        one, other = stack.replicas

        def called_and_firing() -> set[str]:
            with suppress(grpc.RpcError):
                stub.GetGame(GetGameRequest(game_id="none"), timeout=5)
            return alerts.firing()

        with connect(one.address) as stub:
            wait_for(
                lambda: len(alerts.get("query", query="up == 1")["result"]) == 2, "both are up"
            )
            wait_for(lambda: called_and_firing() == set(), "all is well")
            stack.stop_redis()
            wait_for(lambda: called_and_firing() == NO_STORE | NO_ANSWERS, "the outage is told")
            stack.start_redis()
            wait_for(lambda: called_and_firing() == set(), "its end is told")
        other.stop()
        wait_for(lambda: alerts.firing() == {"ReversidReplicaDown"}, "one replica is missed")
        one.stop()
        both = {"ReversidDown", "ReversidReplicaDown"}
        wait_for(lambda: alerts.firing() == both, "both are missed")
