"""The operations on transformers of log groups."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.documents import Document, dump_json
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.log_transform import NO_METADATA
from redrive.services.logs.model.group import GroupClass, LogGroup, group_name_of, policy_arn
from redrive.services.logs.model.transformer import LogTransformer, checked_transformer
from redrive.services.logs.operations.groups import existing_group
from redrive.store.api import Transaction


@operation("PutTransformer")
def put_transformer(
    tx: Transaction, caller: Caller, *, log_group_identifier: str, transformer_config: Sequence[Document]
) -> Document:
    """Create or replace the transformer of a group. It works on the events that come from now on.

    Errors: ResourceNotFoundException; InvalidParameterException (the processors); InvalidOperationException (a group of
    another class than STANDARD).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutTransformer.html
    """
    group = _group(tx, caller, "logs:PutTransformer", log_group_identifier)
    if group.group_class is not GroupClass.STANDARD:
        raise ServiceError("InvalidOperationException", "Only log groups of the class STANDARD have transformers.")
    checked_transformer(transformer_config)
    known = tx.resources.get(LogTransformer, caller.scope, group.id)
    created_at = tx.now if known is None else known.created_at
    config = dump_json([{name: one for name, one in given.items() if one is not None} for given in transformer_config])
    tx.resources.put(caller.scope, LogTransformer(group.id, config, created_at, tx.now))
    return {}


@operation("GetTransformer")
def get_transformer(tx: Transaction, caller: Caller, *, log_group_identifier: str) -> Document:
    """Show the transformer of a group; transformers of the account are among its policies.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_GetTransformer.html
    """
    group = _group(tx, caller, "logs:GetTransformer", log_group_identifier)
    known = tx.resources.get(LogTransformer, caller.scope, group.id)
    if known is None:
        raise _no_transformer()
    return known.described(group.arn(caller.scope))


@operation("DeleteTransformer")
def delete_transformer(tx: Transaction, caller: Caller, *, log_group_identifier: str) -> Document:
    """Delete the transformer of a group. What it has made of events stays.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DeleteTransformer.html
    """
    group = _group(tx, caller, "logs:DeleteTransformer", log_group_identifier)
    if not tx.resources.delete(LogTransformer, caller.scope, group.id):
        raise _no_transformer()
    return {}


@operation("TestTransformer")
def try_transformer(
    tx: Transaction, caller: Caller, *, transformer_config: Sequence[Document], log_event_messages: Sequence[str]
) -> Document:
    """Say what messages become. One that the transformer cannot read has no transformed version.

    Errors: InvalidParameterException (the processors).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_TestTransformer.html
    """
    tx.services.authorize(tx, caller, "logs:TestTransformer", "*")
    transformer = checked_transformer(transformer_config)
    shown = []
    for number, message in enumerate(log_event_messages, 1):
        made = transformer.transform(message, NO_METADATA)
        shown.append({
            "eventNumber": number, "eventMessage": message,
            **({} if made is None else {"transformedEventMessage": made}),
        })  # fmt: skip
    return {"transformedLogs": shown}


def _group(tx: Transaction, caller: Caller, action: str, identifier: str) -> LogGroup:
    name = group_name_of(caller.scope, None, identifier)
    tx.services.authorize(tx, caller, action, policy_arn(caller.scope, name))
    return existing_group(tx, caller, name)


def _no_transformer() -> ServiceError:
    return ServiceError("ResourceNotFoundException", "The specified log group has no transformer.")
