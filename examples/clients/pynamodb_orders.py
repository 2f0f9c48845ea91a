"""PynamoDB: a table with a global and a local index, its queries in pages, a condition, and a transaction."""

from __future__ import annotations

import os

from pynamodb.attributes import NumberAttribute, UnicodeAttribute
from pynamodb.connection import Connection
from pynamodb.exceptions import PutError, TransactWriteError
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex, KeysOnlyProjection, LocalSecondaryIndex
from pynamodb.models import Model
from pynamodb.transactions import TransactWrite


class ByState(GlobalSecondaryIndex["Order"]):
    """Orders of one state, by their price."""

    class Meta:
        index_name = "by-state"
        projection = AllProjection()

    state = UnicodeAttribute(hash_key=True)
    price = NumberAttribute(range_key=True)


class ByPrice(LocalSecondaryIndex["Order"]):
    """Orders of one customer, by their price."""

    class Meta:
        index_name = "by-price"
        projection = KeysOnlyProjection()

    customer = UnicodeAttribute(hash_key=True)
    price = NumberAttribute(range_key=True)


class Order(Model):
    """An order of a customer."""

    class Meta:
        table_name = "pynamodb-orders"
        region = os.environ["AWS_DEFAULT_REGION"]
        host = os.environ.get("AWS_ENDPOINT_URL")
        billing_mode = "PAY_PER_REQUEST"

    customer = UnicodeAttribute(hash_key=True)
    number = NumberAttribute(range_key=True)
    state = UnicodeAttribute()
    price = NumberAttribute()
    by_state = ByState()
    by_price = ByPrice()


def main() -> None:
    """Write twelve orders, and read them by their indexes."""
    Order.create_table(wait=True)
    with Order.batch_write() as batch:
        for number in range(12):
            state = "open" if number % 2 else "paid"
            batch.save(Order("ann" if number < 6 else "bob", number, state=state, price=100 - number))

    paid = [int(order.number) for order in Order.by_state.query("paid", Order.price < 98, page_size=2)]
    print("paid, by price:", *paid)
    print("ann's, by price:", *(int(order.number) for order in Order.by_price.query("ann")))

    order = Order.get("ann", 1)
    order.update(actions=[Order.state.set("paid")], condition=Order.state == "open")
    print("paid now:", Order.by_state.count("paid"))
    try:
        Order("ann", 1, state="open", price=1).save(Order.customer.does_not_exist())
    except PutError as error:
        print("second order 1:", error.cause_response_code)
    try:
        with TransactWrite(connection=Connection(Order.Meta.region, Order.Meta.host)) as transaction:
            transaction.save(Order("cleo", 1, state="open", price=1))
            transaction.delete(Order("ann", 2), condition=Order.state == "open")
    except TransactWriteError as error:
        print("transaction:", *(reason.code if reason else "None" for reason in error.cancellation_reasons))
    print("orders:", Order.count())
    Order.delete_table()


if __name__ == "__main__":
    main()
