"""The execution environments of a history: which of them are idle, and which one a run is given.

Lambda keeps the environment of a run that has returned or raised, and may give it to the next run of the function: the
modules are not imported again. A run that dies or times out takes its environment with it. Two runs at once are never
in the same one.

Source: https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256

from redrive.prove.play.faults import Reuse
from redrive.prove.process.files import TEMPORARY
from redrive.prove.process.memory import Memory, memory_of
from redrive.prove.process.subject import Modules, Subject

KEPT_MAX = 2
"""So many idle environments of a function are kept: the two that were used last."""


@dataclass(frozen=True, slots=True)
class Idle:
    """An environment in which no run is under way."""

    function: str
    run: int
    """The number of its last run."""
    modules: Modules
    memory: Memory
    files: Mapping[str, bytes]
    """What is under /tmp."""
    remembers: tuple[str, ...]
    """The names of its modules that hold something else than after an import."""
    has_asked: bool
    """Whether its modules have made a call while they were imported: another import may be told something else."""
    told: str
    """What it remembers, as text."""


@dataclass(slots=True)
class Environment:
    """The environment of a run. Its memory is put back before the code runs, which it seldom does."""

    modules: Modules = field(default_factory=dict)
    idle: Idle | None = None
    """What it was before this run; None for a new one."""
    is_begun: bool = False
    """Whether its modules are imported."""
    has_asked: bool = False
    """Whether its modules have made a call while they were imported."""

    def wake(self) -> None:
        """Have the modules remember what they did."""
        if self.idle is not None:
            self.idle.memory.put_back()


class Environments:
    """The idle environments of a history."""

    def __init__(self, *, are_kept: bool) -> None:
        """Where environments are not kept, each run is in a new one."""
        self.are_kept = are_kept
        self.idle: tuple[Idle, ...] = ()
        """Those that were used last come first."""
        self.reuse = Reuse.NEW
        self.unkept = ""
        """Why an environment could not be kept; empty if each could."""
        self._new: dict[str, Memory] = {}

    def choices(self) -> tuple[Reuse, ...]:
        """Which environments the next runs can have, besides a new one."""
        most = max((sum(one.function == idle.function for one in self.idle) for idle in self.idle), default=0)
        return (Reuse.SAME, Reuse.EARLIER)[:most]

    def told(self) -> str:
        """The idle environments as text: two histories in which it is equal continue alike."""
        return "" if not self.idle else repr([(one.function, one.told) for one in self.idle])

    def take(self, function: str) -> Environment:
        """The environment for the next run of a function."""
        if not self.are_kept:
            return Environment()
        own = [one for one in self.idle if one.function == function]
        if self.reuse is Reuse.NEW or not own:
            return Environment()
        found = own[-1] if self.reuse is Reuse.EARLIER else own[0]
        self.idle = tuple(one for one in self.idle if one is not found)
        return Environment(dict(found.modules), found, has_asked=found.has_asked)

    def begin(self, environment: Environment, subject: Subject, *, asked: int) -> None:
        """The modules of an environment are there, after so many calls, and its run begins."""
        environment.is_begun = True
        if environment.idle is not None:
            return
        environment.has_asked = asked > 0
        if self.are_kept and subject.name not in self._new:
            self._new[subject.name] = memory_of(environment.modules)

    def give_back(
        self, environment: Environment, subject: Subject, function: str, run: int, files: Mapping[str, bytes]
    ) -> Idle | None:
        """A run has ended, and its process lives: its environment, if it is kept. One that is as a new one is not."""
        if not self.are_kept or not environment.is_begun or not environment.modules:
            return None
        memory, new = memory_of(environment.modules), self._new[subject.name]
        if memory.unkept:
            self.unkept = memory.unkept
            return None
        if memory.told == new.told and not environment.has_asked and not files:
            return None
        idle = Idle(
            function, run, environment.modules, memory, files, (*memory.names_changed(new), *map(_under_tmp, files)),
            environment.has_asked, _told(memory, files),
        )  # fmt: skip
        self._keep(idle)
        return idle

    def keep_again(self, idle: Idle, run: int, running: Iterable[Environment]) -> bool:
        """Keep an environment as an equal run has left it; False if another one of this history has its modules."""
        others = [one.modules for one in running] + [one.modules for one in self.idle]
        used = {id(module) for modules in others for module in modules.values()}
        if any(id(module) in used for module in idle.modules.values()):
            return False
        self._keep(replace(idle, run=run))
        return True

    def _keep(self, idle: Idle) -> None:
        others = [one for one in self.idle if one.function == idle.function]
        dropped = others[KEPT_MAX - 1 :]
        self.idle = (idle, *(one for one in self.idle if one not in dropped))


def _told(memory: Memory, files: Mapping[str, bytes]) -> str:
    contents = [(name, sha256(content).hexdigest()) for name, content in sorted(files.items())]
    return repr((sorted(memory.told.items()), contents))


def _under_tmp(name: str) -> str:
    return f"{TEMPORARY}/{name}"
