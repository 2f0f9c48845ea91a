"""How exports and imports go on: some items in each transaction, until all are written or read."""

from __future__ import annotations

import base64
import csv
import dataclasses
import gzip
import hashlib
import zlib
from collections.abc import Iterator, Mapping
from itertools import islice

from redrive.core.documents import Document, dump_json, load_json
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.delivery.objects import object_pieces
from redrive.delivery.upkeep.cleaning import forget_rows
from redrive.languages.dynamo import Item, check_item_size, read_item
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.indexes import BACKFILLS
from redrive.services.dynamodb.model.items import key_of_item
from redrive.services.dynamodb.model.table import Table
from redrive.services.dynamodb.model.transfer import COMPLETED, FAILED, IN_PROGRESS, Export, Import, failure_of
from redrive.services.dynamodb.writing import find_item, put, reserve
from redrive.store.api import Transaction
from redrive.store.tables.items import ItemKey, StoredItem

_EXPORT, _IMPORT = "export", "import"


def timer_of(scope: Scope, transfer: Export | Import) -> str:
    """The name of the timer by which an export or an import goes on."""
    kind = _EXPORT if isinstance(transfer, Export) else _IMPORT
    return f"{kind}:{scope}/{transfer.name}"


def is_transfer(timer_name: str) -> bool:
    """Whether a timer of the worker that fills indexes is one of an export or an import."""
    return timer_name.startswith((f"{_EXPORT}:", f"{_IMPORT}:"))


def go_on_transferring(tx: Transaction, timer_name: str) -> None:
    """Write or read the next items. The name is that of a due timer."""
    kind, _, rest = timer_name.partition(":")
    account, region, name = rest.split("/", 2)
    scope = Scope(account, region)
    found: Export | Import | None = (
        tx.resources.get(Export, scope, name) if kind == _EXPORT else tx.resources.get(Import, scope, name)
    )
    if found is None or found.status != IN_PROGRESS:
        tx.timers.clear(BACKFILLS, timer_name)
        return
    after = _exported(tx, found) if isinstance(found, Export) else _imported(tx, scope, found)
    tx.resources.put(scope, after)
    if after.status != IN_PROGRESS:
        tx.timers.clear(BACKFILLS, timer_name)


def _exported(tx: Transaction, export: Export) -> Export:
    """Write the next data file, or the manifests after the last one."""
    caller = dataclasses.replace(export.principal, request_id=new_uuid(tx.entropy))
    try:
        if not export.files and export.after == ("", ""):
            _write(tx, caller, export, "_started", b"", "binary/octet-stream")
        after = None if export.after == ("", "") else ItemKey(*map(bytes.fromhex, export.after))
        page = tx.items.scan(
            export.items_id, after=after, segment=0, segments=1, limit=limits.EXPORT_ITEMS_PER_FILE,
            bytes_max=limits.EXPORT_BYTES_PER_FILE,
        )  # fmt: skip
        if page.items or not export.files:
            export = _with_file(tx, caller, export, list(page.items))
        if not page.complete:
            return export
        export = dataclasses.replace(export, status=COMPLETED, ended_at=tx.now)
        _write_manifests(tx, caller, export)
    except ServiceError as error:
        export = dataclasses.replace(export, status=FAILED, ended_at=tx.now, failure=failure_of(error))
    forget_rows(tx, "items", export.items_id)
    return export


def _with_file(tx: Transaction, caller: Caller, export: Export, items: list[StoredItem]) -> Export:
    lines = b"".join(b'{"Item":' + stored.item + b"}\n" for stored in items)
    content = gzip.compress(lines, mtime=0)
    key = f"data/{new_uuid(tx.entropy).replace('-', '')[:26]}.json.gz"
    etag = _write(tx, caller, export, key, content, "application/octet-stream")
    line = {
        "itemCount": len(items), "md5Checksum": _md5(content), "etag": etag.strip('"'),
        "dataFileS3Key": f"{export.folder}/{key}",
    }  # fmt: skip
    last = items[-1].key if items else ItemKey(b"", b"")
    return dataclasses.replace(
        export, files=(*export.files, dump_json(line)), item_count=export.item_count + len(items),
        after=(last.hash_key.hex(), last.range_key.hex()),
        size_bytes=export.size_bytes + sum(stored.size_bytes for stored in items),
    )  # fmt: skip


