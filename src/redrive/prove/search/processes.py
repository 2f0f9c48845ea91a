"""A search in several processes, which plays the same histories, counts the same and finds the same as in one.

    parent      plays the first histories itself; then it keeps the order: takes up one history after another, and
                knows all moments that were come to
    children    copies of the parent's process, which know what it knew; each plays the histories that grow from its
                part of those that waited then, ahead of the parent, and says of each which moments it has come to, and
                whether it knew them

There are children once the histories with the most faults begin, or earlier where each history takes long. A short
search has none.

A child that is ahead does not know yet what others will have come to before. So the parent compares: where the child
has gone on from a moment that was known by then, or the other way round, the child plays that history again, with what
the parent knows. That is cheap, for its answers are known.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Protocol, cast

from redrive.core.clock import Instant, monotonic_ms
from redrive.core.errors import Bug
from redrive.prove.play.faults import LETS_IN
from redrive.prove.process.threads import Unordered
from redrive.prove.search.order import Key, Played, Progress, Searched, Visit, is_visited, searched_by
from redrive.prove.search.search import Search
from redrive.prove.search.stems import Stem

AHEAD_MAX = 5_000
"""How many histories a child plays before the parent has taken them up. The parent takes up all that follow from one
history of a child before those of the next child: with 24, one of two children waited most of the time."""

SHARED_MIN = 256
"""How many histories wait at least before there are children: fewer are played in the time that children take."""
ALONE_MS_MAX = 3_000
"""How long the parent plays alone at most, where that many wait. It knows more than any child will."""
_USUAL_MAX = 8
_UNKNOWN = -1
"""In place of a child's number: of a history that waited when there were no children."""

_Marks = Sequence[tuple[Key, bool]]


class _Pipe(Protocol):
    """One end of a pipe between the parent and a child."""

    def send(self, obj: object, /) -> None: ...

    def recv(self) -> object: ...

    def poll(self) -> bool: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class _Task:
    """A history that waits in a child."""

    child: int
    faults: int
    trying: str


@dataclass(frozen=True, slots=True)
class _Done:
    """A history that a child has played, the how many-th time, and what waits after it."""

    number: int
    turn: int
    played: Played
    more: Sequence[tuple[int, str]]
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class _Order:
    """What the parent says: moments that were come to, and that a history stands as it was played, or comes again."""

    marks: _Marks
    stands: bool


def usual_jobs() -> int:
    """How many processes search unless somebody says so: one for each processor that this process may use.

    One where copies of a process with threads are not safe: macOS says so of its own libraries. More processes than
    some wait for each other, and for the parent.
    """
    if sys.platform != "linux":
        return 1
    return min(len(os.sched_getaffinity(0)), _USUAL_MAX)


def may_fork() -> bool:
    """Whether processes can be copied here."""
    return "fork" in multiprocessing.get_all_start_methods()


def search_in_processes(
    search: Search, jobs: int, progress: Progress, may_go_on: Callable[[], bool],
    now_ms: Callable[[], float] = monotonic_ms,
) -> Searched:  # fmt: skip
    """Search in so many processes. Errors: as a search in one process."""
    first = search.begin()
    with ExitStack() as stack:
        parent = _Parent(search, first, lambda parts: stack.enter_context(_children(search, parts)), jobs, now_ms)
        return searched_by(parent.play, _task_of(first), progress, may_go_on, faults_max=search.faults_max)


def _alike(stem: Stem) -> tuple[Instant, int]:
    return stem.moment.saved.now, _work(stem)


def _work(stem: Stem) -> int:
    """How long a history takes, by its last fault: one more run, with new messages, takes about three times."""
    return 1 if stem.leg.strikes and stem.leg.strikes[-1].fault not in LETS_IN else 3


def _task_of(stem: Stem) -> _Task:
    return _Task(_UNKNOWN, stem.faults, stem.trying)


@dataclass(slots=True)
class _Child:
    """What the parent has of a child."""

    pid: int
    orders: _Pipe
    reader: threading.Thread
    """Reads what it has played into `done`, until it has ended."""
    done: SimpleQueue[_Done | None]
    pending: list[tuple[Key, bool]] = field(default_factory=list)
    """The moments that it is not told of yet."""
    early: deque[_Done] = field(default_factory=deque)
    """Histories that it had played before it was told to play one again."""
    taken: int = 0

    def order(self, *, stands: bool) -> None:
        """Tell the child about the history that is taken up. One that has ended says why with its next history."""
        marks, self.pending = self.pending, []
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.orders.send(_Order(marks, stands))

    def next(self, number: int, turn: int) -> _Done:
        """A history that it has played. Errors: as the child met them."""
        for early in self.early:
            if (early.number, early.turn) == (number, turn):
                self.early.remove(early)
                return early
        while True:
            one = self.done.get()
            if one is None:
                raise Bug(f"a process of the search has ended: {self.pid}")
            if one.error is not None:
                raise one.error
            if (one.number, one.turn) == (number, turn):
                return one
            self.early.append(one)


