"""The operations on saved queries."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.limits import Limits
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.logs import limits
from redrive.services.logs.model.query import QueryDefinition
from redrive.services.logs.model.tokens import list_token, read_list_token
from redrive.store.api import Transaction
from redrive.store.tables.resources import PAGE_MAX


@operation("PutQueryDefinition")
def put_query_definition(
    tx: Transaction,
    caller: Caller,
    *,
    name: str,
    query_string: str,
    query_definition_id: str | None = None,
    log_group_names: Sequence[str] | None = None,
    client_token: str | None = None,
    query_language: str | None = None,
    parameters: Sequence[Document] | None = None,
) -> Document:
    """Save a query, or replace the saved query of an id. The text is not read before it is run.

    A repeated call with the same `client_token` saves one query.

    Errors: ResourceNotFoundException (the id); LimitExceededException (1,000 of them).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutQueryDefinition.html
    """
    tx.services.authorize(tx, caller, "logs:PutQueryDefinition", "*")
    if query_definition_id is None:
        query_definition_id = client_token or new_uuid(tx.entropy)
        known = tx.resources.get(QueryDefinition, caller.scope, query_definition_id)
        count = tx.resources.count(QueryDefinition, caller.scope)
        if known is None and tx.services.limits is Limits.STRICT and count >= limits.QUERY_DEFINITIONS_MAX:
            raise ServiceError("LimitExceededException", "Resource limit exceeded.")
    else:
        _existing(tx, caller, query_definition_id)
    definition = QueryDefinition(
        query_definition_id, name, query_string, tx.now, tuple(log_group_names or ()), tuple(parameters or ()),
        query_language or "CWLI",
    )  # fmt: skip
    tx.resources.put(caller.scope, definition)
    return {"queryDefinitionId": definition.id}


@operation("DescribeQueryDefinitions")
def describe_query_definitions(
    tx: Transaction,
    caller: Caller,
    *,
    query_definition_name_prefix: str | None = None,
    max_results: int | None = None,
    next_token: str | None = None,
    query_language: str | None = None,
) -> Document:
    """List saved queries by name.

    Errors: InvalidParameterException (an invalid nextToken).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DescribeQueryDefinitions.html
    """
    tx.services.authorize(tx, caller, "logs:DescribeQueryDefinitions", "*")
    after = [] if next_token is None else [str(part) for part in read_list_token(next_token)]
    found = [
        definition
        for definition in tx.resources.list(QueryDefinition, caller.scope, limit=PAGE_MAX)
        if definition.title.startswith(query_definition_name_prefix or "")
        and query_language in (None, definition.language)
        and [definition.title, definition.id] > after
    ]
    found.sort(key=lambda definition: (definition.title, definition.id))
    size = max_results or 1_000
    page = found[:size]
    token = list_token(page[-1].title, page[-1].id) if len(found) > size else None
    return {"queryDefinitions": [definition.described() for definition in page], "nextToken": token}


@operation("DeleteQueryDefinition")
def delete_query_definition(tx: Transaction, caller: Caller, *, query_definition_id: str) -> Document:
    """Delete a saved query.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DeleteQueryDefinition.html
    """
    tx.services.authorize(tx, caller, "logs:DeleteQueryDefinition", "*")
    _existing(tx, caller, query_definition_id)
    tx.resources.delete(QueryDefinition, caller.scope, query_definition_id)
    return {"success": True}


def _existing(tx: Transaction, caller: Caller, definition_id: str) -> QueryDefinition:
    """The saved query with this id. Errors: ResourceNotFoundException."""
    found = tx.resources.get(QueryDefinition, caller.scope, definition_id)
    if found is None:
        raise ServiceError("ResourceNotFoundException", f"The query definition {definition_id} does not exist.")
    return found
