"""Provisioned throughput: five minutes of it as a burst, then what comes in each second; and nothing without quotas."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from redrive.core.limits import Limits, Rates
from redrive.engine.settings import Settings
from redrive.testing.world import World
from tests.unit.services.dynamodb.conftest import ORDERS, key

BURST = 300
UNITS = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
PROVISIONED = {**ORDERS, "BillingMode": "PROVISIONED", "ProvisionedThroughput": UNITS}
THROTTLED = "ProvisionedThroughputExceededException"


@pytest.fixture
def world():
    """A world whose tables are throttled, although its time is virtual."""
    world = World(seed=1, settings=Settings(rates=Rates.ALWAYS))
    yield world
    world.close()


@pytest.fixture
def table(call):
    """A table with one unit of each a second, whose write capacity is used up; it has the order 1 of ann."""
    call("CreateTable", **PROVISIONED)
    for _ in range(BURST):
        call("PutItem", TableName="orders", Item=key("ann", 1))
    return "orders"


def test_throughput_is_used_up_after_five_minutes_of_it(call, refusal, table, world):
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/burst-adaptive-capacity.html"""
    put = {"TableName": table, "Item": key("ann", 2)}

    code, message = refusal("PutItem", **put)
    world.advance(seconds=2)
    for _ in range(2):
        call("PutItem", **put)

    assert code == THROTTLED
    assert message.startswith("The level of configured provisioned throughput for the table was exceeded.")
    assert refusal("PutItem", **put)[0] == THROTTLED
    assert call("Scan", TableName=table)["Count"] == 2


def test_large_items_use_what_they_cost(call, refusal):
    call("CreateTable", **PROVISIONED)
    put = {"TableName": "orders", "Item": {**key("ann", 1), "text": {"S": "x" * 100 * 1024}}}

    for _ in range(3):
        call("PutItem", **put)

    assert refusal("PutItem", **put)[0] == THROTTLED


@pytest.mark.parametrize(
    ("operation", "params"),
    [
        ("UpdateItem", {"TableName": "orders", "Key": key("ann", 1)}),
        ("DeleteItem", {"TableName": "orders", "Key": key("ann", 1)}),
        ("BatchWriteItem", {"RequestItems": {"orders": [{"DeleteRequest": {"Key": key("ann", 1)}}]}}),
        ("ExecuteStatement", {"Statement": "DELETE FROM orders WHERE customer = 'ann' AND order_no = 1"}),
    ],
)
def test_every_write_is_throttled_and_changes_nothing(call, refusal, table, operation, params):
    assert refusal(operation, **params)[0] == THROTTLED
    assert call("GetItem", TableName=table, Key=key("ann", 1))["Item"] == key("ann", 1)


@pytest.mark.parametrize(
    ("operation", "params"),
    [
        ("GetItem", {"TableName": "orders", "Key": key("ann", 1)}),
        ("Scan", {"TableName": "orders"}),
        ("Query", {"TableName": "orders", "KeyConditionExpression": "customer = :c",
                   "ExpressionAttributeValues": {":c": {"S": "ann"}}}),
        ("BatchGetItem", {"RequestItems": {"orders": {"Keys": [key("ann", 1)]}}}),
        ("ExecuteStatement", {"Statement": "SELECT * FROM orders"}),
    ],
)  # fmt: skip
def test_every_read_is_throttled(call, refusal, operation, params):
    call("CreateTable", **PROVISIONED)
    for _ in range(BURST * 2):
        call("GetItem", TableName="orders", Key=key("ann", 1))

    assert refusal(operation, **params)[0] == THROTTLED


def test_throttled_part_of_a_batch_is_unprocessed(call, table, world):
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html"""
    world.advance(seconds=1)
    requests = [{"PutRequest": {"Item": key("ann", number)}} for number in (1, 2, 3)]

    answer = call("BatchWriteItem", RequestItems={table: requests})
    statements = [{"Statement": f"INSERT INTO orders VALUE {{'customer': 'bob', 'order_no': {n}}}"} for n in (1, 2)]
    world.advance(seconds=1)
    responses = call("BatchExecuteStatement", Statements=statements)["Responses"]

    assert answer["UnprocessedItems"] == {table: requests[1:]}
    assert [response.get("Error", {}).get("Code") for response in responses] == [None, "ProvisionedThroughputExceeded"]


@pytest.mark.parametrize(
    ("operation", "params"),
    [
        ("transact_write_items", {"TransactItems": [{"Put": {"TableName": "orders", "Item": key("ann", 2)}}]}),
        ("execute_transaction",
         {"TransactStatements": [{"Statement": "INSERT INTO orders VALUE {'customer': 'ann', 'order_no': 2}"}]}),
    ],
)  # fmt: skip
def test_throttled_transaction_is_cancelled(call, table, world, operation, params):
    with pytest.raises(ClientError) as caught:
        getattr(world.client("dynamodb"), operation)(**params)

    assert [each["Code"] for each in caught.value.response["CancellationReasons"]] == ["ProvisionedThroughputExceeded"]
    assert call("Scan", TableName=table)["Count"] == 1


def test_throttled_requests_are_counted(refusal, table, world):
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html"""
    refusal("PutItem", TableName=table, Item=key("ann", 2))
    start = world.now
    world.advance(minutes=2)

    def total(name: str, **dimensions: str) -> list[float]:
        named = [{"Name": key, "Value": value} for key, value in dimensions.items()]
        points = world.call(
            "cloudwatch", "GetMetricStatistics", Namespace="AWS/DynamoDB", MetricName=name, Dimensions=named,
            StartTime=start - 60_000, EndTime=world.now, Period=60, Statistics=["Sum"],
        )["Datapoints"]  # fmt: skip
        return [point["Sum"] for point in points]

    assert total("ThrottledRequests", TableName="orders", Operation="PutItem") == [1.0]
    assert total("WriteThrottleEvents", TableName="orders") == [1.0]


def test_tables_on_demand_are_never_throttled(call, orders):
    for _ in range(BURST + 2):
        call("PutItem", TableName=orders, Item=key("ann", 1))


@pytest.mark.parametrize("settings", [Settings(), Settings(limits=Limits.RELAXED, rates=Rates.ALWAYS)])
def test_nothing_is_throttled_in_virtual_time_or_without_quotas(settings):
    """A virtual clock stands still: the throughput of a table would never come back."""
    world = World(seed=1, settings=settings)
    world.call("dynamodb", "CreateTable", **PROVISIONED)

    for _ in range(BURST + 2):
        world.call("dynamodb", "PutItem", TableName="orders", Item=key("ann", 1))

    world.close()