def _write_manifests(tx: Transaction, caller: Caller, export: Export) -> None:
    files = {
        "manifest-files": "".join(f"{line}\n" for line in export.files),
        "manifest-summary": export.manifest,
    }  # fmt: skip
    for name, text in files.items():
        content = text.encode()
        _write(tx, caller, export, f"{name}.json", content, "application/json")
        _write(tx, caller, export, f"{name}.md5", _md5(content).encode(), "text/plain")


def _md5(content: bytes) -> str:
    return base64.b64encode(hashlib.md5(content, usedforsecurity=False).digest()).decode()


def _write(tx: Transaction, caller: Caller, export: Export, name: str, content: bytes, content_type: str) -> str:
    """Write an object of the export; returns its ETag. Errors: ServiceError (S3's)."""
    request = export.request
    sse = {"AES256": "AES256", "KMS": "aws:kms"}.get(str(request.get("S3SseAlgorithm")))
    params: Document = {
        "Bucket": request["S3Bucket"], "Key": f"{export.folder}/{name}", "Body": content, "ContentType": content_type,
        "ExpectedBucketOwner": request.get("S3BucketOwner"), "ServerSideEncryption": sse,
        "SSEKMSKeyId": request.get("S3SseKmsKeyId"),
    }  # fmt: skip
    given = {key: value for key, value in params.items() if value is not None}
    return str(tx.services.call(tx, caller, "s3", "PutObject", given)["ETag"])


def _imported(tx: Transaction, scope: Scope, begun: Import) -> Import:
    """Put the next items of the object that is being read, or begin with the next object."""
    table = tx.resources.get(Table, scope, begun.table_name)
    if table is None or table.id != begun.table_id:
        failure = ("TableDeleted", "The table of the import was deleted.")
        return dataclasses.replace(begun, status=FAILED, ended_at=tx.now, failure=failure)
    caller = dataclasses.replace(begun.principal, request_id=new_uuid(tx.entropy))
    try:
        if begun.is_key_done:
            return _next_object(tx, caller, begun)
        return _some_items(tx, caller, table, begun)
    except ServiceError as error:
        return dataclasses.replace(begun, status=FAILED, ended_at=tx.now, failure=failure_of(error))
    except (zlib.error, UnicodeDecodeError, EOFError):
        failure = ("S3InputFormat", f"The object {begun.key} cannot be read: is it in the given compression and UTF-8?")
        return dataclasses.replace(begun, status=FAILED, ended_at=tx.now, failure=failure)


def _next_object(tx: Transaction, caller: Caller, begun: Import) -> Import:
    source = begun.request["S3BucketSource"]
    params: Document = {"Bucket": source["S3Bucket"], "Prefix": source.get("S3KeyPrefix") or "", "MaxKeys": 1}
    if begun.key:
        params["StartAfter"] = begun.key
    if source.get("S3BucketOwner"):
        params["ExpectedBucketOwner"] = source["S3BucketOwner"]
    found = tx.services.call(tx, caller, "s3", "ListObjectsV2", params).get("Contents") or ()
    if not found:
        return dataclasses.replace(begun, status=COMPLETED, ended_at=tx.now)
    size = begun.size_bytes + int(found[0]["Size"])
    return dataclasses.replace(
        begun, key=str(found[0]["Key"]), lines=0, is_key_done=False, size_bytes=size, header=()
    )  # fmt: skip


