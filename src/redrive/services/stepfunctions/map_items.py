"""What a distributed Map reads and writes in S3: its items, and the results of its children.

Source: https://docs.aws.amazon.com/step-functions/latest/dg/state-map-distributed.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from redrive.core.documents import Document, dump_json
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.delivery.objects import ObjectTooLarge, object_content
from redrive.languages.states.bindings import Bindings
from redrive.languages.states.computed import integer_of
from redrive.languages.states.data_flow import effective_input, states_object
from redrive.languages.states.definition import ItemReader, Map
from redrive.languages.states.errors import ITEM_READER_FAILED, StatesError
from redrive.languages.states.items import batch_document, batches_of, listed_item, manifest_files, read_items
from redrive.languages.states.items.readers import inventory_items
from redrive.languages.states.mapping import Item, item_input, items_of
from redrive.services.stepfunctions.calling import role_caller
from redrive.services.stepfunctions.executions import Live
from redrive.services.stepfunctions.limits import READ_BYTES_MAX
from redrive.services.stepfunctions.model.position import Frame
from redrive.store.api import Transaction

RESULT_WRITER_FAILED = "States.ResultWriterFailed"


def child_inputs(tx: Transaction, live: Live, frame: Frame, state: Map) -> list[tuple[str, int]]:
    """The input of each child, as JSON, and how many items it has. Errors: StatesError."""
    bindings = live.progress.bindings(frame)
    items = _items(tx, live, frame, state, bindings)
    values = (_selected(state, frame.input, item, bindings) for item in items)
    batcher = state.item_batcher
    if batcher is None:
        return [(dump_json(value), 1) for value in values]
    most = bytes_most = None
    if batcher.items_max is not None:
        most = integer_of(state, "MaxItemsPerBatch", batcher.items_max, frame.input, bindings)
    if batcher.bytes_max is not None:
        bytes_most = integer_of(state, "MaxInputBytesPerBatch", batcher.bytes_max, frame.input, bindings)
    root = states_object(frame.input) if state.is_jsonata else frame.input
    extra = None if batcher.input is None else batcher.input.value(root, bindings)
    return [
        (dump_json(batch_document(batch, extra)), len(batch)) for batch in batches_of(values, most, bytes_most, extra)
    ]


def write_results(
    tx: Transaction, live: Live, frame: Frame, state: Map, arn: str, results: Iterable[Document]
) -> Document:
    """Write the results of all children where the ResultWriter says; returns the Map's result. Errors: StatesError."""
    writer = state.result_writer
    assert writer is not None, "only a Map with a ResultWriter writes"
    bindings = live.progress.bindings(frame)
    root = states_object(frame.input) if state.is_jsonata else frame.input
    where = writer.parameters.value(root, bindings) if writer.parameters is not None else {}
    bucket = str(where.get("Bucket", "")) if isinstance(where, dict) else ""
    prefix = str(where.get("Prefix", "")).strip("/") if isinstance(where, dict) else ""
    folder = f"{prefix}/{new_uuid(tx.entropy)}".lstrip("/")
    files: dict[str, list[Document]] = {"SUCCEEDED": [], "FAILED": [], "PENDING": []}
    for result in results:
        files["SUCCEEDED" if result["Status"] == "SUCCEEDED" else "FAILED"].append(result)
    listed: Document = {}
    try:
        caller = role_caller(tx, live)
        for status, found in files.items():
            listed[status] = []
            if found:
                key, body = f"{folder}/{status}_0.json", dump_json(found).encode()
                tx.services.call(tx, caller, "s3", "PutObject", {"Bucket": bucket, "Key": key, "Body": body})
                listed[status].append({"Key": key, "Size": len(body)})
        manifest = dump_json({"DestinationBucket": bucket, "MapRunArn": arn, "ResultFiles": listed}).encode()
        key = f"{folder}/manifest.json"
        tx.services.call(tx, caller, "s3", "PutObject", {"Bucket": bucket, "Key": key, "Body": manifest})
    except ServiceError as error:
        raise StatesError(RESULT_WRITER_FAILED, error.message, is_bare=True) from error
    return {"MapRunArn": arn, "ResultWriterDetails": {"Bucket": bucket, "Key": key}}


def _selected(state: Map, raw: object, item: Item, bindings: Bindings) -> object:
    if state.item_selector is None:
        return item.value
    bindings.context["Map"] = {"Item": item.context()}
    return item_input(state, raw, item, bindings)


def _items(tx: Transaction, live: Live, frame: Frame, state: Map, bindings: Bindings) -> Iterable[Item]:
    reader = state.item_reader
    if reader is None:
        return items_of(state, frame.input, bindings)
    root = states_object(frame.input) if state.is_jsonata else effective_input(state, frame.input, bindings)
    where = reader.parameters.value(root, bindings) if reader.parameters is not None else {}
    most = 0 if reader.items_max is None else integer_of(state, "MaxItems", reader.items_max, frame.input, bindings)
    try:
        values = list(_read(tx, live, reader, where if isinstance(where, dict) else {}, most))
    except ServiceError as error:
        raise StatesError(ITEM_READER_FAILED, error.message, is_bare=True) from error
    except ObjectTooLarge as error:
        raise StatesError(ITEM_READER_FAILED, str(error), is_bare=True) from error
    return [Item(index, value) for index, value in enumerate(values)]


def _read(tx: Transaction, live: Live, reader: ItemReader, where: Document, most: int) -> Iterator[object]:
    caller = role_caller(tx, live)
    if reader.resource.endswith(":s3:listObjectsV2"):
        yield from _listed(tx, live, where, most)
        return
    bucket, key = str(where.get("Bucket", "")), str(where.get("Key", ""))
    body = object_content(tx, caller, bucket, key, where.get("VersionId"), bytes_max=READ_BYTES_MAX)
    if reader.input_type != "MANIFEST":
        yield from read_items(body, reader, most)
        return
    inventory, keys, columns = manifest_files(body)
    for one in keys:
        yield from inventory_items(
            object_content(tx, caller, inventory or bucket, one, bytes_max=READ_BYTES_MAX), columns
        )  # fmt: skip


def _listed(tx: Transaction, live: Live, where: Document, most: int) -> Iterator[object]:
    """The objects of a bucket, page by page."""
    caller, found = role_caller(tx, live), 0
    params: Document = {name: where[name] for name in ("Bucket", "Prefix") if name in where}
    while True:
        page = tx.services.call(tx, caller, "s3", "ListObjectsV2", params)
        for one in page.get("Contents") or []:
            yield listed_item(
                str(one["Key"]), str(one["ETag"]), int(one["Size"]), one["LastModified"] / 1000,
                str(one.get("StorageClass", "STANDARD")),
            )  # fmt: skip
            found += 1
            if most and found >= most:
                return
        token = page.get("NextContinuationToken")
        if not token:
            return
        params["ContinuationToken"] = token
