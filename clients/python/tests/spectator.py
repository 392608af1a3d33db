"""A watcher in a thread of its own, who keeps everything that it was sent."""

import threading

from reversi_client import watch

LIMIT_SECONDS = 30


class Spectator:
    """Watches until the end, or hangs up right after the event of revision `leave_after`."""

    def __init__(self, stub, game_id: str, after=None, leave_after: int | None = None):
        self.messages = []
        self._watch = watch(stub, game_id, after)
        self._leave_after = leave_after
        self._failure: Exception | None = None
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            for message in self._watch:
                with self._changed:
                    self.messages.append(message)
                    self._changed.notify_all()
                if self._leave_after and message.event.version.revision == self._leave_after:
                    self._watch.close()
                    break
        except Exception as failure:
            self._failure = failure
        finally:
            with self._changed:
                self._changed.notify_all()

    def wait_for(self, kind: str) -> None:
        """Waits for the first message of this kind."""
        with self._changed:
            arrived = self._changed.wait_for(
                lambda: self._failure or kind in self.kinds, timeout=LIMIT_SECONDS
            )
        if self._failure:
            raise self._failure
        assert arrived, f"no {kind} came, but {self.kinds}"

    def finish(self) -> None:
        """Waits until the watch is over."""
        self._thread.join(LIMIT_SECONDS)
        if self._failure:
            raise self._failure
        assert not self._thread.is_alive(), f"the watch goes on; it saw {self.kinds}"

    @property
    def kinds(self) -> list[str]:
        """The kinds of what came, in order."""
        return [message.WhichOneof("message") for message in self.messages]

    @property
    def events(self) -> list:
        """The events that came, in order."""
        return [m.event for m in self.messages if m.WhichOneof("message") == "event"]
