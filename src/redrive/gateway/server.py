"""A whole server: data directory, store, engine, driver and HTTP, started and stopped in order."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from redrive.core.clock import Clock, Instant, SystemClock, VirtualClock, parse_instant
from redrive.core.entropy import Entropy, SeededEntropy, SystemEntropy
from redrive.core.errors import Bug, UserError
from redrive.core.log import Log
from redrive.engine.build import DEFAULTS, Settings, build_engine
from redrive.engine.driver import Driver, RealTime, VirtualDrive
from redrive.engine.engine import Engine
from redrive.gateway.admin import Admin, Facts
from redrive.gateway.app import App
from redrive.gateway.chain import Gateway
from redrive.gateway.http import HttpServer
from redrive.gateway.waiters import Paced
from redrive.invoke.process import ProcessInvoker
from redrive.store.group import GroupCommit
from redrive.store.sqlite import SqliteStore
from redrive.wire.models import Models

STORE_FILE = "redrive.sqlite"
LOCK_FILE = "redrive.lock"
FUNCTIONS_FOLDER = "functions"
CLOCK_TIMER = ("engine.clock", "now")
"""Where a virtual clock stands, so that it does not run backwards over a restart."""
VIRTUAL_START = parse_instant("2025-01-01T00:00:00Z")
GRACE_S = 5
ROUND_PAUSE_S = 0.005
"""Under load each commit says that something may have come due. Looking costs more than a request, so it has a pace."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to serve. `data` None keeps everything in memory. `start` is where a virtual clock begins."""

    host: str = "127.0.0.1"
    port: int = 4566
    data: Path | None = None
    account: str = "000000000000"
    virtual: bool = False
    start: Instant | None = None
    seed: int = 0
    slots: int = 16
    settings: Settings = DEFAULTS


