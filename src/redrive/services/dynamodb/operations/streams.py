"""The operations on streams: list and describe them, and read their shards.

They are a service of their own on the wire, `dynamodbstreams`, with the permissions of DynamoDB.
"""

from __future__ import annotations

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.model.stream import Shard, Stream, describe_key, find_shard, shards_of
from redrive.services.dynamodb.model.stream_records import describe_record
from redrive.services.dynamodb.model.stream_requests import (
    check_page_size,
    check_starting_point,
    read_iterator,
    read_stream_arn,
    shard_not_found,
    trimmed,
    write_iterator,
)
from redrive.services.dynamodb.model.table import invalid_parameter, refer_to_table, table_arn
from redrive.services.dynamodb.streams import (
    first_position,
    is_closed,
    last_position,
    read_page,
    require_stream,
    seq_before,
)
from redrive.store.api import Transaction


@operation("ListStreams")
def list_streams(
    tx: Transaction,
    caller: Caller,
    *,
    table_name: str | None = None,
    limit: int | None = None,
    exclusive_start_stream_arn: str | None = None,
) -> Document:
    """List the caller's streams, or those of one table: enabled ones, and disabled ones for 24 hours.

    Errors: ValidationException.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_ListStreams.html
    """
    reference = None if table_name is None else refer_to_table(caller, table_name)
    arn = table_arn(caller.scope, "*") if reference is None else reference.arn
    tx.services.authorize(tx, caller, "dynamodb:ListStreams", f"{arn}/stream/*")
    size = check_page_size(limit, limits.LIST_STREAMS_MAX)
    after = read_stream_arn(exclusive_start_stream_arn)[1] if exclusive_start_stream_arn else ""
    prefix = "" if reference is None else f"{reference.name}/"
    found = tx.resources.list(Stream, caller.scope, prefix=prefix, after=after)
    streams = [stream for stream in found if not stream.is_gone(tx.now)]
    answer: Document = {
        "Streams": [
            {"StreamArn": stream.arn, "TableName": stream.table_name, "StreamLabel": stream.label}
            for stream in streams[:size]
        ]
    }
    if len(streams) > size:
        answer["LastEvaluatedStreamArn"] = streams[size - 1].arn
    return answer


@operation("DescribeStream")
def describe_stream(
    tx: Transaction,
    caller: Caller,
    *,
    stream_arn: str,
    limit: int | None = None,
    exclusive_start_shard_id: str | None = None,
    shard_filter: Document | None = None,
) -> Document:
    """Describe a stream and up to `limit` (100) of its shards, after the given one; or only the children of a shard.

    Errors: ValidationException; ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_DescribeStream.html
    """
    stream = require_stream(tx, caller, "DescribeStream", stream_arn)
    size = check_page_size(limit, limits.DESCRIBE_SHARDS_MAX)
    shards = [shard for shard in shards_of(stream, tx.now) if shard.id > (exclusive_start_shard_id or "")]
    if shard_filter is not None:
        parent_id = _parent_asked_for(shard_filter)
        shards = [shard for shard in shards if shard.parent is not None and shard.parent.id == parent_id]
    described: Document = {
        "StreamArn": stream.arn, "StreamLabel": stream.label,
        "StreamStatus": "ENABLED" if stream.is_enabled else "DISABLED", "StreamViewType": stream.view_type.value,
        "CreationRequestDateTime": stream.created_at, "TableName": stream.table_name,
        "KeySchema": describe_key(stream), "Shards": [_describe_shard(tx, shard) for shard in shards[:size]],
    }  # fmt: skip
    if len(shards) > size:
        described["LastEvaluatedShardId"] = shards[size - 1].id
    return {"StreamDescription": described}


