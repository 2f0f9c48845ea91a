"""Runs the threads and coroutines of a run in sequence, so that its calls come in the same order each time.

A function submitted to a pool (or to `asyncio.to_thread`, which has one) runs where it is submitted; a thread runs to
its end where it is started. A wait with a timeout waits in virtual time. A handler whose threads wait for each other
cannot run so, and neither can calls of threads that run on by themselves (daemons, timers): the proof reports that,
without a verdict on the handler.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import itertools
import selectors
import threading
from asyncio.base_events import BaseEventLoop
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import get_ident
from typing import Protocol
from weakref import WeakSet

from redrive.core.clock import SECOND_MS, Instant
from redrive.core.errors import UserError
from redrive.prove.process.surroundings import Sleep, replaced

LOOK_S = 0.05
"""How long a wait with a timeout is left to threads that run on by themselves, before virtual time passes."""
PATIENCE_S = 2.0
"""The same for a wait without a timeout. It is one wait: between two, the end of the wait could be missed."""

_MEND = "Prove it with one thread: with a pool of the handler's own replaced, or with a concurrency of 1."


Coro = Coroutine[object, None, object]


class Function(Protocol):
    """A function submitted to a pool."""

    def __call__(self, *args: object, **named: object) -> object: ...


class Loops:
    """The event loops that a run has made. Each has open files, which are few."""

    def __init__(self) -> None:
        self.made: list[BaseEventLoop] = []
        self.are_kept = False
        """Whether the run's environment is kept, and they with it."""

    def close(self) -> None:
        """Close them, unless they are kept."""
        for loop in () if self.are_kept else self.made:
            if not loop.is_running():
                loop.close()


class Unordered(BaseException):
    """The handler's threads cannot run in sequence. Not an Exception, so that the handler does not catch it."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what

    def as_user_error(self) -> UserError:
        """The message for the user."""
        return UserError(f"The calls of the handler come in no order of their own: {self.what}.", next_step=_MEND)


class Threads:
    """Whose turn it is among the threads of the process, while a handler runs."""

    def __init__(
        self, is_running: Callable[[], bool], now: Callable[[], Instant], sleep: Sleep, leave: Callable[[], None]
    ) -> None:
        """`is_running` says whether code of the handler is running; `sleep` advances virtual time.

        `leave` raises what ends a run if the run has ended already: code on its way out waits for nothing.
        """
        self.trouble: Unordered | None = None
        """Why threads could not run in sequence; None if they could."""
        self._is_running = is_running
        self._now = now
        self._sleep = sleep
        self._leave = leave
        self._owner = get_ident()
        self._strangers: WeakSet[threading.Thread] = WeakSet()
        self._initialised: WeakSet[ThreadPoolExecutor] = WeakSet()
        self._numbers = itertools.count()
        self._loops = Loops()
        self._start_really = threading.Thread.start
        self._wait_really = threading.Condition.wait

    @property
    def is_mine(self) -> bool:
        """Whether it is this thread's turn."""
        return get_ident() == self._owner

    def refuse(self, what: str) -> Unordered:
        """Keep the reason why the threads cannot run in sequence."""
        self.trouble = self.trouble or Unordered(what)
        return self.trouble

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Replace the functions that start threads, and those that wait for them."""
        self._owner = get_ident()
        began = self._now()  # An event loop adds nanoseconds to its time, which large numbers cannot represent.
        selector = selectors.DefaultSelector
        select_really, time_really, submit_really = selector.select, BaseEventLoop.time, ThreadPoolExecutor.submit

        def submit(pool: ThreadPoolExecutor, function: Function, /, *args: object, **named: object) -> object:
            if not self._is_handlers or getattr(pool, "_shutdown", False):
                return submit_really(pool, function, *args, **named)
            return self._run_at_once(pool, lambda: function(*args, **named))

        def select(one: selectors.DefaultSelector, timeout: float | None = None) -> object:
            if not self._is_handlers:
                return select_really(one, timeout)
            return select_really(one, 0) or self._let_pass(lambda: select_really(one, 0), timeout)

        def time(loop: BaseEventLoop) -> float:
            return (self._now() - began) / SECOND_MS if self._is_handlers else time_really(loop)

        create_really, make_really = BaseEventLoop.create_task, BaseEventLoop.__init__

        def make(loop: BaseEventLoop) -> None:
            make_really(loop)
            if self._is_handlers:
                self._loops.made.append(loop)

        def create_task(loop: BaseEventLoop, coroutine: Coro, **named: object) -> asyncio.Task[object]:
            if not self._is_handlers or loop.get_task_factory() is not None:
                return create_really(loop, coroutine, **named)  # type: ignore[arg-type] # As they were given.
            return _NumberedTask(next(self._numbers), coroutine, loop=loop, **named)

        def start(thread: threading.Thread) -> None:
            self._start(thread)

        def wait(condition: threading.Condition, timeout: float | None = None) -> bool:
            if not self._is_handlers:
                return self._wait_really(condition, timeout)
            return self._wait(condition, timeout)

        transfer = importlib.import_module("boto3.s3.transfer")
        with contextlib.ExitStack() as stack:
            # Transfers by the common runtime have threads and connections of their own, which nobody sees.
            stack.enter_context(replaced(transfer, "_should_use_crt", lambda _: False))
            stack.enter_context(replaced(selector, "select", select))
            stack.enter_context(replaced(BaseEventLoop, "time", time))
            stack.enter_context(replaced(BaseEventLoop, "__init__", make))
            stack.enter_context(replaced(BaseEventLoop, "create_task", create_task))
            for place in (asyncio, asyncio.tasks):
                stack.enter_context(replaced(place, "as_completed", _as_completed))
            stack.enter_context(replaced(ThreadPoolExecutor, "submit", submit))
            stack.enter_context(replaced(threading.Thread, "start", start))
            stack.enter_context(replaced(threading.Condition, "wait", wait))
            yield

    @contextmanager
    def begun(self) -> Iterator[Loops]:
        """While entered, a run goes on: it has no event loop yet, and its threads and tasks are numbered from 0.

        Afterwards its event loops are closed, unless they are said to be kept.
        """
        numbers, policy, before = self._numbers, asyncio.get_event_loop_policy(), self._loops
        self._numbers, self._loops = itertools.count(), Loops()
        asyncio.set_event_loop_policy(_OfMainThread())
        loops = self._loops
        try:
            yield loops
        finally:
            self._numbers, self._loops = numbers, before
            asyncio.set_event_loop_policy(policy)
            loops.close()

    def idle(self, seconds: float) -> None:
        """Wait in real time, as a thread whose turn it is not."""
        threading.Event().wait(seconds)

    def beside(self, act: Callable[[], object]) -> None:
        """Run it as another process would: in a thread without an event loop, if this thread has one."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            act()
            return
        raised: list[BaseException] = []

        def run() -> None:
            try:
                act()
            except BaseException as error:  # noqa: BLE001 - It is raised again where the thread was started.
                raised.append(error)

        self._start_and_wait(threading.Thread(target=run))
        if raised:
            raise raised[0]

    @property
    def _is_handlers(self) -> bool:
        return get_ident() == self._owner and self._is_running()

    def _run_at_once(self, pool: ThreadPoolExecutor, function: Callable[[], object]) -> Future[object]:
        if pool not in self._initialised:
            self._initialised.add(pool)
            initializer = getattr(pool, "_initializer", None)
            if initializer is not None:
                initializer(*getattr(pool, "_initargs", ()))
        future = _Numbered(next(self._numbers))
        future.set_running_or_notify_cancel()
        try:
            future.set_result(function())
        except Exception as error:  # noqa: BLE001 - As in a pool: it is raised where the result is requested.
            future.set_exception(error)
        return future

    def _start(self, thread: threading.Thread) -> None:
        if not self._is_handlers:
            self._start_really(thread)
        elif thread.daemon or isinstance(thread, threading.Timer):
            self._strangers.add(thread)
            run = thread.run
            thread.run = lambda: _unless_ended(run)  # type: ignore[method-assign]
            self._given_away(lambda: self._start_really(thread))
        else:
            self._start_and_wait(thread)

    def _start_and_wait(self, thread: threading.Thread) -> None:
        run = thread.run

        def take_turn() -> None:
            self._owner = get_ident()
            _unless_ended(run)

        def start() -> None:
            self._start_really(thread)
            thread.join()

        thread.run = take_turn  # type: ignore[method-assign]
        self._given_away(start)

    def _given_away(self, act: Callable[[], None]) -> None:
        """Run it while this thread gives up its turn; afterwards the turn comes back."""
        mine, self._owner = self._owner, 0
        try:
            act()
        finally:
            self._owner = mine

    def _wait(self, condition: threading.Condition, timeout: float | None) -> bool:
        self._leave()
        # Without a timeout somebody has to end the wait: perhaps a thread that a library has started by itself.
        is_left = timeout is None or any(thread.is_alive() for thread in self._strangers)
        if is_left and self._wait_really(condition, PATIENCE_S if timeout is None else LOOK_S):
            return True
        self._let_pass(lambda: None, timeout)
        return False

    def _let_pass(self, look: Callable[[], object], timeout: float | None) -> object:
        """Advance time to the end of a wait. Errors: Unordered if nothing can ever end the wait."""
        if timeout is None:
            raise self.refuse("it waits for a thread that waits for it, and threads are run one after another here")
        if timeout > 0:
            self._sleep(timeout)
        return look()


