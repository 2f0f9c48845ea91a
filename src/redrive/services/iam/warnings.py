"""Warnings in the server's log about attached AWS policies whose documents redrive does not have. They allow nothing.

The call that attaches such a policy succeeds. A step writes no log: it notifies a topic, and the listener to commits
turns the topic into a log line.
"""

from __future__ import annotations

from collections.abc import Iterable

from redrive.core.log import Log
from redrive.languages.iam import is_unknown, warning_of
from redrive.store.api import Transaction

_TOPIC = "iam unknown policy "


def tell_of_unknown(tx: Transaction, holder_arn: str, policy_arn: str) -> None:
    """After the commit, log that an attached policy allows nothing."""
    if is_unknown(policy_arn):
        tx.notify(f"{_TOPIC}{holder_arn} {policy_arn}")


def log_unknown(log: Log, topics: Iterable[str]) -> None:
    """Write a warning for each topic of a commit that reports an unknown policy."""
    for topic in sorted(topic for topic in topics if topic.startswith(_TOPIC)):
        holder, _, policy = topic.removeprefix(_TOPIC).partition(" ")
        log.warning("policy allows nothing", holder=holder, policy=policy, reason=warning_of(policy))