@operation("GetShardIterator")
def get_shard_iterator(
    tx: Transaction,
    caller: Caller,
    *,
    stream_arn: str,
    shard_id: str,
    shard_iterator_type: str,
    sequence_number: str | None = None,
    timestamp: Instant | None = None,
) -> Document:
    """Return an iterator, with which GetRecords reads a shard from a position on. It is valid for 15 minutes.

    Errors: ValidationException; ResourceNotFoundException; TrimmedDataAccessException.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_GetShardIterator.html
    """
    stream = require_stream(tx, caller, "GetShardIterator", stream_arn)
    check_starting_point(shard_iterator_type, sequence_number, timestamp, tx.now)
    shard = find_shard(stream, shard_id, tx.now)
    if shard is None:
        raise shard_not_found(shard_id, stream)
    match shard_iterator_type:
        case "TRIM_HORIZON":
            after = first_position(tx, shard)
        case "LATEST":
            after = last_position(tx, shard)
        case "AT_TIMESTAMP":
            assert timestamp is not None, "checked above"
            after = min(max(first_position(tx, shard), seq_before(tx, shard, timestamp)), last_position(tx, shard))
        case _:
            assert sequence_number is not None, "checked above"
            after = _position_of(tx, shard, sequence_number, is_included=shard_iterator_type == "AT_SEQUENCE_NUMBER")
    return {"ShardIterator": write_iterator(shard, after, tx.now)}


@operation("GetRecords")
def get_records(tx: Transaction, caller: Caller, *, shard_iterator: str, limit: int | None = None) -> Document:
    """Return up to `limit` (1,000) records of a shard, up to 1 MB, and the iterator for the next ones.

    There is no next iterator if the shard is closed and has no more records.
    Errors: ValidationException; ResourceNotFoundException; ExpiredIteratorException; TrimmedDataAccessException.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_GetRecords.html
    """
    place = read_iterator(shard_iterator, tx.now)
    stream = require_stream(tx, caller, "GetRecords", place.stream_arn)
    size = check_page_size(limit, limits.GET_RECORDS_MAX)
    shard = find_shard(stream, place.shard_id, tx.now)
    if shard is None:
        raise trimmed()
    page = read_page(tx, shard, place.after, limit=size, bytes_max=limits.GET_RECORDS_BYTES_MAX)
    if page.begins_after != place.after:
        raise trimmed()
    answer: Document = {"Records": [describe_record(shard, record) for record in page.records]}
    if not page.is_end:
        answer["NextShardIterator"] = write_iterator(shard, page.after, tx.now)
    return answer


def _parent_asked_for(shard_filter: Document) -> str:
    """The shard whose children are asked for. Errors: ValidationException."""
    if shard_filter.get("Type") is None or shard_filter.get("ShardId") is None:
        raise invalid_parameter("ShardFilter must have Type and ShardId")
    return str(shard_filter["ShardId"])


def _describe_shard(tx: Transaction, shard: Shard) -> Document:
    before = seq_before(tx, shard, shard.starts_at)
    numbers = {"StartingSequenceNumber": shard.first_number(before)}
    if is_closed(tx, shard, tx.streams.last(shard.stored)):
        numbers["EndingSequenceNumber"] = shard.last_number(before, last_position(tx, shard))
    described: Document = {"ShardId": shard.id, "SequenceNumberRange": numbers}
    if shard.parent is not None:
        described["ParentShardId"] = shard.parent.id
    return described


def _position_of(tx: Transaction, shard: Shard, number: str, *, is_included: bool) -> int:
    """The record after which reading begins at a sequence number, which is a record's or between two records.

    Errors: ValidationException for a number that is not of this shard; TrimmedDataAccessException.
    """
    found = shard.seq_before(number) if is_included else shard.seq_until(number)
    before = seq_before(tx, shard, shard.starts_at)
    first, last = int(shard.first_number(before)), int(shard.last_number(before, last_position(tx, shard)))
    if found is None or not first <= int(number) <= last:
        raise invalid_parameter(f"Invalid SequenceNumber: {number} is not of shard {shard.id}")
    if found < first_position(tx, shard):
        raise trimmed()
    return found
