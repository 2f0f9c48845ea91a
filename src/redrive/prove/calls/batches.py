"""Calls with many entries, which succeed even if some of the entries are refused.

A table from AWS's API references: which member has the entries, and how an answer names the refused ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from redrive.prove.calls.calls import Call, Params, mapping_of, members_of

_CODE, _MESSAGE = "InternalFailure", "Internal error: try this entry again."


@dataclass(frozen=True, slots=True)
class _Batch:
    """The member of a call that has the entries, and the member of an answer that names the refused ones.

    An answer names them by their `Id` in a list of their own, or, with `count`, by their place in a list of all.
    """

    entries: str
    refused: str
    count: str = ""


_BATCHES = {
    # https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html
    ("sqs", "SendMessageBatch"): _Batch("Entries", "Failed"),
    # https://docs.aws.amazon.com/sns/latest/api/API_PublishBatch.html
    ("sns", "PublishBatch"): _Batch("PublishBatchRequestEntries", "Failed"),
    # https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html
    ("events", "PutEvents"): _Batch("Entries", "Entries", "FailedEntryCount"),
    # https://docs.aws.amazon.com/kinesis/latest/APIReference/API_PutRecords.html
    ("kinesis", "PutRecords"): _Batch("Records", "Records", "FailedRecordCount"),
    # https://docs.aws.amazon.com/firehose/latest/APIReference/API_PutRecordBatch.html
    ("firehose", "PutRecordBatch"): _Batch("Records", "RequestResponses", "FailedPutCount"),
}
_ITEMS = ("dynamodb", "BatchWriteItem")
# https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html


def can_be_partly_refused(call: Call) -> bool:
    """Whether a call can succeed although some of its entries are refused."""
    return (call.service, call.operation) in (_ITEMS, *_BATCHES)


def without_last(call: Call) -> Call | None:
    """The batch without its last entry; None if it had only one."""
    if (call.service, call.operation) == _ITEMS:
        *tables, (table, members) = _tables(call.params).items()
        left = {**dict(tables), **({table: members[:-1]} if members[1:] else {})}
        return replace(call, params={**call.params, "RequestItems": left}) if left else None
    name = _BATCHES[call.service, call.operation].entries
    entries = list(members_of(call.params, name))[:-1]
    return replace(call, params={**call.params, name: entries}) if entries else None


def with_last_refused(call: Call, answer: Params) -> dict[str, object]:
    """The answer to a batch whose last entry was refused and all others accepted."""
    if (call.service, call.operation) == _ITEMS:
        table, members = list(_tables(call.params).items())[-1]
        return {**answer, "UnprocessedItems": {table: members[-1:]}}
    batch = _BATCHES[call.service, call.operation]
    entries = members_of(call.params, batch.entries)
    if batch.count:
        taken = [{"EventId": f"{number}", "RecordId": f"{number}"} for number in range(len(entries) - 1)]
        refused = {"ErrorCode": _CODE, "ErrorMessage": _MESSAGE}
        return {**answer, batch.count: 1, batch.refused: [*taken, refused]}
    last = mapping_of(entries[-1])
    refusal = {"Id": last.get("Id"), "SenderFault": False, "Code": _CODE, "Message": _MESSAGE}
    return {**answer, "Successful": answer.get("Successful", []), batch.refused: [refusal]}


def taken_of(call: Call, answer: Params) -> Call:
    """A batch without the entries that its answer names as refused; any other call unchanged."""
    if (call.service, call.operation) == _ITEMS:
        unprocessed = _tables({"RequestItems": answer.get("UnprocessedItems", {})})
        left = {
            table: [member for member in members if member not in unprocessed.get(table, [])]
            for table, members in _tables(call.params).items()
        }
        return replace(call, params={**call.params, "RequestItems": left})
    batch = _BATCHES.get((call.service, call.operation))
    if batch is None:
        return call
    entries, named = members_of(call.params, batch.entries), members_of(answer, batch.refused)
    if batch.count:
        refused = {number for number, one in enumerate(named) if mapping_of(one).get("ErrorCode")}
    else:
        ids = {mapping_of(one).get("Id") for one in named}
        refused = {number for number, entry in enumerate(entries) if mapping_of(entry).get("Id") in ids}
    left_entries = [entry for number, entry in enumerate(entries) if number not in refused]
    return replace(call, params={**call.params, batch.entries: left_entries})


def _tables(params: Params) -> dict[str, list[object]]:
    tables: Mapping[str, object] = mapping_of(params.get("RequestItems"))
    return {table: list(members_of(tables, table)) for table in tables}
