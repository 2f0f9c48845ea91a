"""The rules that AWS makes for archives, as answers show them. Nothing matches by them: an archive takes events itself.

Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-archive.html
"""

from __future__ import annotations

from redrive.core.documents import dump_json, load_json
from redrive.core.scope import Scope
from redrive.services.events.model.archive import Archive
from redrive.services.events.model.rule import Rule

PREFIX = "Events-Archive-"
OWNER = "prod.vhs.events.aws.internal"
"""Whom AWS names as the owner of these rules."""

_NOT_REPLAYED = {"replay-name": [{"exists": False}]}


def rule_of(archive: Archive, scope: Scope) -> Rule:
    """The rule of an archive: what its pattern matches and is not replayed goes into the archive."""
    pattern = {**({} if archive.pattern is None else load_json(archive.pattern)), **_NOT_REPLAYED}
    template = (
        f'{{"archive-arn": "{archive.arn(scope)}:{archive.id}", "event": <aws.events.event.json>, '
        '"ingestion-time": <aws.events.event.ingestion-time>}'
    )
    target = {
        "Id": archive.name, "Arn": f"arn:aws:events:{scope.region}:::",
        "InputTransformer": {"InputPathsMap": {}, "InputTemplate": template},
    }  # fmt: skip
    return Rule(
        archive.bus_name, f"{PREFIX}{archive.name}", archive.created_at, dump_json(pattern), managed_by=OWNER,
        targets=(target,),
    )  # fmt: skip


def archive_name(rule_name: str) -> str | None:
    """The archive whose rule has this name; None for the name of any other rule."""
    return rule_name.removeprefix(PREFIX) if rule_name.startswith(PREFIX) else None
