"""A day with troubles, and which alarm told each of them after how long.

    python run.py                # a table to a terminal, JSON to a pipe; exit code 1 if a trouble was not told

It starts a server in virtual time of its own. If AWS_ENDPOINT_URL names one, that is used: a fresh one, in virtual time
(`redrive serve --clock virtual`), which can be looked into afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import textwrap
from datetime import datetime
from pathlib import Path
from typing import Any

from documents import metric_filters, put_alarms, queries, query_of_a_group_that_is_not_there
from plan import PLAN, Event, steps, url_of
from server import DAY, advance_to, client, redrive, server

HERE = Path(__file__).parent
LATE_MIN = 45  # An alarm that fires so long after a trouble's end still tells it.
LINES_SHOWN = 8  # Of the table of each query.
WIDTH = shutil.get_terminal_size().columns
PRINTED = ("EventBridge-HighFailureRate", "EventBridge-HighFailureRate-of-the-rule", "S3Event-ProcessingDelay")


def minute_of(time: str) -> int:
    """Minutes since midnight of 05:30."""
    hour, minute = time.split(":")
    return int(hour) * 60 + int(minute)


def clock(minute: float) -> str:
    """05:30, of minutes since midnight."""
    return f"{int(minute) // 60:02}:{int(minute) % 60:02}"


def told() -> list[dict[str, Any]]:
    """What was told: each message of an alarm that the topic has sent, with its minute. The queue is empty then."""
    sqs, url = client("sqs"), url_of("told")
    messages: list[dict[str, Any]] = []
    while found := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        for message in found:
            said = json.loads(message["Body"])
            at = datetime.fromisoformat(said["StateChangeTime"])
            since = at - datetime.fromisoformat(f"{DAY}T00:00:00+00:00")
            messages.append(
                {"minute": since.total_seconds() / 60, "alarm": said["AlarmName"], "state": said["NewStateValue"]}
            )
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return sorted(messages, key=lambda one: (one["minute"], one["alarm"]))


def event_at(minute: float) -> Event | None:
    """What has begun last at this minute, if it lasts or has ended lately: alarms look back, so some fire later."""
    begun = [event for event in PLAN if minute_of(event.at) <= minute]
    return begun[-1] if begun and minute <= minute_of(begun[-1].until) + LATE_MIN else None


def told_of(event: Event, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Which alarms told an event, each once, and after how many minutes."""
    first: dict[str, float] = {}
    for message in messages:
        if event_at(message["minute"]) == event:
            first.setdefault(message["alarm"], message["minute"] - minute_of(event.at))
    return [{"alarm": alarm, "after_min": round(minutes)} for alarm, minutes in first.items()]


def told_in_vain(messages: list[dict[str, Any]]) -> list[dict[str, str]]:
    """What was told although there was no trouble, with what happened instead."""
    found = []
    for message in messages:
        event = event_at(message["minute"])
        if event is None or not event.is_trouble:
            during = "nothing" if event is None else event.name
            found.append({"at": clock(message["minute"]), "alarm": message["alarm"], "during": during})
    return found


def muted() -> list[dict[str, str]]:
    """The changes to ALARM during the announced work. None of them was told."""
    event = PLAN[-1]
    pages = client("cloudwatch").get_paginator("describe_alarm_history")
    window = {"StartDate": f"{DAY}T{event.at}:00Z", "EndDate": f"{DAY}T{event.until}:59Z"}
    found = pages.paginate(HistoryItemType="StateUpdate", **window)
    items = [item for page in found for item in page["AlarmHistoryItems"]]
    return [
        {"at": f"{item['Timestamp']:%H:%M}", "alarm": item["AlarmName"]}
        for item in items
        if item["HistorySummary"].endswith("to ALARM")
    ]


def day(until: str) -> dict[str, str]:
    """Deploy, put the article's alarms, and let the plan happen. Returns what became of the article's alarms."""
    redrive("deploy", str(HERE / "template.yaml"), "--stack", "alerts")
    printed = put_alarms()
    for time, step in steps():
        if time < until:
            advance_to(time)
            step()
    advance_to(until)
    return printed


