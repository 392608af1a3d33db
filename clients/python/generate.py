"""Generates the messages and the gRPC stub from ../../proto into ./generated, never committed."""

import sys
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
PROTO = REPOSITORY / "proto"
GENERATED = HERE / "generated"


def generate() -> Path:
    """Writes the generated code and returns the folder that belongs on the import path."""
    GENERATED.mkdir(exist_ok=True)
    arguments = [
        "protoc",
        f"--proto_path={PROTO}",
        f"--proto_path={files('grpc_tools') / '_proto'}",
        f"--python_out={GENERATED}",
        f"--grpc_python_out={GENERATED}",
        *(str(path) for path in sorted(PROTO.rglob("*.proto"))),
    ]
    if protoc.main(arguments) != 0:
        sys.exit(f"could not generate code from {PROTO}")
    return GENERATED


if __name__ == "__main__":
    print(generate())
