"""`redrive logs`: prints the log of a function, and runs queries. The same on a server and on AWS."""

from __future__ import annotations

import difflib
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import click
from botocore.exceptions import ClientError

from redrive.cli.clients import Place, place_options
from redrive.cli.durations import Duration
from redrive.cli.logs_query import command as query
from redrive.core.clock import SECOND_MS, format_instant
from redrive.core.errors import UserError

LOOK_EVERY_S = 1.0
"""How often `--follow` polls."""

LATE_MS = 30 * SECOND_MS
"""Events may arrive this much later than their time: `--follow` reads again from so far back."""

INTERRUPTED = 130


class _Logs(click.Group):
    """`redrive logs FUNCTION` is `redrive logs show FUNCTION`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "--help"):
            args = ["show", *args]
        return super().parse_args(ctx, args)


@click.command("show")
@click.argument("function")
@click.option("-f", "--follow", is_flag=True, help="Go on with what is logged from now on, until Ctrl-C.")
@click.option("--since", type=Duration(), default="1h", show_default=True, help="How far back: 90s, 15m, 24h, 7d.")
@click.option(
    "--filter", "pattern", help='A filter pattern of CloudWatch Logs: ERROR, "timed out", {$.level = "WARN"}.'
)
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each event.")
@place_options
def show(function: str, follow: bool, since: float, pattern: str | None, as_json: bool, place: Place) -> None:
    """Print what FUNCTION has logged: a function's name or ARN, or a log group that begins with a slash.

    Each event is a line, on a terminal and in a pipe; its time is UTC.
    """
    logs = place.client("logs")
    group = _group(place, function)
    start = place.now() - round(since * SECOND_MS)
    asked = {"logGroupName": group} | ({"filterPattern": pattern} if pattern else {})
    shown = 0
    try:
        for event in _events(logs, asked, start, follow=follow, pause=_pause):
            _print(event, as_json=as_json)
            shown += 1
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    except logs.exceptions.ResourceNotFoundException as error:
        what = f"{function} has logged nothing yet: there is no log group {group}."
        raise UserError(what, next_step=_invoke(function), exit_code=1) from error
    if not shown:
        _tell_nothing(logs, group, start, pattern, place, function)


@click.group(cls=_Logs)
def command() -> None:
    """Print what a function has logged (`redrive logs FUNCTION`), or run a query over log groups."""


command.add_command(show)
command.add_command(query, "query")


def _pause() -> None:
    threading.Event().wait(LOOK_EVERY_S)


def _group(place: Place, function: str) -> str:
    """The log group of a function. Errors: UserError if there is no such function."""
    if function.startswith("/"):
        return function
    functions = place.client("lambda")
    try:
        settings = functions.get_function_configuration(FunctionName=function)
    except ClientError as error:
        if error.response["Error"]["Code"] != "ResourceNotFoundException":
            raise
        pages = functions.get_paginator("list_functions").paginate()
        names = [one["FunctionName"] for page in pages for one in page["Functions"]]
        raise _no_function(function, names, place) from error
    default = f"/aws/lambda/{settings['FunctionName']}"
    return str(settings.get("LoggingConfig", {}).get("LogGroup", default))


def _no_function(function: str, names: list[str], place: Place) -> UserError:
    near = difflib.get_close_matches(function, names) or [name for name in names if function in name]
    if near:
        step = f"Did you mean: redrive logs {near[0]}{place.options}"
    else:
        step = f"There is: {', '.join(sorted(names)[:20])}." if names else "Deploy one: redrive deploy TEMPLATE"
    return UserError(f"There is no function {function} in {place.region_shown}.", next_step=step, exit_code=2)


def _events(
    logs: Any, asked: dict[str, str], start: int, *, follow: bool, pause: Callable[[], None]
) -> Iterator[dict[str, Any]]:
    """The events of a group from an instant on, in order; with `follow`, without end."""
    seen: dict[str, int] = {}
    while True:
        try:
            pages = logs.get_paginator("filter_log_events").paginate(startTime=max(start, 0), **asked)
            for event in (event for page in pages for event in page["events"]):
                if event["eventId"] not in seen:
                    seen[event["eventId"]] = event["timestamp"]
                    yield event
        except logs.exceptions.ResourceNotFoundException:
            if not follow:
                raise
        if not follow:
            return
        start = max(start, max(seen.values(), default=start) - LATE_MS)
        seen = {event_id: at for event_id, at in seen.items() if at >= start}
        pause()


def _print(event: dict[str, Any], *, as_json: bool) -> None:
    at = event["timestamp"]
    instant = f"{format_instant(at)[:-1]}.{at % SECOND_MS:03d}Z"
    if as_json:
        line = {"at": instant, "stream": event["logStreamName"], "message": event["message"].rstrip("\n")}
        click.echo(json.dumps(line, ensure_ascii=False))
    else:
        click.echo(f"{instant}  {event['message'].rstrip()}")


def _tell_nothing(logs: Any, group: str, start: int, pattern: str | None, place: Place, function: str) -> None:
    """Print why nothing is shown, and which options show more."""
    what = "Nothing that fits the filter" if pattern else "Nothing"
    click.echo(f"{what} was logged since {format_instant(start)}.", err=True)
    streams = logs.describe_log_streams(logGroupName=group, orderBy="LastEventTime", descending=True, limit=1)
    latest = [one["lastEventTimestamp"] for one in streams["logStreams"] if "lastEventTimestamp" in one]
    if latest and latest[0] < start:
        days = (place.now() - latest[0]) // (86_400 * SECOND_MS) + 1
        click.echo(f"  The last event is of {format_instant(latest[0])}: see it with --since {days}d", err=True)
    elif not latest:
        click.echo(f"  {_invoke(function)}", err=True)


def _invoke(function: str) -> str:
    if function.startswith("/"):
        return "List the groups: aws logs describe-log-groups"
    return f"Run it: aws lambda invoke --function-name {function} /dev/stdout"