def alarm_states() -> dict[str, str]:
    """In which state each of the article's alarms is at the end, and why."""
    found = client("cloudwatch").describe_alarms(AlarmNames=list(PRINTED))["MetricAlarms"]
    return {alarm["AlarmName"]: f"{alarm['StateValue']}: {alarm['StateReason']}" for alarm in found}


def report(until: str, *, as_tables: bool) -> dict[str, Any]:
    """The day, and all that was told and not told of it; rows of queries as tables, or as values."""
    printed = day(until)
    messages = [message for message in told() if message["state"] == "ALARM"]
    ours = [message for message in messages if message["alarm"] not in PRINTED]
    theirs = [message for message in messages if message["alarm"] in PRINTED]
    troubles = [
        {
            "trouble": event.name, "what": event.what, "at": event.at, "until": event.until,
            "told_by": told_of(event, ours), "told_as_printed": told_of(event, theirs),
        }
        for event in PLAN
        if event.is_trouble and event.until < until
    ]  # fmt: skip
    return {
        "troubles": troubles,
        "in_vain": told_in_vain(messages),
        "muted": muted(),
        "not_told": [trouble["trouble"] for trouble in troubles if not trouble["told_by"]],
        "documents": {
            **metric_filters(),
            **printed,
            "7.1, of the log group that is named": query_of_a_group_that_is_not_there(),
        },
        "printed_alarms": alarm_states(),
        "queries": queries(as_tables=as_tables),
    }


def print_tables(found: dict[str, Any]) -> None:
    """Print what went wrong, who told it, and what the articles' documents do."""
    print(f"{'at':<6} {'went wrong':<22} {'told by':<29} {'after':>6}  as printed")
    for trouble in found["troubles"]:
        rows = trouble["told_by"] or [{"alarm": "NOBODY", "after_min": ""}]
        as_printed = ", ".join(one["alarm"] for one in trouble["told_as_printed"]) or "not told"
        for number, row in enumerate(rows):
            head = (trouble["at"], trouble["trouble"], as_printed) if number == 0 else ("", "", "")
            print(f"{head[0]:<6} {head[1]:<22} {row['alarm']:<29} {row['after_min']:>3} min  {head[2]}")
    print("\nTold in vain")
    for one in found["in_vain"]:
        print(f"{one['at']:<6} {one['alarm']:<29} during {one['during']}")
    print("\nIn ALARM and muted, so nobody was told")
    for one in found["muted"]:
        print(f"{one['at']:<6} {one['alarm']}")
    print(f"\nNot told by anybody: {', '.join(found['not_told']) or 'nothing'}")
    print("\nThe articles' documents")
    at_the_end = {f"{name}, at the end of the day": state for name, state in found["printed_alarms"].items()}
    for name, answer in {**found["documents"], **at_the_end}.items():
        print(f"  {name}\n{wrapped(answer, indent=6)}")
    print("\nThe articles' queries")
    for query in found["queries"]:
        print_query(query)


def print_query(query: dict[str, Any]) -> None:
    """Print what a query has found, as `redrive logs query` does, from its beginning."""
    print(f"\n  {query['name']}")
    for note in [f"StartQuery itself: {query['as_aws']}", *query["notes"]]:
        print(wrapped(note, indent=4))
    for line in query["table"][:LINES_SHOWN]:
        print(f"    {line}")
    if len(query["table"]) > LINES_SHOWN:
        print("    …")


def wrapped(text: str, *, indent: int) -> str:
    """A text in lines that fit on the terminal."""
    return textwrap.fill(text, WIDTH, initial_indent=" " * indent, subsequent_indent=" " * indent)


def main() -> int:
    """Let the day happen, and tell it. Returns 1 if a trouble was not told."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--until", default="23:59", metavar="HH:MM", help="end the day earlier")
    until, as_tables = options.parse_args().until, sys.stdout.isatty()
    os.environ["COLUMNS"] = str(WIDTH - 4)  # The tables of queries are indented.
    with server():
        found = report(until, as_tables=as_tables)
    if as_tables:
        print_tables(found)
    else:
        print(json.dumps(found, indent=2, ensure_ascii=False))
    return int(bool(found["not_told"]))


if __name__ == "__main__":
    sys.exit(main())
