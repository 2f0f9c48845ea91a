"""`redrive store check|backup|accept`: checks a store, copies it, or continues after a loss."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from redrive.cli.endpoint import endpoint_option
from redrive.cli.surface import Backup, StoreReport, Surface
from redrive.core.errors import UserError
from redrive.store.files.accept import accept_loss
from redrive.store.files.backup import check_copy, copy_store, partial_of, put_in_place, refuse_existing
from redrive.store.files.directory import DataDirectory, InUse, create_private, take_existing
from redrive.store.files.report import report_on

LOOK_EVERY_S = 0.2
FINDING = 1


@click.group()
def command() -> None:
    """Check a store, or make a backup of it."""


@command.command()
@click.argument("directory", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@endpoint_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON, as to a pipe.")
def check(directory: Path | None, endpoint_url: str, as_json: bool) -> None:
    """Read the whole store in the data directory DIR, or that of a running server, and say what is wrong with it.

    Nothing is changed. Exit code 1 if anything was found.
    """
    if directory is None:
        report: StoreReport = Surface(endpoint_url).get_store_report()
    else:
        with _held(directory) as data:
            report = cast(StoreReport, report_on(data.store))
    if as_json or not sys.stdout.isatty():
        click.echo(json.dumps(report, indent=2))
    else:
        _show(report)
    if not report["ok"]:
        sys.exit(FINDING)


@command.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--data", type=click.Path(path_type=Path), help="Copy from this directory, of a server that is stopped.")
@endpoint_option
def backup(file: Path, data: Path | None, endpoint_url: str) -> None:
    """Copy the store of a running server, as it is at one instant, into the new file FILE, and check the copy.

    To restore it, put it as redrive.sqlite into an empty directory, and start a server with that as --data.
    """
    refuse_existing(file)
    part = partial_of(file)
    with _progress() as progress:
        if data is None:
            _fetch(endpoint_url, part, progress)
        else:
            with _held(data) as held:
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
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
def accept(directory: Path) -> None:
    """Go on with what is left of a store whose log was damaged or lost. A copy of the log is kept.

    Only after `redrive store check` has said what is missing, and where there is no backup.
    """
    with _held(directory) as data:
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


def _show(report: StoreReport) -> None:
    console = Console()
    table = Table("table", "rows")
    for name, count in report["tables"].items():
        table.add_row(name, "cannot be read" if count is None else str(count))
    console.print(table)
    console.print(f"{report['store']}: schema {report['schema']}, {report['bytes']} bytes, log {report['log_bytes']}")
    for finding in report["findings"]:
        console.print(f"found: {finding}", markup=False)
    if report["ok"]:
        console.print("ok: nothing was found")


def _progress() -> Progress:
    columns = (TextColumn("{task.fields[what]}"), BarColumn(), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)
