"""The node of a server: its clock, which the driver moves, and its whole store. Implements `delivery.node.Node`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from redrive import __version__
from redrive.core.clock import Clock, Instant, format_instant
from redrive.core.documents import Document
from redrive.core.errors import UserError
from redrive.delivery.node import StoppedError
from redrive.engine.driver import Driver, VirtualDrive
from redrive.engine.node_store import StoreFile


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts that a server reports about itself."""

    account: str
    store: str


class ServerNode:
    """Implements delivery.node.Node for a server."""

    def __init__(
        self, facts: Facts, clock: Clock, driver: Driver, *, reset: Callable[[], None], file: StoreFile,
        nodes: Callable[[], Sequence[Document]],
    ) -> None:  # fmt: skip
        """`reset` deletes all state of the store. `nodes`: what the servers on it say of themselves."""
        self._facts = facts
        self._clock = clock
        self._driver = driver
        self._reset = reset
        self._file = file
        self._nodes = nodes

    def health(self) -> Document:
        """See Node."""
        return {"status": "ok", "version": __version__, "account": self._facts.account, "store": self._facts.store}

    def nodes(self) -> list[Document]:
        """See Node."""
        return list(self._nodes())

    def clock(self) -> Document:
        """See Node."""
        now = self._clock.now()
        kind = "virtual" if self._clock.is_virtual else "real"
        target = self._driver.target if isinstance(self._driver, VirtualDrive) else None
        moves = {} if target is None else {"moves_to": format_instant(target), "moves_to_ms": target}
        return {"clock": kind, "now": format_instant(now), "now_ms": now} | moves

    def advance_to(self, target: Instant, is_wanted: Callable[[], bool]) -> None:
        """See Node."""
        if not isinstance(self._driver, VirtualDrive):
            raise UserError(
                "This server runs in real time; its clock cannot be moved.",
                next_step="Start it with: redrive serve --clock virtual",
            )
        try:
            stands_at = self._driver.advance_to(target, is_wanted=is_wanted)
        except ValueError as error:
            next_step = "See where it stands: redrive clock show"
            raise UserError(f"The clock was not moved: {error}.", next_step=next_step) from error
        if stands_at < target:
            raise StoppedError(stands_at)

    def stop_clock(self) -> None:
        """See Node."""
        if isinstance(self._driver, VirtualDrive):
            self._driver.interrupt()

    def reset(self) -> None:
        """See Node."""
        self._reset()

    def report_on_store(self) -> Document:
        """See Node."""
        return self._file.report()

    def create_backup(self) -> Document:
        """See Node."""
        return self._file.create_backup()

    def backup(self) -> Document:
        """See Node."""
        return self._file.backup()

    def backup_content(self, id: int, offset: int) -> bytes | None:
        """See Node."""
        return self._file.backup_content(id, offset)

    def delete_backup(self) -> None:
        """See Node."""
        self._file.delete_backup()
