"""`redrive logs query`: runs a query of Logs Insights, and prints rows or a chart. The same on a server and on AWS."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from botocore.exceptions import ClientError

from redrive.cli.clients import Place, place_options
from redrive.cli.durations import Duration
from redrive.cli.output import COLUMN_GAP, print_table, table_width
from redrive.core.clock import SECOND_MS
from redrive.core.errors import UserError
from redrive.languages.insights import MalformedQuery, compile_query

POLL_EVERY_S = 0.2
BAR_WIDTH = 40
_BAR_MIN = 8
_HEADING_MIN = 8
_TEXT_MIN = 12
_WAITS = ("Scheduled", "Running")
_BIN = re.compile(r"bin\s*\(", re.IGNORECASE)
_SQL_COMMENT = re.compile(r"(?m)^([ \t]*)--")
_INTERRUPTED = 130

Row = dict[str, str]


@click.command(context_settings={"ignore_unknown_options": True})  # A query may begin with a comment of SQL.
@click.argument("query")
@click.option(
    "-g", "--group", "groups", multiple=True, required=True,
    help="A log group, or a function; may be given several times.",
)  # fmt: skip
@click.option("--since", type=Duration(), default="1h", show_default=True, help="How far back: 90s, 15m, 24h, 7d.")
@click.option("--until", type=Duration(), default="0s", show_default=True, help="Up to how long ago.")
@click.option("--limit", type=click.IntRange(1, 10_000), help="How many rows at most; the query's own limit holds too.")
@click.option("-o", "--output", type=click.Choice(["table", "chart", "json"]), help="How to print the rows.")
@place_options
def command(
    query: str, groups: Sequence[str], since: float, until: float, limit: int | None, output: str | None, place: Place,
) -> None:  # fmt: skip
    """Run QUERY, in Logs Insights QL, over log groups. `-` reads it from standard input, `@FILE` from a file.

    Rows by bin() are a chart on a terminal, others a table; to a pipe they are JSON.
    """
    text = _text(query)
    _tell_notes(text)
    logs = place.client("logs")
    asked: dict[str, Any] = {
        "logGroupNames": [_group(one) for one in groups], "queryString": _SQL_COMMENT.sub(r"\1# --", text),
        "startTime": max(0, (place.now() - round(since * SECOND_MS)) // SECOND_MS),
        "endTime": (place.now() - round(until * SECOND_MS)) // SECOND_MS,
    }  # fmt: skip
    found = _answer(logs, {**asked, "limit": limit} if limit else asked, text, place, pause=_pause)
    rows = [{cell["field"]: cell["value"] for cell in row if cell["field"] != "@ptr"} for row in found["results"]]
    by = _bin_column(rows) if _BIN.search(text) else None
    _print(rows, output or _usual(by), by)
    told = found["statistics"]
    scanned = f"{told.get('recordsScanned', 0):,.0f} events scanned, {told.get('recordsMatched', 0):,.0f} matched"
    click.echo(f"{len(rows)} {'row' if len(rows) == 1 else 'rows'}; {scanned}.", err=True)


def _usual(by: str | None) -> str:
    if not sys.stdout.isatty():
        return "json"
    return "table" if by is None else "chart"


def _pause() -> None:
    threading.Event().wait(POLL_EVERY_S)


def _text(query: str) -> str:
    """The query, from where it stands. Errors: UserError for a file that cannot be read."""
    if query == "-":
        return sys.stdin.read()
    if not query.startswith("@") or query[1:2] in ("", " "):
        return query
    try:
        return Path(query[1:]).read_text(encoding="utf-8")
    except OSError as error:
        step = "A query stands in quotation marks, in a file as @FILE, or comes from standard input as -."
        raise UserError(f"The query cannot be read from {query[1:]}: {error}", next_step=step, exit_code=2) from error


def _tell_notes(text: str) -> None:
    """Say what the author of a query may not have meant. What only AWS understands is left to AWS."""
    try:
        notes = compile_query(text, now=0).notes
    except MalformedQuery:
        return
    for note in notes:
        click.echo(f"Note: {note}", err=True)


def _group(name: str) -> str:
    """The log group of a name: a function's name stands for its group."""
    return name if "/" in name else f"/aws/lambda/{name}"