def _unless_ended(run: Callable[[], None]) -> None:
    """Run a thread. An exception that ends the whole run is kept by its raiser, and not reported as unhandled."""
    try:
        run()
    except (Exception, SystemExit):
        raise
    except BaseException:  # noqa: BLE001, S110 - It is raised again at the next call, and when the run has ended.
        pass


_as_completed_really = asyncio.as_completed


def _as_completed(fs: Iterable[Coro], *, timeout: float | None = None) -> Iterator[object]:
    """`asyncio.as_completed`, which makes tasks in the order of what it is given, and not in that of a set."""
    return _as_completed_really([asyncio.ensure_future(one) for one in fs], timeout=timeout)


class _OfMainThread(asyncio.DefaultEventLoopPolicy):
    """Every run is in the main thread of its process, and has an event loop once it asks for one."""

    def __init__(self) -> None:
        super().__init__()
        self._is_asked = False

    def get_event_loop(self) -> asyncio.AbstractEventLoop:
        """The run's loop. Errors: RuntimeError if it has set none."""
        if not self._is_asked:
            self.set_event_loop(self.new_event_loop())
        return super().get_event_loop()

    def set_event_loop(self, loop: asyncio.AbstractEventLoop | None) -> None:
        """Set the run's loop, or that it has none."""
        self._is_asked = True
        super().set_event_loop(loop)


class _NumberedTask(asyncio.Task[object]):
    """A task with a number, as `_Numbered`."""

    def __init__(self, number: int, coroutine: Coro, **named: object) -> None:
        self._number = number
        super().__init__(coroutine, **named)  # type: ignore[arg-type] # As they were given.

    def __hash__(self) -> int:
        return self._number

    def __del__(self) -> None:
        # What ends a run is kept by its raiser, and its tasks are not reported as forgotten.
        if self.done() and isinstance(self._exception, Exception):
            super().__del__()


class _Numbered(Future[object]):
    """A future with a number: sets of such futures iterate in the order of creation."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number

    def __hash__(self) -> int:
        return self._number