def _some_items(tx: Transaction, caller: Caller, table: Table, begun: Import) -> Import:
    """Put as many items as one transaction takes. The object is read again from its start, but never kept whole."""
    source = begun.request["S3BucketSource"]
    pieces = object_pieces(tx, caller, str(source["S3Bucket"]), begun.key)
    is_zipped = begun.request["InputCompressionType"] == "GZIP"
    rows = _rows(begun.request, table, _lines(_unzipped(pieces) if is_zipped else pieces))
    chosen = list(islice(rows, begun.lines, begun.lines + limits.IMPORT_ITEMS_PER_STEP))
    items = [item for item in (_item(table, row) for row in chosen) if item is not None]
    places = {key_of_item(table, item): item for item in items}
    reserve(tx, [(table, key) for key in places])
    for key, item in places.items():
        old = find_item(tx, table, key) if table.is_followed else None
        put(tx, table, key, item, check_item_size(item), old=old)
    return dataclasses.replace(
        begun, lines=begun.lines + len(chosen), is_key_done=len(chosen) < limits.IMPORT_ITEMS_PER_STEP,
        processed=begun.processed + len(chosen), imported=begun.imported + len(items),
        errors=begun.errors + len(chosen) - len(items),
    )  # fmt: skip


def _unzipped(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The bytes of a gzip file; several members follow each other as one text."""
    reader = zlib.decompressobj(wbits=31)
    for piece in pieces:
        rest = piece
        while rest:
            yield reader.decompress(rest)
            rest = reader.unused_data
            if rest:
                reader = zlib.decompressobj(wbits=31)
    yield reader.flush()


def _lines(pieces: Iterator[bytes]) -> Iterator[str]:
    begun = b""
    for piece in pieces:
        *whole, begun = (begun + piece).split(b"\n")
        yield from (line.decode() for line in whole if line.strip())
    if begun.strip():
        yield begun.decode()


def _rows(request: Document, table: Table, lines: Iterator[str]) -> Iterator[object]:
    """The raw items of an object; what is not in the format is None."""
    if request["InputFormat"] == "CSV":
        yield from _csv_rows((request.get("InputFormatOptions") or {}).get("Csv") or {}, table, lines)
        return
    for line in lines:
        try:
            document = load_json(line)
        except ValueError:
            document = None
        yield document.get("Item") if isinstance(document, dict) else None


def _csv_rows(options: Mapping[str, object], table: Table, lines: Iterator[str]) -> Iterator[object]:
    """Items of texts; the key attributes have the table's types, as far as a text can."""
    rows = csv.reader(lines, delimiter=str(options.get("Delimiter") or ","))
    given = options.get("HeaderList")
    header = [str(name) for name in given] if isinstance(given, list) else next(rows, [])
    for row in rows:
        yield {
            name: {table.attributes.get(name, "S") if name in table.key_names else "S": text}
            for name, text in zip(header, row, strict=False) if text
        }  # fmt: skip


def _item(table: Table, raw: object) -> Item | None:
    """The item that a line has; None if it has none that fits the table."""
    if not isinstance(raw, dict):
        return None
    try:
        item = read_item(_with_binary(raw))
        key_of_item(table, item)
        check_item_size(item)
    except (ServiceError, AttributeError, TypeError, ValueError):
        return None
    return item


def _with_binary(raw: Mapping[str, object]) -> dict[str, object]:
    """The values of a JSON line: binary is base64 there."""
    return {name: _value(value) for name, value in raw.items()}


def _value(value: object) -> object:
    match value:
        case {"B": str() as text}:
            return {"B": base64.b64decode(text, validate=True)}
        case {"BS": list() as texts}:
            return {"BS": [base64.b64decode(text, validate=True) for text in texts]}
        case {"L": list() as inner}:
            return {"L": [_value(each) for each in inner]}
        case {"M": dict() as inner}:
            return {"M": _with_binary(inner)}
        case _:
            return value
