"""Exports of tables to buckets, and imports of tables from them."""

from __future__ import annotations

import gzip
import json

import pytest

from redrive.core.errors import ServiceError
from redrive.testing.world import World
from tests.unit.services.dynamodb.conftest import ORDERS, Call, Refusal

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/orders"
KEYS = {name: ORDERS[name] for name in ("KeySchema", "AttributeDefinitions", "BillingMode")}


@pytest.fixture
def bucket(world: World) -> str:
    world.call("s3", "CreateBucket", Bucket="files")
    return "files"


@pytest.fixture
def recovered(call: Call, orders: str) -> str:
    """The table of orders, with point-in-time recovery."""
    spec = {"PointInTimeRecoveryEnabled": True}
    call("UpdateContinuousBackups", TableName=orders, PointInTimeRecoverySpecification=spec)
    return orders


def item(order_no: int, **more: object) -> dict[str, object]:
    return {"customer": {"S": "ann"}, "order_no": {"N": str(order_no)}, **more}


def read(world: World, key: str) -> bytes:
    body: bytes = world.call("s3", "GetObject", Bucket="files", Key=key)["Body"]
    return body


def store(world: World, key: str, content: bytes) -> None:
    world.call("s3", "PutObject", Bucket="files", Key=key, Body=content)


def keys(world: World) -> list[str]:
    found = world.call("s3", "ListObjectsV2", Bucket="files").get("Contents") or ()
    return [one["Key"] for one in found]


def exported(world: World, call: Call, **params: object) -> dict[str, object]:
    """Export the table, and let the export end; answers its description."""
    begun = call("ExportTableToPointInTime", TableArn=ARN, S3Bucket="files", **params)["ExportDescription"]
    world.settle()
    found: dict[str, object] = call("DescribeExport", ExportArn=begun["ExportArn"])["ExportDescription"]
    return found


