"""The operations on tags of tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.iam import Context, keys_of_tags, request_tags
from redrive.services.dynamodb.model.table import Table, invalid, not_found
from redrive.services.dynamodb.model.tags import Tag, merge_tags
from redrive.services.dynamodb.operations.tables import authorize, find_table
from redrive.store.api import NO_CONTEXT, Transaction


@operation("TagResource")
def tag_resource(tx: Transaction, caller: Caller, *, resource_arn: str, tags: Sequence[Tag]) -> Document:
    """Add tags to a table. A tag with an existing key replaces the old tag.

    Errors: ResourceNotFoundException; ValidationException.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TagResource.html
    """
    asked = request_tags({tag["Key"]: tag["Value"] for tag in tags})
    table = _tagged_table(tx, caller, "TagResource", resource_arn, asked)
    tx.resources.put(table.scope, dataclasses.replace(table, tags=merge_tags(table.tags, tags)))
    return {}


@operation("UntagResource")
def untag_resource(tx: Transaction, caller: Caller, *, resource_arn: str, tag_keys: Sequence[str]) -> Document:
    """Remove tags from a table; a key that it does not have is not an error.

    Errors: ResourceNotFoundException; ValidationException.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UntagResource.html
    """
    table = _tagged_table(tx, caller, "UntagResource", resource_arn, keys_of_tags(tag_keys))
    kept = {key: value for key, value in table.tags.items() if key not in tag_keys}
    tx.resources.put(table.scope, dataclasses.replace(table, tags=kept))
    return {}


@operation("ListTagsOfResource")
def list_tags_of_resource(
    tx: Transaction, caller: Caller, *, resource_arn: str, next_token: str | None = None
) -> Document:
    """List the tags of a table. One page is always enough, so the answer has no token.

    Errors: ResourceNotFoundException; ValidationException.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListTagsOfResource.html
    """
    table = _tagged_table(tx, caller, "ListTagsOfResource", resource_arn)
    if next_token is not None:
        raise invalid("Invalid NextToken")
    return {"Tags": [{"Key": key, "Value": value} for key, value in table.tags.items()]}


def _tagged_table(tx: Transaction, caller: Caller, action: str, arn: str, context: Context = NO_CONTEXT) -> Table:
    """Return the table with this ARN. Errors: ResourceNotFoundException; ValidationException (not a table's ARN)."""
    if not arn.startswith("arn:"):
        raise invalid(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")
    table = find_table(tx, caller, authorize(tx, caller, action, arn, context))
    if table is None:
        # AWS's message has this spelling.
        raise not_found(f"ResourcArn: {arn} not found")
    return table
