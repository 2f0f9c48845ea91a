"""`redrive status`: a summary of a server on one page."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import click

from redrive.cli.endpoint import ask, endpoint_option
from redrive.cli.output import json_option, print_json, print_table, span, wants_json
from redrive.core.clock import DAY_MS, format_instant, parse_instant

LATELY_MS = DAY_MS
TRIED_MS_MAX = DAY_MS
"""The longest time for which a delivery is retried."""

SHOWN = 5
FAILED = ("dead-lettered", "dropped", "gave-up")
"""The states of runs that were given up."""

PAGE = 1_000

SILENT_MS = 3_000
"""Servers say each second that they live."""


@click.command()
@click.option(
    "--region", envvar="AWS_DEFAULT_REGION", default="us-east-1", show_default=True, help="Whose work is shown."
)
@json_option
@endpoint_option
def command(region: str, as_json: bool, endpoint_url: str) -> None:
    """Show a server: its clock and store, what is due next, what is being retried, and what failed in the last day.

    Servers that share a store in PostgreSQL are listed with the attempts that each of them has under way.

    Exit code 3 if no server answers.
    """
    found = _look(endpoint_url, region)
    if wants_json(as_json):
        print_json(found)
        return
    now_ms = parse_instant(found["clock"]["now"])
    for name, value in _facts(found, endpoint_url):
        click.echo(f"{name:<9}{value}")
    if len(found["nodes"]) > 1:
        click.echo("\nServers on this store")
        print_table(("host", "url", "process", "version", "seen", "under way"), [_node(one) for one in found["nodes"]])
    if found["due"]:
        click.echo("\nDue next")
        due = [(_within(one["at"], now_ms), one["name"], one["what"]) for one in found["due"][:SHOWN]]
        print_table(("in", "name", "what"), due)
    if found["failed"]:
        click.echo(f"\nGiven up within {span(LATELY_MS)}")
        failed = [(_ago(one["at"], now_ms), one["source"], one["error"], one["id"]) for one in found["failed"][:SHOWN]]
        print_table(("ago", "source", "error", "run"), failed)
        click.echo(f"See one with: redrive runs show {found['failed'][0]['id']}", err=True)


def _look(endpoint_url: str, region: str) -> dict[str, Any]:
    health = ask(endpoint_url, "health")
    lately = format_instant(max(0, int(health["now_ms"]) - LATELY_MS))
    # Runs are listed by their start, and a run that is given up now may have been retried for a day or more.
    since = format_instant(max(0, int(health["now_ms"]) - LATELY_MS - TRIED_MS_MAX))
    retrying = _runs(endpoint_url, region, state="retrying")
    failed = [run for state in FAILED for run in _runs(endpoint_url, region, state=state, since=since)]
    failed = [run for run in failed if (run["ended"] or run["began"]) >= lately]
    failed.sort(key=lambda run: str(run["ended"] or run["began"]), reverse=True)
    where = urlencode({"region": region, "limit": PAGE})
    schedules = ask(endpoint_url, f"schedules?{where}")["schedules"]
    due = [_due(one["next"]["utc"], one["name"], one["expression"]) for one in schedules if one["next"]]
    due += [_due(run["attempts"][-1]["next"], _short(run["source"]), _retry(run)) for run in retrying if _waits(run)]
    shared = ask(endpoint_url, "nodes")
    return {
        "endpoint_url": endpoint_url,
        "version": health["version"],
        "account": health["account"],
        "region": region,
        "store": health["store"],
        "clock": {"kind": health["clock"], "now": health["now"]},
        "nodes": shared["nodes"],
        "work": {name: shared[name] for name in ("due", "leased", "lag_ms")},
        "faults": len(ask(endpoint_url, "faults")["faults"]),
        "due": sorted(due, key=lambda one: one["at"]),
        "failed": [_failure(run) for run in failed],
    }


def _facts(found: dict[str, Any], endpoint_url: str) -> list[tuple[str, str]]:
    facts = [
        ("server", f"{endpoint_url} (redrive {found['version']})"),
        ("account", f"{found['account']}, {found['region']}"),
        ("clock", f"{found['clock']['now']} ({found['clock']['kind']} time)"),
        ("store", found["store"]),
    ]
    facts.append(("work", _work(found["work"])))
    if found["faults"]:
        facts.append(("faults", f"{found['faults']} (see them: redrive fault list)"))
    for name, items in (("due", found["due"]), ("failed", found["failed"])):
        more = f", the first {SHOWN} below" if len(items) > SHOWN else ""
        facts.append((name, f"{len(items)}{more}" if items else "nothing"))
    return facts


def _work(work: dict[str, Any]) -> str:
    """How much waits for a server, and how much is under way."""
    late = f", the first for {span(work['lag_ms'])}" if work["due"] else ""
    return f"{work['due']} due{late}; {work['leased']} under way"


def _node(node: dict[str, Any]) -> tuple[str, ...]:
    """A server as a row of a table."""
    seen = "now" if node["silent_ms"] <= SILENT_MS else f"{span(node['silent_ms'])} ago"
    busy = f"{node['underway']} of {node['slots']}"
    return node["host"], node["url"], str(node["process"]), node["version"], seen, busy


def _runs(endpoint_url: str, region: str, **query: str) -> list[dict[str, Any]]:
    answer = ask(endpoint_url, f"runs?{urlencode({'region': region, 'limit': PAGE, **query})}")
    runs: list[dict[str, Any]] = answer["runs"]
    return runs


def _waits(run: dict[str, Any]) -> bool:
    return bool(run["attempts"] and run["attempts"][-1]["next"])


def _retry(run: dict[str, Any]) -> str:
    return f"retry after {run['attempts'][-1]['error'] or 'a failure'}"


def _due(at: str, name: str, what: str) -> dict[str, str]:
    return {"at": at, "name": name, "what": what}


def _failure(run: dict[str, Any]) -> dict[str, str]:
    error = run["attempts"][-1]["error"] if run["attempts"] else None
    return {
        "at": run["ended"] or run["began"],
        "id": run["execution_id"] or run["id"],
        "source": _short(run["source"]),
        "state": run["state"],
        "error": error or run["state"],
    }


def _short(arn: str) -> str:
    """The name at the end of an ARN."""
    return arn.split(":", 5)[-1]


def _ago(at: str, now_ms: int) -> str:
    return span(now_ms - parse_instant(at))


def _within(at: str, now_ms: int) -> str:
    return span(parse_instant(at) - now_ms)
