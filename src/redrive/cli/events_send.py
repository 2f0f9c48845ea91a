"""`redrive events send`: sends events of files to a bus. The same on a server and on AWS."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click

from redrive.cli.clients import Place, place_options
from redrive.cli.event_files import read_events
from redrive.cli.output import json_option, print_json, print_table, wants_json
from redrive.core.documents import Document
from redrive.handler.events import PutEventsReport, put_events
from redrive.handler.rate import TokenBucket

FINDING = 1
AWS_SOURCES = "aws."

rate_option = click.option(
    "--rate", default=20.0, show_default=True, type=click.FloatRange(min=0.01), metavar="N",
    help="At most so many requests of PutEvents each second, each with up to ten events.",
)  # fmt: skip


@click.command()
@click.argument("file")
@click.option("--bus", metavar="BUS", help="The bus; otherwise the one that an entry names, or the default bus.")
@click.option("--source", metavar="SOURCE", help="The source of all events, in place of their own.")
@click.option("--detail-type", metavar="TYPE", help="The detail-type of all events, in place of their own.")
@rate_option
@json_option
@place_options
def send(
    file: str, bus: str | None, source: str | None, detail_type: str | None, rate: float, as_json: bool, place: Place
) -> None:  # fmt: skip
    """Send the events of FILE: one, a list, or one in each line. - is standard input.

    An event is written as EventBridge delivers it, or as an entry of PutEvents. What is throttled is sent again, and
    nothing else is. Exit code 1: an event was not accepted.
    """
    given = {"EventBusName": bus, "Source": source, "DetailType": detail_type}
    changes = {name: value for name, value in given.items() if value is not None}
    found = read_events(file)
    entries: list[Document] = [one.as_entry() | changes for one in found]
    report = put_events(place.client("events"), entries, limiter=TokenBucket(rate))
    rows = results(report, [one.name for one in found])
    if wants_json(as_json):
        print_json({"accepted": len(report.sent), "failed": len(report.left), "entries": rows})
    else:
        cells = [
            (row["name"], row.get("event_id", ""), f"{row.get('code', '')} {row.get('message', '')}") for row in rows
        ]
        print_table(("event", "id", "error"), cells)
        tell_sources(entries[left.place]["Source"] for left in report.left)
    if report.left:
        raise SystemExit(FINDING)


def results(report: PutEventsReport, names: Sequence[str]) -> list[Document]:
    """What became of each entry, in their order."""
    rows: dict[int, Document] = {one.place: {"name": names[one.place], "event_id": one.event_id} for one in report.sent}
    for left in report.left:
        rows[left.place] = {"name": names[left.place], "code": left.code, "message": left.message}
    return [rows[place] for place in sorted(rows)]


def tell_sources(sources: Iterable[str]) -> None:
    """Print what to do about sources that only AWS may use, if there are any."""
    reserved = sorted({source for source in sources if source.startswith(AWS_SOURCES)})
    if reserved:
        what = f"Only AWS may send events from {', '.join(reserved)}. Give them another source: --source retry"
        click.echo(f"{what}; a rule that asks for the source has to take that one, too.", err=True)
