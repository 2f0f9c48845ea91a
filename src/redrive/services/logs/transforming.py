"""What transformers make of events when they are taken: the transformer of the group, or that of the account."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from redrive.core.documents import Document, load_json
from redrive.core.scope import Scope
from redrive.languages.log_transform import Transformer, read_transformer
from redrive.services.logs.model.group import GroupClass, LogGroup
from redrive.services.logs.model.policies import TRANSFORMER, AccountPolicy
from redrive.services.logs.model.transformer import LogTransformer
from redrive.store.api import Transaction


def transformer_of(tx: Transaction, scope: Scope, group: LogGroup) -> Transformer | None:
    """The transformer that events of a group go through; None without one."""
    text = _config_of(tx, scope, group)
    if text is None:
        return None
    key = ("logs.transformer", text)
    found = tx.resources.memo.get(key)
    if found is None:
        found = read_transformer(load_json(text))
        tx.resources.memo.put(key, found)
    return cast(Transformer, found)


def transformed(
    tx: Transaction, scope: Scope, group: LogGroup, stream: str, events: Sequence[Document]
) -> Sequence[str | None]:
    """What each event becomes, as JSON; None for those that stay as they are, empty if there is no transformer."""
    transformer = transformer_of(tx, scope, group)
    if transformer is None:
        return ()
    metadata = {
        "@logGroupName": group.name, "@logGroupStream": stream, "@accountId": scope.account, "@regionName": scope.region
    }  # fmt: skip
    return [transformer.transform(str(event["message"]), metadata) for event in events]


def seen_by_filters(events: Sequence[Document], made: Sequence[str | None]) -> Sequence[Document]:
    """Events as filters on transformed logs see them: those without a transformed version as they came."""
    if not made:
        return events
    return [
        event if text is None else {"timestamp": event["timestamp"], "message": text}
        for event, text in zip(events, made, strict=True)
    ]


def _config_of(tx: Transaction, scope: Scope, group: LogGroup) -> str | None:
    """The processors, as JSON: a group's own transformer is used in place of the account's."""
    for owner, own in tx.resources.everywhere(LogTransformer):
        if owner == scope and own.group_id == group.id:
            return own.config
    for owner, policy in tx.resources.everywhere(AccountPolicy):
        is_wanted = owner == scope and policy.policy_type == TRANSFORMER and policy.selects(group.name)
        if is_wanted and group.group_class is GroupClass.STANDARD:
            return policy.document
    return None
