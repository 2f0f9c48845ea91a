"""`redrive store check|backup|copy|accept`: checks a store, copies it, moves it, or continues after a loss."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from redrive.cli.endpoint import endpoint_option
from redrive.cli.place import directory_of, named_place
from redrive.cli.surface import Backup, Surface
from redrive.core.errors import UserError
from redrive.store.copying.copy import copy_place
from redrive.store.files.accept import accept_loss
from redrive.store.files.backup import check_copy, copy_store, partial_of, put_in_place, refuse_existing
from redrive.store.files.directory import DataDirectory, InUse, create_private, take_existing
from redrive.store.files.report import report_on

LOOK_EVERY_S = 0.2
FINDING = 1


@click.group()
def command() -> None:
    """Check a store, make a backup of it, or copy it to where another one shall be."""


@command.command()
@click.argument("place", metavar="[DIR|URL]", required=False)
@endpoint_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON, as to a pipe.")
def check(place: str | None, endpoint_url: str, as_json: bool) -> None:
    """Read the whole store in the data directory DIR, or that of a running server, and say what is wrong with it.

    Of a PostgreSQL database, named by its URL, the rows are counted, also while servers use it; its pages are the
    business of PostgreSQL. Nothing is changed. Exit code 1 if anything was found.
    """
    named = None if place is None else named_place(place)
    if named is None:
        report: Mapping[str, Any] = Surface(endpoint_url).get_store_report()
    elif isinstance(named, Path):
        with _held(named) as data:
            report = report_on(data.store)
    else:
        from redrive.store.postgres.report import report_on_database

        report = report_on_database(named)
    if as_json or not sys.stdout.isatty():
        click.echo(json.dumps(report, indent=2))
    else:
        _show(report)
    if not report["ok"]:
        sys.exit(FINDING)


@command.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--data", metavar="DIR", help="Copy from this directory, of a server that is stopped.")
@endpoint_option
def backup(file: Path, data: str | None, endpoint_url: str) -> None:
    """Copy the store of a running server, as it is at one instant, into the new file FILE, and check the copy.

    To restore it, put it as redrive.sqlite into an empty directory, and start a server with that as --data.
    """
    refuse_existing(file)
    part = partial_of(file)
    with _progress() as progress:
        if data is None:
            _fetch(endpoint_url, part, progress)
        else:
            directory = directory_of(data, "backup", "Make a backup of a database by: pg_dump --format=custom URL")
            with _held(directory) as held:
                _refuse_damaged(held)
                bar = progress.add_task("", total=None, what="copying")
                copy_store(
                    held.store, part, progress=lambda done, total: progress.update(bar, completed=done, total=total)
                )
        progress.add_task("", total=None, what="checking")
        check_copy(part)
    put_in_place(part, file)
    click.echo(f"{file}: {file.stat().st_size} bytes")


@command.command()
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, as to a pipe.")
def copy(source: str, target: str, as_json: bool) -> None:
    """Copy the whole store in FROM to TO, which must be empty: data directories, or URLs of PostgreSQL databases.

    No server may use FROM meanwhile. The rows of each table are counted on both sides. What is interrupted leaves no
    store in TO, and FROM as it was.
    """
    with _progress() as progress:
        bar = progress.add_task("", total=None, what="reading")

        def follow(table: str, done: int, total: int) -> None:
            progress.update(bar, completed=done, total=max(total, 1), what=table)

        copied = copy_place(named_place(source), named_place(target), progress=follow)
    if as_json or not sys.stdout.isatty():
        document = {"from": copied.source, "to": copied.target, "rows": copied.rows, "tables": dict(copied.tables)}
        click.echo(json.dumps(document, indent=2))
    else:
        console = Console()
        console.print(_counted(copied.tables))
        console.print(f"{copied.rows} rows from {copied.source} to {copied.target}", markup=False)


@command.command()
@click.argument("place", metavar="DIR")
def accept(place: str) -> None:
    """Go on with what is left of a store whose log was damaged or lost. A copy of the log is kept.

    Only after `redrive store check` has said what is missing, and where there is no backup.
    """
    with _held(directory_of(place, "accept", "A database has its own means; restore a backup of it.")) as data:
        finding = accept_loss(data.store)
    click.echo(f"accepted: {finding}" if finding else "There is nothing to accept: the store is as it was left.")


def _refuse_damaged(data: DataDirectory) -> None:
    """Refuse to copy a damaged store: its backup would look undamaged. Errors: UserError."""
    report = report_on(data.store)
    if not report["ok"]:
        raise UserError(
            f"{data.store} is damaged: {report['findings'][0]}.",
            next_step=f"See all of it with: redrive store check {data.path}", exit_code=FINDING,
        )  # fmt: skip


@contextmanager
def _held(directory: Path) -> Iterator[DataDirectory]:
    """Lock a data directory, so that no server uses it meanwhile."""
    try:
        data = take_existing(directory)
    except InUse as error:
        raise UserError(error.what, next_step="Leave the directory out, to ask that server itself.") from error
    try:
        yield data
    finally:
        data.release()


def _fetch(endpoint_url: str, part: Path, progress: Progress) -> None:
    """Let the server make a backup, download it piece by piece, and delete it on the server."""
    bar = progress.add_task("", total=None, what="copying")
    server = Surface(endpoint_url)

    def look() -> None:
        shown = server.get_backup()
        progress.update(bar, completed=shown["copied"], total=shown["pages"] or None)

    made = _meanwhile(server.create_backup, look)
    size = made["bytes"] or 0
    bar = progress.add_task("", total=size, what="fetching")
    part.unlink(missing_ok=True)
    create_private(part)
    try:
        with part.open("r+b") as file:
            while file.tell() < size:
                piece = server.get_backup_content(id=made["id"], offset=file.tell())
                if not piece:
                    raise UserError("The server has forgotten the backup before its end.", next_step="Try once more.")
                file.write(piece)
                progress.update(bar, completed=file.tell())
    finally:
        server.delete_backup()


def _meanwhile(work: Callable[[], Backup], look: Callable[[], None]) -> Backup:
    """Run a function in another thread, and show its progress from time to time."""
    done: Future[Backup] = Future()
    ended = threading.Event()
    done.add_done_callback(lambda _: ended.set())

    def run() -> None:
        try:
            done.set_result(work())
        except UserError as error:
            done.set_exception(error)

    threading.Thread(target=run, name="redrive-backup", daemon=True).start()
    while not ended.wait(LOOK_EVERY_S):
        look()
    return done.result()


def _show(report: Mapping[str, Any]) -> None:
    console = Console()
    console.print(_counted(report["tables"]))
    rest = f"PostgreSQL {report['server']}" if "server" in report else f"log {report['log_bytes']}"
    console.print(f"{report['store']}: schema {report['schema']}, {report['bytes']} bytes, {rest}", markup=False)
    for finding in report["findings"]:
        console.print(f"found: {finding}", markup=False)
    if report["ok"]:
        console.print("ok: nothing was found")


def _counted(tables: Mapping[str, int | None]) -> Table:
    shown = Table("table", "rows")
    for name, count in tables.items():
        shown.add_row(name, "cannot be read" if count is None else str(count))
    return shown


def _progress() -> Progress:
    columns = (TextColumn("{task.fields[what]}"), BarColumn(), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)
