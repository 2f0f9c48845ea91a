"""The command: `python -m benchmarks [SUITE]`; `--help` names the suites and says the rest."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console

from benchmarks import (
    dlq,
    dynamodb,
    events,
    handler,
    kinesis,
    lag,
    logs,
    metrics,
    patterns,
    prove,
    s3,
    schedules,
    sns,
    startup,
    states,
    stores,
    travel,
)
from benchmarks.dialects import Dialect, JsonDialect
from benchmarks.peers import DYNALITE, PEERS, running
from benchmarks.processes import ENVIRONMENT, NotStarted, ServerProcess, free_port, redrive_command, serving
from benchmarks.report import Figure, Row, machine, show_figures, show_ratios, show_rows, write_json
from benchmarks.sqs import Measured

SUITES = (
    "startup", "time", "schedules", "lag", "handler", "patterns", "prove", "sqs", "events", "dynamodb", "kinesis",
    "sns", "s3", "logs", "stores", "dlq", "metrics", "states",
)  # fmt: skip
WIDTH_OF_PAPER = 150


def main() -> None:
    """Measure what was asked for, show it, and write it down."""
    arguments = _arguments()
    wanted = SUITES if arguments.suite == "all" else (arguments.suite,)
    console = Console(width=None if sys.stdout.isatty() else WIDTH_OF_PAPER)
    console.print(machine())
    results: dict[str, Sequence[Row | Figure]] = {}
    if "startup" in wanted:
        results["startup"] = figures = startup.measure()
        show_figures(console, "Starting up, medians", figures)
    if "time" in wanted:
        results["time"] = figures = list(travel.measure())
        show_figures(console, "Virtual time", figures)
    if "schedules" in wanted:
        results["schedules"] = figures = list(schedules.measure())
        show_figures(console, "Schedules, in process", figures)
    if "lag" in wanted:
        results |= _lag(console, arguments)
    if "metrics" in wanted:
        results["metrics"] = figures = list(metrics.measure())
        show_figures(console, "Metrics and alarms, in process, CPU", figures)
        with _redrive(durable=True) as server:
            results["metrics, served"] = figures = list(metrics.measure_served(server))
        show_figures(console, "Metrics, durable and over HTTP, the server's CPU", figures)
    if "handler" in wanted:
        results["handler"] = figures = list(handler.measure())
        show_figures(console, "Handlers, CPU over that of the bare handler", figures)
    if "patterns" in wanted:
        results["patterns"] = figures = list(patterns.measure())
        show_figures(console, "Event patterns, CPU", figures)
    if "prove" in wanted:
        results["prove"] = figures = list(prove.measure(arguments.faults))
        show_figures(console, "Proving a handler", figures)
    if "sqs" in wanted:
        rows = _sqs(console, arguments)
        show_ratios(console, rows)
        results |= rows
    if "events" in wanted:
        results |= _events(console, arguments)
    if "dynamodb" in wanted:
        tables = _dynamodb(console, arguments)
        show_ratios(console, tables)
        results |= {f"dynamodb, {name}": rows for name, rows in tables.items()}
    if "kinesis" in wanted:
        results |= _kinesis(console, arguments)
    if "sns" in wanted:
        topics = _sns(console, arguments)
        show_ratios(console, topics)
        results |= {f"sns, {name}": rows for name, rows in topics.items()}
    if "s3" in wanted:
        results |= _s3(console, arguments)
    if "logs" in wanted:
        with _redrive(durable=True) as server:
            results["logs"] = figures = list(logs.measure(server))
        show_figures(console, "CloudWatch Logs, durable", figures)
    if "stores" in wanted:
        for name, opened in (("in a file", stores.in_file), ("in PostgreSQL", stores.in_postgresql)):
            with opened() as (server, database):
                measured = list(stores.Measured(server, database).rows(arguments.seconds))
            results[f"stores, {name}"] = measured
            show_rows(console, f"A durable store {name}", measured)
    if "dlq" in wanted:
        results["dlq"] = figures = list(dlq.measure())
        show_figures(console, "Dead letters, by the command line", figures)
    if "states" in wanted:
        results["states"] = figures = list(states.measure())
        show_figures(console, "State machines, in process, durable", figures)
    if arguments.json:
        write_json(arguments.json, results)


def _sqs(console: Console, arguments: argparse.Namespace) -> dict[str, list[Row]]:
    """Rows by server. Each server is started for its loads alone, and stopped before the next."""
    results: dict[str, list[Row]] = {}

    def measure(name: str, server: ServerProcess, dialect: Dialect) -> None:
        loads = Measured(server, dialect, runs=arguments.runs)
        results[name] = list(loads.rows(arguments.seconds, backlog=arguments.backlog))
        show_rows(console, f"{name}, {server.rss_mb():,.0f} MB afterwards", results[name])

    for name, durable in (("redrive, durable", True), ("redrive, in memory", False)):
        with _redrive(durable=durable) as server:
            measure(name, server, JsonDialect(server.port))
    for peer in PEERS if arguments.peers else ():
        try:
            with running(peer) as (server, dialect, version):
                measure(f"{peer.name} {version}", server, dialect)
        except (NotStarted, OSError, ValueError) as error:
            console.print(f"{peer.name} is left out: {error}")
    return results


def _dynamodb(console: Console, arguments: argparse.Namespace) -> dict[str, list[Row]]:
    """Rows of DynamoDB by server. Only our own have the large table: others would take too long to fill theirs."""
    results: dict[str, list[Row]] = {}

    def measure(name: str, server: ServerProcess, *, backlog: bool) -> None:
        loads = dynamodb.Measured(server, runs=arguments.runs)
        results[name] = list(loads.rows(arguments.seconds, backlog=backlog))
        show_rows(console, f"DynamoDB: {name}, {server.rss_mb():,.0f} MB afterwards", results[name])

    for name, durable in (("redrive, durable", True), ("redrive, in memory", False)):
        with _redrive(durable=durable) as server:
            measure(name, server, backlog=arguments.backlog and durable)
    for peer in (peer for peer in (DYNALITE, *PEERS) if arguments.peers and peer.name in dynamodb.PEERS_WITH_TABLES):
        try:
            with running(peer) as (server, _, version):
                measure(f"{peer.name} {version}", server, backlog=False)
        except (NotStarted, OSError, ValueError) as error:
            console.print(f"{peer.name} is left out: {error}")
    return results


def _kinesis(console: Console, arguments: argparse.Namespace) -> dict[str, list[Row | Figure]]:
    """Rows of Kinesis by server, and how soon functions start with records."""
    results: dict[str, list[Row | Figure]] = {}
    for name, durable in (("redrive, durable", True), ("redrive, in memory", False)):
        with _redrive("--limits", "relaxed", durable=durable) as server:
            measured = kinesis.Measured(server, runs=arguments.runs)
            rows, figures = list(measured.rows(arguments.seconds)), list(measured.figures())
        results[f"kinesis, {name}"] = [*rows, *figures]
        show_rows(console, f"Kinesis: {name}", rows)
        show_figures(console, f"Kinesis, how late functions start: {name}", figures)
    return results


def _sns(console: Console, arguments: argparse.Namespace) -> dict[str, list[Row]]:
    """Rows of SNS by server."""
    results: dict[str, list[Row]] = {}

    def measure(name: str, server: ServerProcess, *, http: bool) -> None:
        results[name] = list(sns.Measured(server, runs=arguments.runs).rows(arguments.seconds, http=http))
        show_rows(console, f"SNS: {name}, {server.rss_mb():,.0f} MB afterwards", results[name])

    for name, durable in (("redrive, durable", True), ("redrive, in memory", False)):
        with _redrive("--limits", "relaxed", durable=durable) as server:
            measure(name, server, http=True)
    with stores.in_postgresql() as (server, _):
        measure("redrive, in PostgreSQL", server, http=True)
    for peer in (peer for peer in PEERS if arguments.peers and peer.name in sns.PEERS_WITH_TOPICS):
        try:
            with running(peer) as (server, _, version):
                measure(f"{peer.name} {version}", server, http=False)
        except (NotStarted, OSError, ValueError, BotoCoreError, ClientError) as error:
            console.print(f"{peer.name} is left out: {error}")
    return results


def _s3(console: Console, arguments: argparse.Namespace) -> dict[str, list[Row | Figure]]:
    """Rows and figures of S3 by server, and the rows side by side. Only a durable server has the many keys."""
    results: dict[str, list[Row | Figure]] = {}
    compared: dict[str, list[Row]] = {}

    def measure(name: str, server: ServerProcess, *, many: bool = False, folder: Path | None = None) -> None:
        measured = s3.Measured(server, runs=arguments.runs)
        compared[name] = list(measured.rows(arguments.seconds, keys=s3.KEYS_MANY if many else s3.KEYS))
        show_rows(console, f"S3: {name}, {server.rss_mb():,.0f} MB afterwards", compared[name])
        figures = [*measured.figures(), *(measured.large(folder) if folder is not None else ())]
        show_figures(console, f"S3: {name}", figures)
        results[f"s3, {name}"] = [*compared[name], *figures]

    with TemporaryDirectory() as place:
        with _redrive("--limits", "relaxed", durable=True) as server:
            measure("redrive, durable", server, many=arguments.backlog, folder=Path(place))
        with _redrive("--limits", "relaxed", durable=False) as server:
            measure("redrive, in memory", server)
        with stores.in_postgresql() as (server, _):
            measure("redrive, in PostgreSQL", server, folder=Path(place))
    for peer in (peer for peer in PEERS if arguments.peers and peer.name in s3.PEERS_WITH_BUCKETS):
        try:
            with running(peer) as (server, _, version):
                measure(f"{peer.name} {version}", server)
        except (NotStarted, OSError, ValueError, BotoCoreError, ClientError) as error:
            console.print(f"{peer.name} is left out: {error}")
    show_ratios(console, compared)
    return results


def _lag(console: Console, arguments: argparse.Namespace) -> dict[str, list[Row | Figure]]:
    """Rows and figures by server; of the others, those that fire."""
    results: dict[str, list[Row | Figure]] = {}

    def measure(name: str, server: ServerProcess) -> None:
        measured = lag.Measured(server, runs=arguments.runs)
        rows, figures = list(measured.rows(arguments.seconds)), list(measured.figures())
        results[f"lag, {name}"] = [*rows, *figures]
        show_rows(console, f"Schedules, made over the wire: {name}", rows)
        show_figures(console, f"Schedules, how late they are: {name}", figures)

    with _redrive(durable=True) as server:
        measure("redrive, durable", server)
    for peer in (peer for peer in PEERS if arguments.peers and peer.name in lag.PEERS_THAT_FIRE):
        try:
            with running(peer) as (server, _, version):
                measure(f"{peer.name} {version}", server)
        except (NotStarted, OSError, ValueError) as error:
            console.print(f"{peer.name} is left out: {error}")
    return results


def _events(console: Console, arguments: argparse.Namespace) -> dict[str, list[Row | Figure]]:
    """Rows and figures of EventBridge by server, and the rows side by side."""
    results: dict[str, list[Row | Figure]] = {}
    compared: dict[str, list[Row]] = {}

    def measure(name: str, server: ServerProcess) -> None:
        measured = events.Measured(server, runs=arguments.runs)
        compared[name] = rows = list(measured.rows(arguments.seconds))
        show_rows(console, f"Events: {name}", rows)
        figures = list(measured.figures())
        show_figures(console, f"Events, how late they are: {name}", figures)
        results[f"events, {name}"] = [*rows, *figures]

    for name, durable in (("redrive, durable", True), ("redrive, in memory", False)):
        with _redrive("--limits", "relaxed", durable=durable) as server:
            measure(name, server)
    with stores.in_postgresql() as (server, _):
        measure("redrive, in PostgreSQL", server)
    for peer in (peer for peer in PEERS if arguments.peers and peer.name in events.PEERS_WITH_RULES):
        try:
            with running(peer) as (server, _, version):
                measure(f"{peer.name} {version}", server)
        except (NotStarted, OSError, ValueError, BotoCoreError, ClientError) as error:
            console.print(f"{peer.name} is left out: {error}")
    show_ratios(console, compared)
    return results


@contextmanager
def _redrive(*options: str, durable: bool) -> Iterator[ServerProcess]:
    port = free_port()
    with TemporaryDirectory() as data:
        command = redrive_command(port, *options, *(["--data", data] if durable else []))
        with serving(command, port, probe=startup.HEALTH, env=ENVIRONMENT) as server:
            yield server


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure redrive.")
    parser.add_argument("suite", nargs="?", default="all", choices=[*SUITES, "all"])
    parser.add_argument("--peers", action="store_true", help="also measure other servers of the same API")
    parser.add_argument("--backlog", action="store_true", help="also loads on a queue and a table that hold 1,000,000")
    parser.add_argument("--seconds", type=float, default=3, help="how long each load lasts")
    parser.add_argument("--faults", type=int, metavar="N", help="prove with up to N faults, in the place of 2 and 3")
    parser.add_argument("--runs", type=int, default=3, help="how often each load runs; the median counts")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures down")
    return parser.parse_args()


if __name__ == "__main__":
    main()
