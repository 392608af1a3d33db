"""What an error says beside its code: the reason and the values that are in its details."""

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status


def reason(error: grpc.RpcError) -> str:
    """The reason, such as "ILLEGAL_MOVE"; empty for an error that the service did not make."""
    return _detail(error, error_details_pb2.ErrorInfo).reason


def metadata(error: grpc.RpcError) -> dict[str, str]:
    """The values that go with the reason, such as `current_revision`."""
    return dict(_detail(error, error_details_pb2.ErrorInfo).metadata)


def bad_fields(error: grpc.RpcError) -> list[str]:
    """The names of the request's fields that are at fault."""
    return [fault.field for fault in _detail(error, error_details_pb2.BadRequest).field_violations]


def _detail(error: grpc.RpcError, kind):
    """The first detail of this kind, or an empty one."""
    found = kind()
    status = rpc_status.from_call(error)
    for detail in status.details if status else ():
        if detail.Unpack(found):
            break
    return found
