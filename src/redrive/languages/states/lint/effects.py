"""Whether the work of a task can be seen afterwards, and whether doing it twice does it twice."""

from __future__ import annotations

import enum

_READING = ("get", "list", "describe", "query", "scan", "head", "batchGet", "lookup", "select", "receive")
_REPEATABLE = ("put", "delete", "tag", "untag", "set")


class Effects(enum.Enum):
    """What a second run of a task changes."""

    NONE = "none"
    REPEATABLE = "repeatable"
    UNKEYED = "unkeyed"


def effects_of(resource: str) -> Effects:
    """The effects of a resource. A function or an activity may do anything."""
    if not resource.startswith("arn:") or ":states:::" not in resource:
        return Effects.UNKEYED
    action = resource.rsplit(":", 1)[-1].split(".", 1)[0]
    if ".sync" in resource and action[:1].isdigit():
        action = resource.split(":")[-2].split(".", 1)[0]
    if action.startswith(_READING):
        return Effects.NONE
    if action in {"putEvents", "putRecord", "putRecords", "putLogEvents"}:
        return Effects.UNKEYED
    if action.startswith(_REPEATABLE):
        return Effects.REPEATABLE
    return Effects.UNKEYED
