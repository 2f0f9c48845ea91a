"""Records of streams: as they are given, as a body each, and as they are put into Kinesis, or changed in a table."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping

from redrive.core.arn import Arn
from redrive.core.documents import Document, dump_json
from redrive.core.errors import UserError
from redrive.prove.stage.stage import Stage
from redrive.prove.stage.trigger import Kind

PARTITION_KEY = "sample"
_CHANGE = ("Keys", "NewImage", "OldImage")


def bodies_of_records(given: tuple[str, ...], kind: Kind) -> tuple[str, ...]:
    """One body for each record of what is given: events with Records, lists, or single records. Errors: UserError."""
    documents = [one for text in given for one in _documents(text)]
    read = _data_of if kind is Kind.KINESIS else _change_of
    return tuple(dump_json(read(document)) for document in documents)


def put_record(stage: Stage, stream_arn: str, body: str) -> None:
    """Put a record into its stream: for a table's stream, make the change."""
    document = json.loads(body)
    arn = Arn.parse(stream_arn)
    if arn.service == "kinesis":
        data, key = base64.b64decode(document["data"]), document["partitionKey"]
        stage.call("kinesis", "PutRecord", StreamARN=stream_arn, Data=data, PartitionKey=key)
        return
    table = table_of(stream_arn)
    if "NewImage" in document:
        stage.call("dynamodb", "PutItem", TableName=table, Item=read_item(document["NewImage"]))
    else:
        stage.call("dynamodb", "DeleteItem", TableName=table, Key=read_item(document["Keys"]))


def put_old_images(stage: Stage, table: str, bodies: tuple[str, ...]) -> bool:
    """Write the items that stand before the first change of each; returns whether there are any."""
    seen: set[str] = set()
    is_written = False
    for document in map(json.loads, bodies):
        key = dump_json(document["Keys"])
        if key not in seen and (document.get("OldImage") or "NewImage" not in document):
            item = read_item(document.get("OldImage") or document["Keys"])
            stage.call("dynamodb", "PutItem", TableName=table, Item=item)
            is_written = True
        seen.add(key)
    return is_written


def table_of(stream_arn: str) -> str:
    """The table of a stream."""
    return stream_arn.split("/")[1]


def read_item(image: Mapping[str, Document]) -> Document:
    """An image as functions see it, with binary values as the operations take them."""
    return {name: _read_value(value) for name, value in image.items()}


def _read_value(value: Document) -> Document:
    ((kind, held),) = value.items()
    match kind:
        case "B":
            return {"B": base64.b64decode(held)}
        case "BS":
            return {"BS": [base64.b64decode(one) for one in held]}
        case "M":
            return {"M": read_item(held)}
        case "L":
            return {"L": [_read_value(one) for one in held]}
        case _:
            return {kind: held}


def _documents(text: str) -> Iterator[object]:
    try:
        document = json.loads(text)
    except ValueError:
        yield text
        return
    records = document.get("Records", document) if isinstance(document, dict) else document
    yield from records if isinstance(records, list) else [records]


def _data_of(document: object) -> Document:
    """A record of Kinesis as a body: a record of a function's event, or whatever else is the data, as JSON."""
    if isinstance(document, dict) and isinstance(document.get("kinesis"), dict):
        document = document["kinesis"]
    if isinstance(document, dict) and isinstance(document.get("data"), str) and _is_base64(document["data"]):
        key = str(document.get("partitionKey", PARTITION_KEY))
        return {"partitionKey": key, "data": document["data"]}
    data = document if isinstance(document, str) else dump_json(document)
    return {"partitionKey": PARTITION_KEY, "data": base64.b64encode(data.encode()).decode()}


def _is_base64(text: str) -> bool:
    try:
        return base64.b64encode(base64.b64decode(text, validate=True)).decode() == text
    except (binascii.Error, ValueError):
        return False


def _change_of(document: object) -> Document:
    """A change of a table as a body: a record of a function's event, its `dynamodb`, or an item that is new."""
    if isinstance(document, dict) and isinstance(document.get("dynamodb"), dict):
        document = document["dynamodb"]
    if isinstance(document, dict) and isinstance(document.get("Keys"), dict):
        found = {name: document[name] for name in _CHANGE if document.get(name)}
        if all(map(_is_image, found.values())):
            return found
    raise UserError(
        "A record of the event is no change of a table.",
        next_step="Give the event of a DynamoDB stream: Records, each with dynamodb.Keys and NewImage or OldImage.",
        exit_code=2,
    )


def _is_image(image: object) -> bool:
    return isinstance(image, dict) and all(isinstance(value, dict) and len(value) == 1 for value in image.values())
