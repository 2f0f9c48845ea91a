"""`redrive events tail`: shows events as buses accept them, the rules that each matched, and what became of targets."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import click

from redrive.cli.clients import REGION
from redrive.cli.endpoint import endpoint_option, is_missing
from redrive.cli.schedules import region_option
from redrive.cli.surface import Attempt, Run, Surface, TailedEvent
from redrive.core.documents import Document
from redrive.core.errors import UserError

LOOK_EVERY_S = 0.5
FOLLOWED_MAX = 100
"""So many events are followed until all their targets are settled; of older ones the outcome is not shown."""

INTERRUPTED = 130
FUNCTION = "arn:aws:lambda:"
_COLOURS = {"delivered": "green", "retrying": "yellow"}


@dataclass(slots=True)
class Followed:
    """An event whose targets are not all settled, and how many attempts were shown, by delivery."""

    told: TailedEvent
    event_id: str
    shown: dict[str, int] = field(default_factory=dict)

    def is_settled(self, runs: list[Run]) -> bool:
        """Whether nothing more will become of the event: a function that has accepted it has run, too."""
        mine = [run for run in runs if run["ended"]]
        targets = [target["arn"] for rule in self.told["rules"] for target in rule["targets"]]
        accepted = sum(run["kind"] == "events" and run["state"] == "delivered" for run in mine if _is_call(run))
        return len(mine) == len(runs) and len(mine) >= len(targets) + accepted


def _is_call(run: Run) -> bool:
    return (run["target"] or "").startswith(FUNCTION)


@click.command()
@click.option("--bus", metavar="BUS", default="", help="Only events of this bus; otherwise of all buses of the region.")
@click.option(
    "-n", "--count", type=click.IntRange(min=1), metavar="N", help="End after N events, when they are settled."
)
@click.option("-o", "--output", type=click.Choice(["text", "jsonl"]), help="Text to a terminal, JSON lines to a pipe.")
@region_option
@endpoint_option
def tail(bus: str, count: int | None, output: str | None, region: str, endpoint_url: str) -> None:
    """Show events from now on, until Ctrl-C: each with the rules that it matched, and what became of each target.

    AWS has nothing like this, so it works on servers only.
    """
    show = _show_json if output == "jsonl" or (output is None and not sys.stdout.isatty()) else _show_text
    tailing = Tailing(Surface(endpoint_url), region or REGION, bus, count, _pause)
    tailing.start()
    click.echo(f"Waiting for events of {f'the bus {bus}' if bus else 'all buses'} in {region}; Ctrl-C ends.", err=True)
    try:
        for document in tailing.documents():
            show(document)
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None


def _pause() -> None:
    threading.Event().wait(LOOK_EVERY_S)


class Tailing:
    """Asks a server for events and for the runs of each. `pause` waits between two questions."""

    def __init__(self, server: Surface, region: str, bus: str, count: int | None, pause: Callable[[], None]) -> None:
        self._server = server
        self._region = region
        self._bus = bus
        self._count = count
        self._pause = pause
        self._followed: list[Followed] = []
        self._tail = self._after = ""

    def start(self) -> None:
        """Have the server keep events from now on."""
        started = self._server.start_tail(bus=self._bus, region=self._region)
        self._tail, self._after = started["tail"], started["after"]

    def documents(self) -> Iterator[Document]:
        """Events and outcomes since the start, as they come: `type` is `event`, `outcome` or `gap`."""
        left = self._count
        try:
            while left is None or left > 0 or self._followed:
                limit = 100 if left is None else min(left, 100)
                try:
                    answer = self._server.get_tail(
                        tail=self._tail, after=self._after, limit=max(limit, 1), region=self._region
                    )
                except UserError as error:
                    if not is_missing(error):
                        raise
                    # The server was reset, or more events came than a tail that nobody asks about outlives.
                    self.start()
                    yield {"type": "gap", "why": "The server has ended the tail: some events are not shown."}
                    continue
                events = [] if left == 0 else answer["events"]
                self._after = answer["after"] if events else self._after
                for event in events:
                    yield self._told(event)
                left = None if left is None else left - len(events)
                yield from self._outcomes()
                if not events:
                    self._pause()
        finally:
            with suppress(UserError):
                self._server.end_tail(tail=self._tail, region=self._region)

    def _told(self, told: TailedEvent) -> Document:
        event = json.loads(told["event"])
        if any(rule["targets"] for rule in told["rules"]):
            self._followed = [*self._followed[-FOLLOWED_MAX + 1 :], Followed(told, event["id"])]
        return {
            "type": "event", "accepted": told["accepted"], "bus": told["bus"], "execution_id": told["execution_id"],
            "rules": told["rules"], "event": event,
        }  # fmt: skip

    def _outcomes(self) -> Iterator[Document]:
        """What became of the targets of followed events since it was asked last."""
        still: list[Followed] = []
        for one in self._followed:
            runs = [
                run
                for run in reversed(self._server.list_runs(execution=one.told["execution_id"], limit=1_000)["runs"])
                if _is_of(run, one.event_id)
            ]
            for run in runs:
                for attempt in run["attempts"][one.shown.get(run["id"], 0) :]:
                    yield _outcome(one.event_id, run, attempt)
                one.shown[run["id"]] = len(run["attempts"])
            if not one.is_settled(runs):
                still.append(one)
        self._followed = still


def _is_of(run: Run, event_id: str) -> bool:
    """Whether a run belongs to an event: other events may have the same execution."""
    return run["id"].startswith(event_id) or (run["cause"] or "").startswith(event_id)


def _outcome(event_id: str, run: Run, attempt: Attempt) -> Document:
    return {
        "type": "outcome", "event_id": event_id, "at": attempt["at"], "kind": run["kind"],
        "rule": run["source"].rsplit("/", 1)[-1] if run["kind"] == "events" else None, "target": run["target"],
        "state": attempt["state"], "attempt": attempt["attempt"], "error": attempt["error"],
        "message": attempt["message"], "verdict": attempt["verdict"], "next": attempt["next"],
    }  # fmt: skip


def _show_json(document: Document) -> None:
    click.echo(json.dumps(document, ensure_ascii=False))


def _show_text(document: Document) -> None:
    match document["type"]:
        case "event":
            _show_event(document)
        case "outcome":
            _show_outcome(document)
        case _:
            click.secho(document["why"], fg="yellow", err=True)


def _show_event(told: Document) -> None:
    event: Any = told["event"]
    head = f"{click.style(event['source'], bold=True)}  {event['detail-type']}"
    click.echo(f"{told['accepted']}  {told['bus']}  {head}  {click.style(event['id'], dim=True)}")
    if not told["rules"]:
        click.secho("    no rule", fg="yellow")
    for rule in told["rules"]:
        targets = ", ".join(_name(target["arn"]) for target in rule["targets"]) or "no targets"
        click.echo(f"    {click.style(rule['name'], fg='cyan')} → {targets}")


def _show_outcome(told: Document) -> None:
    who = f"{told['rule']} → {_name(told['target'] or '')}" if told["rule"] else f"run of {_name(told['target'] or '')}"
    why = f": {told['error']}" if told["error"] else ""
    why += f": {told['message']}" if told["message"] else ""
    then = f"; the next attempt is at {told['next']}" if told["next"] else ""
    state = click.style(told["verdict"], fg=_COLOURS.get(told["state"], "red"))
    event_id = click.style(told["event_id"], dim=True)
    click.echo(f"{told['at']}    {who}: attempt {told['attempt']}: {state}{why}{then}  {event_id}")


def _name(arn: str) -> str:
    """The service and the name in an ARN."""
    parts = arn.split(":", 5)
    return f"{parts[2]} {parts[5].removeprefix('function:')}" if len(parts) == 6 else arn