class _Parent:
    """Takes the histories up in their order."""

    def __init__(
        self, search: Search, first: Stem, fork: Callable[[Sequence[Sequence[Stem]]], Sequence[_Child]], jobs: int,
        now_ms: Callable[[], float],
    ) -> None:  # fmt: skip
        self._search = search
        self._fork = fork
        self._jobs = jobs
        self._now_ms = now_ms
        self._until_ms = now_ms() + ALONE_MS_MAX
        self._own = deque([first])
        """The histories that wait, while there are no children."""
        self._children: Sequence[_Child] = ()
        self._shared: deque[int] = deque()
        """The children that have those histories which waited when the children began."""
        self._visited = search.visited

    def play(self, task: _Task) -> tuple[Played, Sequence[_Task]]:
        """Take up a history, wherever it is played."""
        if task.child != _UNKNOWN:
            return self.take_up(task.child)
        is_long = task.faults == self._search.faults_max or self._now_ms() >= self._until_ms
        if not self._children and is_long and len(self._own) >= SHARED_MIN:
            self._share()
        if self._children:
            return self.take_up(self._shared.popleft())
        played = self._search.play(self._own.popleft())
        self._own.extend(played.stems)
        return played, list(map(_task_of, played.stems))

    def _share(self) -> None:
        """Give all histories that wait to children: as much work to each, and those that go on alike to the same one.

        Queues and timers are most alike where time is the same. A child knows the answers that it has asked for itself.
        """
        alike: defaultdict[tuple[Instant, int], int] = defaultdict(int)
        for stem in self._own:
            alike[_alike(stem)] += _work(stem)
        loads, of_child = [0] * self._jobs, {}
        for one, load in sorted(alike.items(), key=lambda pair: -pair[1]):
            of_child[one] = min(range(self._jobs), key=lambda number: loads[number])
            loads[of_child[one]] += load
        parts: list[list[Stem]] = [[] for _ in range(self._jobs)]
        for stem in self._own:
            number = of_child[_alike(stem)]
            parts[number].append(stem)
            self._shared.append(number)
        self._children = self._fork(parts)

    def take_up(self, of_child: int) -> tuple[Played, Sequence[_Task]]:
        """The next history of a child, as it goes after all that came before."""
        child = self._children[of_child]
        number, turn = child.taken, 0
        done = child.next(number, turn)
        while (marks := self._marks_of(done.played.visits)) is None:
            if turn > 1:
                raise Bug("a history is another one each time that it is played")
            child.order(stands=False)
            turn += 1
            done = child.next(number, turn)
        child.taken += 1
        self._visited.update(marks)
        for one in self._children:
            one.pending.extend(marks.items())
        child.order(stands=True)
        return done.played, [_Task(of_child, faults, trying) for faults, trying in done.more]

    def _marks_of(self, visits: Sequence[Visit]) -> Mapping[Key, bool] | None:
        """The moments that a history has come to first; None if it was played with other knowledge than there is."""
        marks: dict[Key, bool] = {}
        for one in visits:
            is_known = is_visited(marks if one.key in marks else self._visited, one.key, may_fail=one.may_fail)
            if is_known is not one.was_known:
                return None
            if not is_known:
                marks[one.key] = one.may_fail
        return marks


@contextmanager
def _children(search: Search, parts: Sequence[Sequence[Stem]]) -> Iterator[Sequence[_Child]]:
    """A child for each part of the histories that wait."""
    children: list[_Child] = []
    try:
        children.extend(_forked(search, part) for part in parts)
        yield children
    finally:
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGKILL)
            os.waitpid(child.pid, 0)
            child.reader.join()  # It may be in the middle of a history.
            child.orders.close()


def _forked(search: Search, stems: Sequence[Stem]) -> _Child:
    """Start a child. What it has played is read by a thread, so that neither waits for the other to read."""
    pipe: tuple[_Pipe, _Pipe] = multiprocessing.Pipe()
    ours, theirs = pipe
    pid = os.fork()
    if not pid:
        status = 1
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # The parent decides what Ctrl-C ends.
            ours.close()
            _Ahead(search, theirs).work(stems)
            status = 0
        finally:
            os._exit(status)
    theirs.close()
    done: SimpleQueue[_Done | None] = SimpleQueue()

    def read() -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                done.put(cast("_Done", ours.recv()))
        done.put(None)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    return _Child(pid, ours, reader, done)


class _Ahead:
    """A child: plays its histories in their order, ahead of the parent."""

    def __init__(self, search: Search, parent: _Pipe) -> None:
        self._search = search
        self._parent = parent
        self._waiting: deque[Stem] = deque()
        self._ahead: deque[tuple[int, Stem, Played]] = deque()
        """The histories that the parent has not taken up."""
        self._known = dict(search.visited)
        """The moments that all histories have come to that were taken up."""
        self._turns = 0
        self._number = 0

    def work(self, stems: Sequence[Stem]) -> None:
        """Play until the parent ends this process, or is gone."""
        self._waiting.extend(stems)
        with contextlib.suppress(EOFError, OSError):
            while True:
                if self._waiting and len(self._ahead) < AHEAD_MAX and not self._parent.poll():
                    stem = self._waiting.popleft()
                    self._ahead.append((self._number, stem, self._play(self._number, 0, stem)))
                    self._number += 1
                else:
                    self._obey(cast("_Order", self._parent.recv()))

    def _obey(self, order: _Order) -> None:
        self._known.update(order.marks)
        number, stem, played = self._ahead.popleft()
        if order.stands:
            self._turns = 0
            self._waiting.extend(played.stems)
            self._search.visited.update(order.marks)
            return
        self._turns += 1
        tentative, self._search.visited = self._search.visited, dict(self._known)
        played = self._play(number, self._turns, stem)
        tentative.update(self._search.visited)
        self._search.visited = tentative
        self._ahead.appendleft((number, stem, played))

    def _play(self, number: int, turn: int, stem: Stem) -> Played:
        try:
            played = self._search.play(stem)
        except (Exception, Unordered) as error:
            self._parent.send(_Done(number, turn, Played(), (), error))
            raise
        more = [(one.faults, one.trying) for one in played.stems]
        told = Played(played.runs, played.merged, played.found, [], played.visits)
        self._parent.send(_Done(number, turn, told, more))
        return played
