"""A small client of a reversid server, made from the contract in `proto/` alone.

The generated code (see `generate.py`) has to be on the import path, as the package `reversi.v1`.
"""

from .calls import call, connect, open_channel
from .digest import canonical_bytes, digest, event_digest
from .errors import bad_fields, metadata, reason
from .watch import BrokenHistory, watch

__all__ = [
    "BrokenHistory",
    "bad_fields",
    "call",
    "canonical_bytes",
    "connect",
    "digest",
    "event_digest",
    "metadata",
    "open_channel",
    "reason",
    "watch",
]