def test_export_writes_the_items_and_manifests(world: World, call: Call, recovered: str, bucket: str) -> None:
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/S3DataExport.Output.html"""
    call("PutItem", TableName=recovered, Item=item(1, data={"B": b"\x00\x01"}))
    call("PutItem", TableName=recovered, Item=item(2))

    found = exported(world, call, S3Prefix="out")

    folder = f"out/AWSDynamoDB/{str(found['ExportArn']).rpartition('/')[2]}"
    summary = json.loads(read(world, f"{folder}/manifest-summary.json"))
    (listed,) = [json.loads(line) for line in read(world, f"{folder}/manifest-files.json").splitlines()]
    lines = [json.loads(line) for line in gzip.decompress(read(world, listed["dataFileS3Key"])).splitlines()]
    assert (found["ExportStatus"], found["ItemCount"]) == ("COMPLETED", 2)
    assert found["ExportManifest"] == f"{folder}/manifest-summary.json"
    assert (summary["itemCount"], summary["outputFormat"], listed["itemCount"]) == (2, "DYNAMODB_JSON", 2)
    assert lines == [{"Item": item(1, data={"B": "AAE="})}, {"Item": item(2)}]


def test_export_has_the_table_as_it_was_at_an_instant(world: World, call: Call, recovered: str, bucket: str) -> None:
    call("PutItem", TableName=recovered, Item=item(1))
    world.advance(minutes=1)
    then = world.now
    world.advance(minutes=1)
    call("PutItem", TableName=recovered, Item=item(2))

    assert exported(world, call, ExportTime=then)["ItemCount"] == 1


def test_export_goes_on_over_several_transactions(
    world: World, call: Call, recovered: str, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("redrive.services.dynamodb.limits.EXPORT_ITEMS_PER_FILE", 2)
    for order_no in range(5):
        call("PutItem", TableName=recovered, Item=item(order_no))

    found = exported(world, call)

    assert (found["ExportStatus"], found["ItemCount"]) == ("COMPLETED", 5)
    assert len([key for key in keys(world) if "/data/" in key]) == 3


def test_export_to_a_bucket_that_is_not_there_fails(world: World, call: Call, recovered: str) -> None:
    found = exported(world, call)

    assert (found["ExportStatus"], found["FailureCode"]) == ("FAILED", "S3NoSuchBucket")


def test_repeated_export_with_the_same_token_is_the_same(
    world: World, call: Call, recovered: str, bucket: str, refusal: Refusal
) -> None:
    first = exported(world, call, ClientToken="t")

    again = exported(world, call, ClientToken="t")
    other = refusal("ExportTableToPointInTime", TableArn=ARN, S3Bucket="files", S3Prefix="p", ClientToken="t")

    assert again["ExportArn"] == first["ExportArn"]
    assert other[0] == "ExportConflictException"
    assert [one["ExportArn"] for one in call("ListExports", TableArn=ARN)["ExportSummaries"]] == [first["ExportArn"]]


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({"ExportFormat": "ION"}, "ION"),
        ({"ExportType": "INCREMENTAL_EXPORT"}, "INCREMENTAL_EXPORT"),
        ({"FilterSpecification": {"FilterExpression": "a = b"}}, "FilterSpecification"),
    ],
)
def test_other_exports_are_refused_by_name(
    recovered: str, refusal: Refusal, params: dict[str, object], named: str
) -> None:
    code, message = refusal("ExportTableToPointInTime", TableArn=ARN, S3Bucket="files", **params)

    assert code == "ValidationException"
    assert named in message


def test_export_of_a_table_needs_its_recovery(orders: str, refusal: Refusal) -> None:
    found = refusal("ExportTableToPointInTime", TableArn=ARN, S3Bucket="files")

    assert found[0] == "PointInTimeRecoveryUnavailableException"


def imported(world: World, call: Call, **params: object) -> dict[str, object]:
    """Import a table, and let the import end; answers its description."""
    given = {"InputFormat": "DYNAMODB_JSON", "S3BucketSource": {"S3Bucket": "files", "S3KeyPrefix": "in/"}, **params}
    begun = call("ImportTable", TableCreationParameters={"TableName": "copy", **KEYS}, **given)
    world.settle()
    arn = begun["ImportTableDescription"]["ImportArn"]
    found: dict[str, object] = call("DescribeImport", ImportArn=arn)["ImportTableDescription"]
    return found


def counts(found: dict[str, object]) -> tuple[object, ...]:
    return tuple(found[name] for name in ("ImportStatus", "ProcessedItemCount", "ImportedItemCount", "ErrorCount"))


def test_what_was_exported_is_imported(world: World, call: Call, recovered: str, bucket: str) -> None:
    call("PutItem", TableName=recovered, Item=item(1, data={"B": b"\x00\x01"}))
    folder = str(exported(world, call)["ExportManifest"]).rpartition("/")[0]

    source = {"S3Bucket": "files", "S3KeyPrefix": f"{folder}/data/"}
    found = imported(world, call, S3BucketSource=source, InputCompressionType="GZIP")

    assert counts(found) == ("COMPLETED", 1, 1, 0)
    assert call("Scan", TableName="copy")["Items"] == [item(1, data={"B": b"\x00\x01"})]


def test_import_reads_all_objects_of_the_prefix_and_counts_what_does_not_fit(
    world: World, call: Call, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("redrive.services.dynamodb.limits.IMPORT_ITEMS_PER_STEP", 2)
    lines = [json.dumps({"Item": item(order_no)}) for order_no in range(5)]
    store(world, "in/a", "\n".join(lines).encode())
    store(world, "in/b", b'no json\n{"Item": {"customer": {"S": "no order"}}}\n{"Item": {"customer": {"B": "!"}}}\n')
    store(world, "other", lines[0].encode())

    found = imported(world, call)

    assert counts(found) == ("COMPLETED", 8, 5, 3)
    assert call("Scan", TableName="copy", Select="COUNT")["Count"] == 5


def test_import_of_csv_takes_the_first_line_for_names(world: World, call: Call, bucket: str) -> None:
    store(world, "in/a.csv", b'customer,order_no,note\nann,1,"a, b"\nbob,x,\n')

    found = imported(world, call, InputFormat="CSV")

    assert counts(found) == ("COMPLETED", 2, 1, 1)
    assert call("Scan", TableName="copy")["Items"] == [item(1, note={"S": "a, b"})]


def test_import_that_is_not_in_its_compression_fails(world: World, call: Call, bucket: str) -> None:
    store(world, "in/a", b"plain text")

    assert imported(world, call, InputCompressionType="GZIP")["ImportStatus"] == "FAILED"


def test_import_into_a_table_that_exists_is_refused(world: World, call: Call, orders: str, bucket: str) -> None:
    with pytest.raises(ServiceError, match="ResourceInUseException"):
        call(
            "ImportTable", TableCreationParameters=ORDERS, InputFormat="DYNAMODB_JSON",
            S3BucketSource={"S3Bucket": "files"},
        )  # fmt: skip

    assert call("ListImports") == {"ImportSummaryList": []}
