"""A whole server: data directory, store, engine, driver and HTTP, started and stopped in order."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from redrive.core.clock import (
    AHEAD_MS_MAX,
    SECOND_MS,
    Clock,
    Instant,
    SystemClock,
    VirtualClock,
    machine_ms,
    parse_instant,
)
from redrive.core.entropy import Entropy, SeededEntropy, SystemEntropy
from redrive.core.errors import Bug, UserError
from redrive.core.log import Log
from redrive.core.portable import IS_FORCED
from redrive.core.sessions import Issuer
from redrive.engine.bring_near import bring_near
from redrive.engine.build import build_engine
from redrive.engine.driver import Driver, RealTime, VirtualDrive
from redrive.engine.engine import Engine, Runner
from redrive.engine.first_trail import begin_trail
from redrive.engine.keys import is_any_key_active
from redrive.engine.node import Facts, ServerNode
from redrive.engine.node_store import StoreFile
from redrive.engine.provisioning import Provisioning
from redrive.engine.settings import DEFAULTS, Settings
from redrive.gateway.admin import Admin
from redrive.gateway.app import App
from redrive.gateway.chain import Gateway
from redrive.gateway.guard import Guard
from redrive.gateway.http.limits import limits_of_process
from redrive.gateway.http.server import HttpServer
from redrive.gateway.identity import Identity, RootKey
from redrive.gateway.keys import check_some_key, decide_signatures
from redrive.gateway.storage import Commits, OwnStorage, SharedStorage, Storage
from redrive.gateway.waiters import Paced
from redrive.invoke.keeping import cache_directory
from redrive.invoke.process import ProcessInvoker
from redrive.invoke.runtime.npm import Npm
from redrive.invoke.runtime.runtimes import Runtimes
from redrive.store.files.checkpoints import Checkpoints
from redrive.store.files.directory import DataDirectory, take_directory
from redrive.store.files.life import write_seen
from redrive.store.files.settling import settle
from redrive.store.group import GroupCommit
from redrive.store.place import Place
from redrive.store.postgres.url import StoreUrl
from redrive.store.sqlite import SqliteStore
from redrive.wire.model.files import Models

CLOCK_TIMER = ("engine.clock", "now")
"""The name of the stored virtual time, so that a virtual clock does not run backwards over a restart."""
VIRTUAL_START = parse_instant("2025-01-01T00:00:00Z")
GRACE_S = 5
ROUND_PAUSE_S = 0.005
"""The shortest pause: under load each commit announces due work, and looking for it costs more than a request."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to serve. `data` is a directory or a database; None keeps everything in memory.

    `start` is where a virtual clock begins.

    `require_signatures` None decides by `host`. `keys` are access keys of accounts' roots.
    `allowed_hosts` and `allowed_origins` are what the guard allows beyond the server's own names. With `has_trail`, API
    calls are events from the start. `installs_packages`: npm fetches the packages of AWS's SDK that functions in
    Node.js name and do not bring.
    """

    host: str = "127.0.0.1"
    port: int = 4566
    data: Place | None = None
    account: str = "000000000000"
    virtual: bool = False
    start: Instant | None = None
    seed: int = 0
    slots: int = 32
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    settings: Settings = DEFAULTS
    require_signatures: bool | None = None
    keys: Sequence[RootKey] = ()
    has_trail: bool = False
    installs_packages: bool = True


class Server:
    """One node. `serve` blocks until it is told to stop (SIGINT, SIGTERM)."""

    def __init__(self, options: Options, log: Log, *, machine: Callable[[], Instant] = machine_ms) -> None:
        """Open everything that can fail, before the server answers. `machine` reads the clock of the machine.

        Errors: UserError: the data directory belongs to another server, is damaged or not writable; the port is taken;
        other machines can reach this server and signatures are not to be required.
        """
        self._options = options
        self._requires_signatures = decide_signatures(options.host, options.require_signatures)
        self._log = log
        self._is_far_behind = False
        self._turning: Driver | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()
        self._data = take_directory(options.data) if isinstance(options.data, Path) else None
        self._virtual_clock = VirtualClock(options.start or VIRTUAL_START) if options.virtual else None
        own_clock: Clock = self._virtual_clock or SystemClock(machine)
        with ExitStack() as undo:
            if self._data is not None:
                undo.callback(self._data.release)
            self._socket = undo.enter_context(_listen(options.host, options.port))
            self.address: str = self._socket.getsockname()[0]
            self.port: int = self._socket.getsockname()[1]
            self._guard = Guard(
                address=self.address, host=options.host, hosts=options.allowed_hosts, origins=options.allowed_origins
            )
            entropy: Entropy = SeededEntropy(options.seed) if options.virtual else SystemEntropy()
            if isinstance(options.data, StoreUrl):
                self._storage: Storage = SharedStorage(options.data, virtual=self._virtual_clock, entropy=entropy)
            else:
                path = self._data.store if self._data else None
                # Only an advance of virtual time works through commits that announce nothing before the last of them.
                own = SqliteStore(path, clock=own_clock, entropy=entropy, defers_sync=options.virtual)
                self._storage = OwnStorage(own, own_clock)
            undo.pop_all()
        self._store = self._storage.store
        self._clock = self._storage.clock
        self._entropy = self._store.entropy
        self._issuer = Issuer(self._store.secret)
        if self._data is not None and isinstance(self._storage, OwnStorage):
            self._take_over(self._data, self._storage.store)

    def _take_over(self, data: DataDirectory, store: SqliteStore) -> None:
        """Continue from what an earlier server has left, and log what a user may have to know."""
        data.backup.unlink(missing_ok=True)
        if narrowed := data.narrow():
            self._log.warning("files could be read by others and were narrowed", files=", ".join(narrowed))
        if store.is_checked_in_part:
            self._log.warning(
                "store was not closed in order and is too large to be read whole at each start",
                check=f"redrive store check {data.path}",
            )
        if isinstance(self._clock, SystemClock) and (behind_ms := self._clock.resume(store.found.seen_at)):
            goes_on = behind_ms <= AHEAD_MS_MAX
            self._log.warning(
                "clock was set back since the store was used last", behind_s=behind_ms // SECOND_MS,
                time="goes on at half speed until the machine's clock has caught up" if goes_on else "is the machine's",
                next="correct the machine's clock, if it is the one that is wrong, and start again",
            )  # fmt: skip
            self._is_far_behind = not goes_on

    @property
    def endpoint_url(self) -> str:
        """The URL at which clients on this machine reach this server, functions among them."""
        return _url("127.0.0.1" if self.is_open else self._options.host, self.port)

    @property
    def listening_url(self) -> str:
        """The URL of the listening socket, with the address and port that the system reports."""
        return _url(self.address, self.port)

    @property
    def is_open(self) -> bool:
        """Whether the server listens on all addresses of the machine."""
        return self.address in ("0.0.0.0", "::")  # noqa: S104 - compared, not bound

    def advance(self, seconds: float) -> None:
        """Move a virtual clock; returns when everything due until then has settled. Errors: Bug in real time."""
        if not isinstance(self._turning, VirtualDrive):
            raise Bug("only a server in virtual time can be advanced")
        self._turning.advance_to(self._clock.now() + round(seconds * 1000))

    def stop(self) -> None:
        """Make `serve` return soon. Callable from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stopping.set)

    def _stop_at(self, number: int) -> None:
        """Stop in order at the first signal; at a second signal, stop without waiting."""
        asyncio.get_running_loop().remove_signal_handler(number)
        self._stopping.set()

    def serve(self, *, started: Callable[[], None]) -> None:
        """Serve until stopped; calls `started` once requests are answered."""
        try:
            with asyncio.Runner(loop_factory=_loop_factory()) as runner, _workdir(self._data) as workdir:
                runner.run(self._serve(workdir, started))
        finally:
            self.close()

    def close(self) -> None:
        """Release the port, the store and the data directory. Call it after `serve`, or instead of it."""
        self._socket.close()
        self._store.close()
        if self._data is not None:
            self._data.release()

    def note_time(self, run: Runner | None = None) -> None:
        """Store the current virtual time, so that the next server does not begin before it. `run` commits the step."""
        if not self._clock.is_virtual:
            (run or self._store.run)(lambda tx: write_seen(tx.facts, tx.now))

    async def _serve(self, workdir: Path, started: Callable[[], None]) -> None:
        loop = self._loop = asyncio.get_running_loop()
        models = Models()
        group = self._storage.begin(_posts_to(loop), self._describe)
        invoker = self._invoker(workdir, group)
        engine = build_engine(
            self._store, run=group.run, models=models, invoker=invoker, log=self._log, settings=self._options.settings,
            real_time=not self._options.virtual,
        )  # fmt: skip
        driver = self._turning = self._driver(engine, group)
        identity = self._identity()
        gateway = Gateway(engine, models, identity=identity, entropy=self._entropy.fork("gateway"), log=self._log)
        admin = Admin(
            engine.registry, models, self._node(driver), identity, run=group.run, account=self._options.account,
            clock=self._clock, entropy=self._entropy.fork("admin"),
        )  # fmt: skip
        app = App(
            gateway, engine, group, admin, self._clock,
            bodies=self._storage.bodies(group.run), guard=self._guard, entropy=self._entropy.fork("app"), log=self._log,
        )  # fmt: skip
        self._store.on_commit(app.wake_from(loop))
        self._store.on_commit(_wakes(driver, group))
        if self._is_far_behind:
            self._store.run(bring_near)
        if self._options.has_trail:
            self._store.run(partial(begin_trail, account=self._options.account))
        checkpoints = self._checkpoints(group)
        provisioning = None if self._options.virtual else Provisioning(group.run, invoker, self._log)
        if provisioning is not None:
            self._store.on_commit(provisioning.hear)
            provisioning.start()
        driver.start()
        try:
            self._check_keys()
            await self._http(app, driver, started)
        finally:
            await app.drain(grace_s=GRACE_S)
            app.close()
            await loop.run_in_executor(None, driver.stop)
            await loop.run_in_executor(None, engine.invoker.close)
            if provisioning is not None:
                await loop.run_in_executor(None, provisioning.stop)
            if checkpoints is not None:
                await loop.run_in_executor(None, checkpoints.stop)
            await self._storage.end()
            if checkpoints is not None:
                with suppress(UserError):  # The disk is full: the next server begins at an earlier instant.
                    self.note_time()

    def _node(self, driver: Driver) -> ServerNode:
        """This server, as the operations of `/_redrive/` see it."""
        facts = Facts(self._options.account, str(self._options.data or "memory"))
        file = StoreFile(None, None)
        if self._data is not None and isinstance(self._storage, OwnStorage):
            file = StoreFile(self._data.store, self._data.backup, self._storage.store.files)
        return ServerNode(facts, self._clock, driver, reset=self._store.reset, file=file, nodes=self._storage.nodes)

    def _describe(self) -> Mapping[str, object]:
        """What this node tells other nodes of itself."""
        driver = self._turning
        underway = driver.underway if isinstance(driver, RealTime) else 0
        return {"url": self.endpoint_url, "slots": self._options.slots, "underway": underway}

    def _checkpoints(self, group: Commits) -> Checkpoints | None:
        """The task that checkpoints the store's own file. Advances of a virtual clock store its time themselves."""
        if self._data is None or not isinstance(self._storage, OwnStorage):
            return None

        files = self._storage.store.files
        checkpoints = Checkpoints(
            self._storage.store, self._data.store, self._log, write_seen=lambda: self.note_time(group.run),
            settle=lambda: None if files is None else settle(files, group.run),
        )  # fmt: skip
        checkpoints.start()
        return checkpoints

    async def _http(self, app: App, driver: Driver, started: Callable[[], None]) -> None:
        """Answer requests until `serve` is stopped."""
        loop = asyncio.get_running_loop()
        http = HttpServer(app.handle, SystemClock(), limits_of_process(), open_upload=app.open_upload)
        await http.start(self._socket)
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, self._stop_at, number)
        started()
        await self._stopping.wait()
        driver.wind_down()
        await http.stop(grace_s=GRACE_S)

    def _identity(self) -> Identity:
        """The callers. In virtual time SDKs sign by the machine's clock, and functions by the engine's clock."""
        clocks = [self._clock, SystemClock()] if self._options.virtual else [self._clock]
        return Identity(
            self._issuer, account=self._options.account, clocks=clocks, root_keys=self._options.keys,
            requires_signatures=self._requires_signatures,
        )  # fmt: skip

    def _check_keys(self) -> None:
        """Refuse to serve if no caller could sign. Errors: UserError."""
        if self._requires_signatures and not self._options.keys:
            try:
                check_some_key(self._options.host, is_any=self._store.run(is_any_key_active))
            except UserError:
                self._socket.close()
                raise

    def _invoker(self, workdir: Path, group: Commits) -> ProcessInvoker:
        def load_code(digest: str) -> bytes:
            content = group.run(lambda tx: tx.blobs.get(digest))
            if content is None:
                raise KeyError(digest)
            return content

        def say(text: str) -> None:
            # Always shown: who runs a server has to know what it fetches from elsewhere.
            self._log.warning("packages fetched", what=text, otherwise="--no-install-packages")

        npm = Npm(("npm",), cache_directory(os.environ, Path.home()), say)
        return ProcessInvoker(
            load_code, workdir=workdir, endpoint_url=self.endpoint_url, clock=self._clock,
            entropy=self._entropy.fork("invoker"), issuer=self._issuer, log=self._log,
            runtimes=Runtimes(os.environ, Path.home()), npm=npm, fetches=self._options.installs_packages,
        )  # fmt: skip

    def _driver(self, engine: Engine, group: Commits) -> Driver:
        clock = self._virtual_clock
        if clock is None:
            return RealTime(
                engine, self._clock, self._log, slots=self._options.slots, is_shared=self._storage.is_shared,
                idle_ms_max=self._storage.idle_ms_max,
            )  # fmt: skip
        stood_at = self._store.run(lambda tx: tx.timers.get(*CLOCK_TIMER))
        if stood_at is not None:
            clock.move_to(max(stood_at, clock.now()))
        return VirtualDrive(
            engine, clock, self._log, keep=lambda tx, at: tx.timers.set(*CLOCK_TIMER, at),
            run_between=group.run_unsynced,
        )  # fmt: skip