class Server:
    """One node. `serve` blocks until it is told to stop (SIGINT, SIGTERM)."""

    def __init__(self, options: Options, log: Log) -> None:
        """Open everything that can fail, before anything is answered.

        Errors: UserError: the data directory is another server's, damaged or not writable; the port is taken.
        """
        self._options = options
        self._log = log
        self._lock = _take(options.data) if options.data else None
        self._socket = _listen(options.host, options.port)
        self.port: int = self._socket.getsockname()[1]
        self._clock: Clock = VirtualClock(options.start or VIRTUAL_START) if options.virtual else SystemClock()
        self._entropy: Entropy = SeededEntropy(options.seed) if options.virtual else SystemEntropy()
        path = options.data / STORE_FILE if options.data else None
        self._store = SqliteStore(path, clock=self._clock, entropy=self._entropy)
        self._turning: Driver | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()

    @property
    def endpoint_url(self) -> str:
        """Where clients reach this server."""
        host = "127.0.0.1" if self._options.host in ("0.0.0.0", "::") else self._options.host  # noqa: S104 - compared, not bound
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    def advance(self, seconds: float) -> None:
        """Move a virtual clock; answers when everything due until then has settled. Errors: Bug in real time."""
        if not isinstance(self._turning, VirtualDrive):
            raise Bug("only a server in virtual time can be advanced")
        self._turning.advance_to(self._clock.now() + round(seconds * 1000))

    def stop(self) -> None:
        """Have `serve` return soon. Callable from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stopping.set)

    def _stop_at(self, number: int) -> None:
        """Stop in order at the first signal; a second one is not waited for."""
        asyncio.get_running_loop().remove_signal_handler(number)
        self._stopping.set()

    def serve(self, *, started: Callable[[], None]) -> None:
        """Serve until stopped; `started` is called once requests are answered."""
        with asyncio.Runner(loop_factory=_loop_factory()) as runner, _workdir(self._options.data) as workdir:
            runner.run(self._serve(workdir, started))

    async def _serve(self, workdir: Path, started: Callable[[], None]) -> None:
        loop = self._loop = asyncio.get_running_loop()
        models = Models()
        group = GroupCommit(self._store, post=_posts_to(loop))
        invoker = self._invoker(workdir, group)
        engine = build_engine(
            self._store, run=group.run, models=models, invoker=invoker, log=self._log, settings=self._options.settings,
            real_time=not self._options.virtual,
        )  # fmt: skip
        driver = self._turning = self._driver(engine, group)
        gateway = Gateway(
            engine, models, account=self._options.account, entropy=self._entropy.fork("gateway"), log=self._log
        )
        facts = Facts(self._options.account, str(self._options.data or "memory"))
        admin = Admin(
            facts,
            self._clock,
            driver,
            run=group.run,
            reset=self._store.reset,
            load_blob=lambda digest: group.run(lambda tx: tx.blobs.get(digest)),
        )
        app = App(gateway, engine, group, admin, self._clock)
        self._store.on_commit(app.wake_from(loop))
        wake_driver = Paced(driver.wake, pause_s=ROUND_PAUSE_S)
        self._store.on_commit(lambda _: wake_driver())
        driver.start()
        try:
            await self._http(app, started)
        finally:
            await loop.run_in_executor(None, driver.stop)
            await loop.run_in_executor(None, engine.invoker.close)
            group.close()
            self._store.close()

    async def _http(self, app: App, started: Callable[[], None]) -> None:
        """Answer requests until told to stop."""
        loop = asyncio.get_running_loop()
        http = HttpServer(app.handle, SystemClock())
        await http.start(self._socket)
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, self._stop_at, number)
        started()
        await self._stopping.wait()
        await http.stop(grace_s=GRACE_S)

    def _invoker(self, workdir: Path, group: GroupCommit) -> ProcessInvoker:
        def load_code(digest: str) -> bytes:
            content = group.run(lambda tx: tx.blobs.get(digest))
            if content is None:
                raise KeyError(digest)
            return content

        return ProcessInvoker(
            load_code, workdir=workdir, endpoint_url=self.endpoint_url, clock=self._clock,
            entropy=self._entropy.fork("invoker"), log=self._log,
        )  # fmt: skip

    def _driver(self, engine: Engine, group: GroupCommit) -> Driver:
        if not isinstance(self._clock, VirtualClock):
            return RealTime(engine, self._clock, self._log, slots=self._options.slots)
        stood_at = self._store.run(lambda tx: tx.timers.get(*CLOCK_TIMER))
        if stood_at is not None:
            self._clock.move_to(max(stood_at, self._clock.now()))
        return VirtualDrive(
            engine, self._clock, self._log, keep=lambda tx, at: tx.timers.set(*CLOCK_TIMER, at),
            run_between=group.run_unsynced,
        )  # fmt: skip


@contextmanager
def running(options: Options, log: Log) -> Iterator[Server]:
    """A server in a thread of this process, for as long as the block lasts."""
    server = Server(options, log)
    answering: Future[None] = Future()

    def serve() -> None:
        try:
            server.serve(started=lambda: answering.set_result(None))
        except BaseException as error:
            if answering.done():
                raise
            answering.set_exception(error)

    thread = threading.Thread(target=serve, name="redrive-server")
    thread.start()
    try:
        answering.result()
        yield server
    finally:
        server.stop()
        thread.join()


def _posts_to(loop: asyncio.AbstractEventLoop) -> Callable[[Callable[[], None]], None]:
    """Has functions run on this loop, whose thread calls this. From that thread it needs no wake-up by the system."""
    home = threading.get_ident()

    def post(work: Callable[[], None]) -> None:
        if threading.get_ident() == home:
            loop.call_soon(work)
        else:
            loop.call_soon_threadsafe(work)

    return post


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415 - it does not build everywhere.
    except ImportError:
        return None
    return uvloop.new_event_loop


@contextmanager
def _workdir(data: Path | None) -> Iterator[Path]:
    """Where functions' code is unpacked: inside the data directory, or somewhere temporary."""
    if data is not None:
        yield data / FUNCTIONS_FOLDER
        return
    with tempfile.TemporaryDirectory(prefix="redrive-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _take(data: Path) -> int:
    """Hold the data directory for this process. Errors: UserError if it is another's, or cannot be written."""
    try:
        data.mkdir(parents=True, exist_ok=True)
        handle = os.open(data / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise UserError(
            f"The data directory {data} cannot be used: {error.strerror}.", next_step="Choose another --data."
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.pread(handle, 32, 0).decode(errors="replace").strip() or "unknown"
        os.close(handle)
        raise UserError(
            f"The data directory {data} is in use by another redrive server (process {holder}).",
            next_step="Stop that one, or choose another --data.",
        ) from error
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
    except OSError as error:
        raise UserError(
            f"The data directory {data} cannot be written: {error.strerror}.",
            next_step="Free some space, or choose another --data.",
        ) from error
    return handle


def _listen(host: str, port: int) -> socket.socket:
    """A listening socket. Errors: UserError if the port is taken."""
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(1024)
    except OSError as error:
        listening.close()
        raise UserError(
            f"Cannot listen on {host}:{port}: {error.strerror}.",
            next_step=f"Stop what listens there, or choose another port: redrive serve --port {port + 1}",
        ) from error
    return listening
