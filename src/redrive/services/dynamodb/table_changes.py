"""What UpdateTable changes of a table, and of its replicas along with it.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/V2globaltables_HowItWorks.html
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from redrive.core.entropy import new_uuid
from redrive.services.dynamodb.indexes import begin_filling, forget_index
from redrive.services.dynamodb.model.billing import Billing
from redrive.services.dynamodb.model.index_changes import Changed, IndexUpdate, change_indexes
from redrive.services.dynamodb.model.replica import (
    check_stream_end,
    followed_class,
    followed_maximum,
    followed_throughput,
)
from redrive.services.dynamodb.model.stream import ViewType
from redrive.services.dynamodb.model.table import Table
from redrive.services.dynamodb.model.table_requests import (
    AttributeDefinition,
    Encryption,
    Throughput,
    change_billing,
    encryption_key,
    limit_on_demand,
    warm_up,
)
from redrive.services.dynamodb.streams import change_stream
from redrive.store.api import Transaction


@dataclasses.dataclass(frozen=True, slots=True)
class TableChange:
    """The settings that a request changes; None keeps a setting.

    `view_type` counts if `has_stream_change`: None disables the stream.
    """

    definitions: Sequence[AttributeDefinition] | None
    billing_mode: str | None
    throughput: Throughput | None
    index_updates: Sequence[IndexUpdate]
    encryption: Encryption | None
    table_class: str | None
    is_protected: bool | None
    on_demand: Mapping[str, int] | None
    warm: Mapping[str, int] | None
    view_type: ViewType | None
    has_stream_change: bool

    def followed_by(self, replica: Table) -> TableChange:
        """What changes in another replica. Protection and the stream are the matter of each replica alone."""
        encryption = self.encryption
        if encryption is not None and "KMSMasterKeyId" in encryption:
            # A key is one of a single Region.
            encryption = {"Enabled": True}
        return dataclasses.replace(
            self, throughput=followed_throughput(replica, self.throughput), encryption=encryption, is_protected=None,
            table_class=followed_class(replica, self.table_class), on_demand=followed_maximum(replica, self.on_demand),
            has_stream_change=False,
        )  # fmt: skip


def change_table(tx: Transaction, table: Table, asked: TableChange) -> Changed:
    """Change a table and store it. Returns the table as it is before a created index is filled.

    Errors: ValidationException; LimitExceededException; ResourceNotFoundException for an unknown index.
    """
    old_mode, billing = table.billing.mode, table.billing
    if asked.billing_mode is not None or asked.throughput is not None:
        billing = change_billing(billing, asked.billing_mode, asked.throughput, tx.now)
    table = dataclasses.replace(table, billing=limited(billing, asked.on_demand, asked.warm))
    changed = change_indexes(
        table, asked.index_updates, asked.definitions,
        old_mode=old_mode, new_id=lambda: new_uuid(tx.entropy), now=tx.now,
    )  # fmt: skip
    table = changed.table
    if asked.encryption is not None:
        key = encryption_key(table.scope, asked.encryption, new_uuid(tx.entropy))
        table = dataclasses.replace(table, encryption_key_arn=key)
    if asked.table_class is not None:
        table = dataclasses.replace(table, table_class=asked.table_class)
    if asked.is_protected is not None:
        table = dataclasses.replace(table, is_protected=asked.is_protected)
    if asked.has_stream_change:
        if asked.view_type is None:
            check_stream_end(table)
        table = change_stream(tx, table, asked.view_type)
    stored = table if changed.created is None else begin_filling(tx, table, changed.created)
    tx.resources.put(table.scope, stored)
    if changed.deleted is not None:
        forget_index(tx, table, changed.deleted)
    return dataclasses.replace(changed, table=table)


def limited(billing: Billing, on_demand: Mapping[str, int] | None, warm: Mapping[str, int] | None) -> Billing:
    """The throughput settings with limits on demand, and a warm throughput."""
    return warm_up(limit_on_demand(billing, on_demand), warm)
