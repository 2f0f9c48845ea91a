"""Warnings in the server's log about misspelt context attributes, which stay literal without an error, as on AWS.

A step writes no log. It notifies a topic; the listener to commits turns the topic into a log line.
"""

from __future__ import annotations

from collections.abc import Iterable

from redrive.core.documents import Document
from redrive.core.log import Log
from redrive.services.scheduler.model.executions import misspelt_keywords, right_spelling
from redrive.store.api import Transaction

_TOPIC = "scheduler misspelling "


def tell_of_misspellings(tx: Transaction, schedule_arn: str, target: Document) -> None:
    """After the commit, log which context attributes in a target's Input will stay literal."""
    for keyword in misspelt_keywords(target.get("Input", "")):
        tx.notify(f"{_TOPIC}{schedule_arn} {keyword}")


def log_misspellings(log: Log, topics: Iterable[str]) -> None:
    """Write a warning for each topic of a commit that reports a misspelt attribute."""
    for topic in sorted(topic for topic in topics if topic.startswith(_TOPIC)):
        arn, _, keyword = topic.removeprefix(_TOPIC).partition(" ")
        log.warning("context attribute stays literal", schedule=arn, written=keyword, right=right_spelling(keyword))
