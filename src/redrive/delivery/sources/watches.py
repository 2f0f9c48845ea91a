"""Watches: whoever reads from something is told when there may be something to read, and looks at nothing until then.

A reader has a timer, and a watch on the ARN that it reads from. Whoever puts something there, or makes something
visible again, says so by `arrived`, which has the timers of the readers due at that instant or before. What nobody
watches costs nothing. Timers and watches are rows: no crash loses them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.scope import Scope
from redrive.store.api import Transaction

_EVERYWHERE = Scope("delivery", "all")
"""An ARN says itself which account and region it is of; its readers may be of others."""


@dataclass(frozen=True, slots=True)
class Reader:
    """The timer of whoever reads: its kind, and its name within the kind."""

    kind: str
    timer: str


@dataclass(frozen=True, slots=True)
class Watch:
    """Who reads from an ARN."""

    KIND: ClassVar[str] = "delivery.watch"

    arn: str
    readers: tuple[Reader, ...] = ()

    @property
    def name(self) -> str:
        """The ARN."""
        return self.arn


def watch(tx: Transaction, arn: str, reader: Reader) -> None:
    """Have a reader told of what arrives at an ARN from now on. Costs nothing if it is told already."""
    known = _of(tx, arn) or Watch(arn)
    if reader not in known.readers:
        tx.resources.put(_EVERYWHERE, replace(known, readers=(*known.readers, reader)))


def unwatch(tx: Transaction, arn: str, reader: Reader) -> None:
    """Tell a reader no more."""
    known = _of(tx, arn)
    if known is None:
        return
    left = tuple(one for one in known.readers if one != reader)
    if left:
        tx.resources.put(_EVERYWHERE, replace(known, readers=left))
    else:
        tx.resources.delete(Watch, _EVERYWHERE, arn)


def arrived(tx: Transaction, arn: str, at: Instant) -> None:
    """Something may be read at an ARN from this instant on, which may lie in the future."""
    known = _of(tx, arn)
    if known is None:
        return
    for reader in known.readers:
        if tx.timers.hasten(reader.kind, reader.timer, at):
            tx.notify("due")


def _of(tx: Transaction, arn: str) -> Watch | None:
    return tx.resources.get(Watch, _EVERYWHERE, arn)