def _wakes(driver: Driver, group: Commits) -> Callable[[frozenset[str]], None]:
    """A listener for commits that wakes the driver, unless what is due was claimed in the commit itself."""
    wake = Paced(driver.wake, pause_s=ROUND_PAUSE_S)
    if not isinstance(driver, RealTime) or not isinstance(group, GroupCommit):
        return lambda _: wake()
    group.accompany(driver)

    def hear(_: frozenset[str]) -> None:
        if not driver.has_joined():
            wake()

    return hear


@contextmanager
def running(options: Options, log: Log, *, machine: Callable[[], Instant] = machine_ms) -> Iterator[Server]:
    """Run a server in a thread of this process, while the block runs."""
    server = Server(options, log, machine=machine)
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
    """Makes functions run on this loop; call it on the loop's thread.

    Calls from that thread need no wake-up by the system.
    """
    home = threading.get_ident()

    def post(work: Callable[[], None]) -> None:
        if threading.get_ident() == home:
            loop.call_soon(work)
        else:
            loop.call_soon_threadsafe(work)

    return post


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if IS_FORCED:
        return None
    try:
        import uvloop  # noqa: PLC0415 - uvloop does not build everywhere.
    except ImportError:
        return None
    return uvloop.new_event_loop


@contextmanager
def _workdir(data: DataDirectory | None) -> Iterator[Path]:
    """Where functions' code is unpacked: inside the data directory, or in a temporary directory."""
    if data is not None:
        data.functions.mkdir(exist_ok=True, mode=0o700)
        yield data.functions
        return
    with tempfile.TemporaryDirectory(prefix="redrive-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


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
