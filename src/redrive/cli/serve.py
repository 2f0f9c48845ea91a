"""`redrive serve`: the server."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import click

from redrive.cli.place import place_of, store_option
from redrive.core.clock import SystemClock, parse_instant
from redrive.core.errors import UserError
from redrive.core.leniency import OnUnknown
from redrive.core.limits import Limits, Rates
from redrive.core.log import LineLog
from redrive.engine.settings import Settings
from redrive.gateway.keys import VARIABLE, read_keys
from redrive.gateway.server import Options, Server
from redrive.services.scheduler.model.executions import ExecutionIds

CALLED_HOSTS = "REDRIVE_CALL_HOSTS"

GARBAGE_THRESHOLD = 50_000
"""How many more objects there must be before Python's garbage collector runs."""


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=4566, show_default=True, type=click.IntRange(0, 65_535), help="The port; 0 for any.")
@click.option(
    "--allow-host", "allowed_hosts", multiple=True, metavar="NAME",
    help="Answer to this name too, such as host.docker.internal or *.aws.test; again for more.",
)  # fmt: skip
@click.option(
    "--allow-origin", "allowed_origins", multiple=True, metavar="ORIGIN",
    help="Let web pages of this origin call, such as http://localhost:3000; * for all pages.",
)  # fmt: skip
@click.option(
    "--call-host", "called_hosts", multiple=True, metavar="NAME", envvar=CALLED_HOSTS,
    help=f"Let API destinations call this host beyond this machine; again for more. Also from {CALLED_HOSTS}.",
)  # fmt: skip
@click.option("--data", type=click.Path(path_type=Path), help="Keep everything in this directory, durably.")
@store_option
@click.option("--clock", type=click.Choice(["real", "virtual"]), default="real", show_default=True, help="Whose time.")
@click.option("--start", help="Where a virtual clock starts; 2025-01-01T00:00:00Z unless the data says otherwise.")
@click.option("--seed", default=0, show_default=True, help="For ids and jitter in virtual time.")
@click.option("--account", default="000000000000", show_default=True, help="The account of callers with any other key.")
@click.option("--slots", default=32, show_default=True, type=click.IntRange(1, 1_000), help="Attempts at once.")
@click.option("--limits", type=click.Choice(["strict", "relaxed"]), default="strict", help="Whether quotas hold.")
@click.option(
    "--rates", type=click.Choice([rates.value for rates in Rates]), default="real-time", show_default=True,
    help="Whether quotas for one second hold in virtual time too, where any number of requests may share a second.",
)  # fmt: skip
@click.option(
    "--strict-templates", is_flag=True, help="Refuse unknown template properties, as AWS does, instead of warning."
)
@click.option(
    "--on-unknown", type=click.Choice([one.value for one in OnUnknown]), default="refuse", show_default=True,
    help="What becomes of the parts of templates that AWS has and redrive does not serve.",
)  # fmt: skip
@click.option(
    "--execution-id", type=click.Choice([ids.value for ids in ExecutionIds]), default="per-occurrence",
    show_default=True, help="Whether retries of a schedule's occurrence keep its execution id.",
)  # fmt: skip
@click.option(
    "--require-signatures/--no-require-signatures", default=None,
    help="Whether requests must be signed with a key that is known here; always, where others reach the server.",
)  # fmt: skip
@click.option(
    "--key", "keys", multiple=True, metavar="ID:SECRET[:ACCOUNT]",
    help="An access key of the account's root; repeatable. Also from REDRIVE_KEYS, separated by spaces.",
)  # fmt: skip
@click.option(
    "--cloudtrail", is_flag=True, help="Make API calls events of the default buses, by a trail named redrive."
)
@click.option(
    "--install-packages/--no-install-packages", "installs_packages", default=True, show_default=True,
    help="Whether npm fetches the @aws-sdk packages that functions in Node.js name, when they start first.",
)  # fmt: skip
@click.option("-v", "--verbose", is_flag=True, help="Log every change of state.")
def command(
    host: str, port: int, allowed_hosts: tuple[str, ...], allowed_origins: tuple[str, ...],
    called_hosts: tuple[str, ...], data: Path | None, store: str | None, clock: str, start: str | None, seed: int,
    account: str, slots: int, limits: str, rates: str, strict_templates: bool, on_unknown: str, execution_id: str,
    require_signatures: bool | None, keys: tuple[str, ...], cloudtrail: bool, installs_packages: bool, verbose: bool,
) -> None:  # fmt: skip
    """Serve AWS's APIs from this machine.

    Point the aws CLI or any SDK at it with `eval "$(redrive env)"`. Without --data and
    --store everything is kept in memory. Any number of servers may share a PostgreSQL database.
    """
    if not (len(account) == 12 and account.isdigit()):
        raise UserError(f"--account is {account!r}; an account is 12 digits.", exit_code=2)
    place = place_of(store, data)
    options = Options(
        host=host, port=port, allowed_hosts=allowed_hosts, allowed_origins=allowed_origins,
        data=place, account=account, virtual=clock == "virtual",
        start=None if start is None else _instant(start), seed=seed, slots=slots,
        settings=Settings(
            Limits(limits), strict_templates, ExecutionIds(execution_id), OnUnknown(on_unknown), _hosts(called_hosts),
            Rates(rates),
        ),
        require_signatures=require_signatures,
        keys=read_keys([*keys, *os.environ.get(VARIABLE, "").split()], account=account),
        has_trail=cloudtrail, installs_packages=installs_packages,
    )  # fmt: skip
    server = Server(options, LineLog(SystemClock(), verbose=verbose))
    _collect_garbage_seldom()
    kept = f"everything in {place}" if place else "everything in memory (give --data DIR to keep it)"
    address = f"{server.listening_url} (from this machine: {server.endpoint_url})" if server.is_open else None

    def started() -> None:
        click.echo(
            f"redrive serves {address or server.listening_url} in {clock} time, {kept}. Ctrl-C stops it.", err=True
        )
        click.echo(_allowed(server, allowed_hosts, allowed_origins), err=True)

    server.serve(started=started)


def _allowed(server: Server, hosts: tuple[str, ...], origins: tuple[str, ...]) -> str:
    """The effect of --allow-host and --allow-origin on who may send requests, in one line."""
    names = ", ".join(["localhost", "any address of its own" if server.is_open else server.address, *hosts])
    pages = f"web pages of {', '.join(origins)} may call it" if origins else "no web page may call it (--allow-origin)"
    return f"It answers to the names {names} (--allow-host); {pages}."


def _hosts(written: tuple[str, ...]) -> frozenset[str]:
    """The hosts that --call-host names. Errors: UserError for what is no name of a host."""
    for host in written:
        if not host or any(sign in host for sign in "/*@ "):
            what = f"--call-host {host!r} is no name of a host."
            raise UserError(what, next_step="Write the name alone: --call-host example.com", exit_code=2)
    return frozenset(host.lower() for host in written)


def _collect_garbage_seldom() -> None:
    """Run the garbage collector a hundredth as often as Python does, and never on the objects that exist at the start.

    Requests leave no reference cycles, but a burst of requests makes many objects: collecting took a tenth of its CPU
    time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD, 20, 20)


def _instant(text: str) -> int:
    try:
        return parse_instant(text)
    except ValueError as error:
        raise UserError(
            f"--start {text!r} is not an ISO 8601 time.", next_step="Write 2026-01-01T00:00:00Z.", exit_code=2
        ) from error
