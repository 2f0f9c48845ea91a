"""The numbers of items that descriptions show: exact for small tables, remembered for five minutes for large ones."""

from __future__ import annotations

from redrive.services.dynamodb.model.table import Table
from redrive.services.dynamodb.totals import shown_totals


def test_many_items_are_counted_once_in_five_minutes(world, call, put, orders):
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TableDescription.html"""

    def shown(fresh_items_max: int) -> int:
        def count(tx):
            table = tx.resources.get(Table, world.caller().scope, orders)
            return shown_totals(tx, table.id, fresh_items_max=fresh_items_max)[0]

        return int(world.store.run(count))

    put("ann", 1)
    exact = shown(fresh_items_max=1)
    put("ann", 2)
    first = shown(fresh_items_max=1)
    put("ann", 3)
    remembered = shown(fresh_items_max=1)
    world.advance(minutes=5)

    assert (exact, first, remembered, shown(fresh_items_max=1)) == (1, 2, 2, 3)
