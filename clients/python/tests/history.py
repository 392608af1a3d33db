"""What makes a list of events a whole history."""

from reversi_client import event_digest


def check_history(record) -> None:
    """Revisions without gaps from 1, times in order, and digests that follow from the changes."""
    previous = 0
    for revision, event in enumerate(record, start=1):
        assert event.version.revision == revision
        assert event.previous_digest == previous
        assert event.version.digest == event_digest(event)
        previous = event.version.digest
    times = [event.time.ToNanoseconds() for event in record]
    assert times == sorted(times)
