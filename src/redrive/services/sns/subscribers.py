"""The subscriptions of a topic with their filter policies, compiled together.

They are kept by the version of the topic's subscriptions. A version follows from their content, so what is found is
right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from redrive.core.documents import dump_dataclass
from redrive.core.scope import Scope
from redrive.languages.event_pattern import Matcher
from redrive.services.sns.limits import SUBSCRIPTIONS_READ_PAGE
from redrive.services.sns.model.filter_policy import read_policy
from redrive.services.sns.model.subscription import BODY_SCOPE, Subscription, SubscriptionsVersion
from redrive.store.api import Transaction


@dataclass(frozen=True, slots=True)
class Subscribers:
    """The confirmed subscriptions of a topic, by id, and the matchers of those that filter.

    `has_signed`: whether one of them gets envelopes, which are signed.
    """

    subscriptions: Mapping[str, Subscription]
    by_attributes: frozenset[str]
    by_body: frozenset[str]
    attributes_matcher: Matcher | None
    body_matcher: Matcher | None
    has_signed: bool = False


_NOBODY = Subscribers({}, frozenset(), frozenset(), None, None)


def subscribers_of(tx: Transaction, scope: Scope, topic_name: str) -> Subscribers:
    """Who gets the messages of a topic."""
    version = tx.resources.get(SubscriptionsVersion, scope, topic_name)
    if version is None:
        return _NOBODY
    key = (Subscription.KIND, scope, topic_name, version.version)
    found = tx.resources.memo.get(key)
    if found is None:
        found = _compiled(all_subscriptions(tx, scope, topic_name))
        tx.resources.memo.put(key, found)
    return cast(Subscribers, found)


def all_subscriptions(tx: Transaction, scope: Scope, topic_name: str) -> list[Subscription]:
    """All subscriptions of a topic, sorted by id."""
    found: list[Subscription] = []
    after = ""
    while True:
        page = tx.resources.list(
            Subscription, scope, prefix=f"{topic_name}/", after=after, limit=SUBSCRIPTIONS_READ_PAGE
        )  # fmt: skip
        found += page
        if len(page) < SUBSCRIPTIONS_READ_PAGE:
            return found
        after = page[-1].name


def store_subscription(tx: Transaction, scope: Scope, subscription: Subscription) -> None:
    """Store a subscription. The next message of its topic meets it."""
    tx.resources.put(scope, subscription)
    _changed(tx, scope, subscription.topic_name, f"put {dump_dataclass(subscription)}")


def delete_subscription(tx: Transaction, scope: Scope, subscription: Subscription) -> None:
    """Delete a subscription."""
    tx.resources.delete(Subscription, scope, subscription.name)
    _changed(tx, scope, subscription.topic_name, f"delete {subscription.id}")


def _changed(tx: Transaction, scope: Scope, topic_name: str, change: str) -> None:
    version = tx.resources.get(SubscriptionsVersion, scope, topic_name) or SubscriptionsVersion(topic_name)
    tx.resources.put(scope, version.after(change))


def _compiled(stored: list[Subscription]) -> Subscribers:
    active = {one.id: one for one in stored if not one.is_pending}
    filtering = [one for one in active.values() if one.filter_policy]
    by_body = {one.id: one for one in filtering if one.filter_scope == BODY_SCOPE}
    by_attributes = {one.id: one for one in filtering if one.filter_scope != BODY_SCOPE}
    return Subscribers(
        active, frozenset(by_attributes), frozenset(by_body), _matcher(by_attributes), _matcher(by_body),
        has_signed=any(one.is_signed for one in active.values()),
    )  # fmt: skip


def _matcher(filtering: Mapping[str, Subscription]) -> Matcher | None:
    if not filtering:
        return None
    return Matcher.of({key: read_policy(one.filter_policy, one.filter_scope) for key, one in filtering.items()})
