"""Which faults a search tries: all of them, only some, or all but some.

The names are those of the faults and acts in a history, and of groups of them. A redrive is a person's act, and no
fault: it is left out only by its name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redrive.core.errors import UserError
from redrive.prove.play.faults import SENDS_AGAIN, Act, Fault

Kind = Fault | Act
"""What a history can have that a clean run has not."""

FAULTS: frozenset[Kind] = frozenset({*Fault, *SENDS_AGAIN}) - {Fault.BESIDE}
"""What counts as a fault."""

GROUPS: Mapping[str, frozenset[Kind]] = {
    "crash": frozenset({Fault.CRASH_BEFORE, Fault.CRASH_AFTER}),
    "answer": frozenset({Fault.LOST, Fault.LOST_AND_RETRIED, Fault.BAD_GATEWAY, Fault.PARTLY_REFUSED}),
    "throttle": frozenset({Fault.THROTTLED, Fault.OUTAGE}),
    "http": frozenset({Fault.UNREACHED, Fault.BAD_GATEWAY}),
    "duplicate": frozenset({Act.DUPLICATE, Act.REPUBLISH, Fault.OVERLAP, Fault.OVERLAP_LATE}),
    "concurrent": frozenset({Fault.OVERLAP, Fault.OVERLAP_LATE, Fault.AGAIN, Fault.AGAIN_LATE}),
    "again": frozenset({Fault.AGAIN, Fault.AGAIN_LATE, Act.REREAD}),
}
"""A group that is called as one of its members stands for all of them."""

NAMES: Mapping[str, frozenset[Kind]] = {
    **{kind.value: frozenset({kind}) for kind in sorted({*FAULTS, Act.REDRIVE}, key=lambda kind: kind.value)},
    **GROUPS,
}
"""Everything that can be chosen."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The faults and acts that a search tries, and the words by which they were chosen."""

    allowed: frozenset[Kind] = FAULTS | {Act.REDRIVE}
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def __contains__(self, kind: Kind) -> bool:
        return kind in self.allowed

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left out."""
        return self.allowed >= FAULTS | {Act.REDRIVE}

    @property
    def told(self) -> str:
        """`only crash, lost`, `without duplicate`; empty if nothing is left out."""
        words = [
            f"{how} {', '.join(names)}" for how, names in (("only", self.only), ("without", self.without)) if names
        ]
        return " ".join(words)


EVERYTHING = Choice()


def choice_of(only: Sequence[str], without: Sequence[str]) -> Choice:
    """The faults of these names and groups, or all but these. Errors: UserError."""
    kinds = _kinds(only, "--only") & FAULTS if only else FAULTS
    chosen = (kinds | {Act.REDRIVE}) - _kinds(without, "--without")
    if only and not chosen & FAULTS:
        raise UserError(
            f"No fault is left: --only {' --only '.join(only)}{''.join(f' --without {one}' for one in without)}.",
            next_step=f"Faults are {', '.join(sorted(NAMES))}.", exit_code=2,
        )  # fmt: skip
    return Choice(chosen, tuple(only), tuple(without))


def _kinds(names: Sequence[str], option: str) -> frozenset[Kind]:
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise UserError(
            f"{option} {unknown[0]}: there is no such fault.",
            next_step=f"Faults are {', '.join(sorted(NAMES))}.", exit_code=2,
        )  # fmt: skip
    return frozenset(kind for name in names for kind in NAMES[name])
