"""A generic client finds the service, and a load balancer its health, on the same port."""

import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)


@pytest.mark.parametrize("service", ["", "reversi.v1.GameService"])
def test_the_server_says_that_it_serves(channel, service):
    """As a whole, and for the service by name."""
    answer = HealthStub(channel).Check(HealthCheckRequest(service=service), timeout=5)
    assert answer.status == HealthCheckResponse.SERVING


def test_reflection_lists_and_describes_the_service(channel):
    """With its methods, over v1alpha, which is all that Python's library speaks."""
    database = ProtoReflectionDescriptorDatabase(channel)
    assert {"reversi.v1.GameService", "grpc.health.v1.Health"} <= set(database.get_services())
    file = database.FindFileContainingSymbol("reversi.v1.GameService")
    methods = [method.name for service in file.service for method in service.method]
    assert {"CreateGame", "MakeMove", "WatchGame", "ListGameEvents"} <= set(methods)