def _answer(logs: Any, asked: dict[str, Any], text: str, place: Place, *, pause: Callable[[], None]) -> dict[str, Any]:
    """The complete answer to a query. Errors: UserError."""
    try:
        query_id = logs.start_query(**asked)["queryId"]
    except logs.exceptions.MalformedQueryException as error:
        raise _malformed(error, text) from error
    except logs.exceptions.ResourceNotFoundException as error:
        step = f"List the groups: aws logs describe-log-groups{place.options and ' (with the same endpoint)'}"
        raise UserError(error.response["Error"]["Message"], next_step=step, exit_code=2) from error
    try:
        while True:
            found: dict[str, Any] = logs.get_query_results(queryId=query_id)
            if found["status"] not in _WAITS:
                break
            pause()
    except KeyboardInterrupt:
        logs.stop_query(queryId=query_id)
        raise SystemExit(_INTERRUPTED) from None
    if found["status"] != "Complete":
        step = "Narrow the time with --since and --until, or add a limit to what the query sorts and groups."
        raise UserError(f"The query ended as {found['status']}.", next_step=step, exit_code=1)
    return found


def _malformed(error: ClientError, text: str) -> UserError:
    """What is wrong with a query, with the line and the place under which the error stands."""
    compiled: dict[str, Any] = error.response.get("queryCompileError") or {}
    message = str(compiled.get("message") or error.response["Error"]["Message"])
    at = compiled.get("location", {}).get("startCharOffset")
    if at is None:
        return UserError(f"The query is malformed: {message}", next_step="Mend the query.", exit_code=2)
    # A line of `--` was sent as `# --`, which is two characters longer.
    at -= 2 * len(_SQL_COMMENT.findall(text[:at]))
    line_start = text.rfind("\n", 0, at) + 1
    line = text[line_start:].partition("\n")[0]
    number = text.count("\n", 0, at) + 1
    pointed = f"{line}\n{' ' * (at - line_start)}^"
    return UserError(
        f"The query is malformed in line {number}: {message}\n{pointed}", next_step="Mend it.", exit_code=2
    )


def _bin_column(rows: Sequence[Row]) -> str | None:
    """The column of rows that has the beginnings of periods, if there is one."""
    names = rows[0].keys() if rows else ()
    return next((name for name in names if re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}", rows[0][name])), None)


def _print(rows: Sequence[Row], output: str, by: str | None) -> None:
    if output == "json":
        for row in rows:
            click.echo(json.dumps(row, ensure_ascii=False))
        return
    columns = list(dict.fromkeys(name for row in rows for name in row))
    if output == "chart" and by is not None:
        value = next((name for name in columns if name != by and _is_number(rows, name)), None)
        if value is not None:
            _print_chart(rows, by, value, [name for name in columns if name not in (by, value)])
            return
    numbers = [name for name in columns if _is_number(rows, name)]
    # A message ends with a new line where the program that wrote it did so; in a table that would be an empty line.
    print_table(columns, [[row.get(name, "").rstrip("\n") for name in columns] for row in rows], right=numbers)


def _print_chart(rows: Sequence[Row], by: str, value: str, others: Sequence[str]) -> None:
    """A line for each period, oldest first, with a bar as long as its value is large.

    Headings and texts are wrapped, so that there is room for the bars. Where there is none, the lines have no bars.
    """
    names = [by, *others, value]
    shown = [
        [row.get(by, "").removesuffix(".000"), *(row.get(name, "").rstrip("\n") for name in names[1:])]
        for row in sorted(rows, key=lambda one: one.get(by, ""))
    ]
    numbers = [name for name in names if _is_number(rows, name)]
    widths = {name: max(_HEADING_MIN, *(len(row[number]) for row in shown)) for number, name in enumerate(names)}
    texts = [name for name in others if name not in numbers]
    fixed = {name: width for name, width in widths.items() if name not in texts}
    left = table_width() - sum(fixed.values()) - COLUMN_GAP * len(names)
    longest = min(BAR_WIDTH, max(_BAR_MIN, left - sum(widths[name] for name in texts)))
    if left - longest < _TEXT_MIN * len(texts):
        print_table(names, shown, right=numbers, widths=fixed)
        return
    most = max((abs(_number(row[-1]) or 0.0) for row in shown), default=0.0)
    for row in shown:
        share = abs(_number(row[-1]) or 0.0) / most if most else 0.0
        row.append("█" * round(share * longest) or ("▏" if share else ""))
    print_table([*names, ""], shown, right=numbers, widths={**fixed, "": longest})


def _is_number(rows: Sequence[Row], name: str) -> bool:
    return all(_number(row.get(name, "0")) is not None for row in rows)


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
