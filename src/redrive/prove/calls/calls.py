"""A call of the handler to the outside: service, operation, target, and whether it changes anything."""

from __future__ import annotations

import copy
import fnmatch
import marshal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from botocore.client import BaseClient

from redrive.prove.calls.verbs import is_read
from redrive.prove.process.statements import is_read_statement

Params = Mapping[str, object]

EFFECT_SERVICE = "effect"
"""The service of calls that are declared effects of `redrive.handler`."""
SQL_SERVICE = "sql"
"""The service of statements to databases: `sql:INSERT:orders`, and `sql:COMMIT:orders` for a transaction's end."""
HTTP_SERVICE = "http"
"""The service of requests over HTTP: `http:POST:api.example.com/charges`."""

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
"""Methods that change nothing. Source: https://www.rfc-editor.org/rfc/rfc9110#section-9.2.1"""

_TARGETS = (
    "TableName", "QueueUrl", "FunctionName", "TopicArn", "TargetArn", "StateMachineArn", "stateMachineArn", "Bucket",
    "StreamName", "DeliveryStreamName", "EventBusName", "Name", "Destination", "taskDefinition",
)  # fmt: skip
_WRITTEN = {"ConditionCheckItem": "GetItem"}
"""Changes nothing: a condition check."""
_UPLOADING = frozenset({"AbortMultipartUpload", "CreateMultipartUpload", "UploadPart", "UploadPartCopy"})
"""Writes of S3 of which nothing can be seen before CompleteMultipartUpload."""
_SILENT_SERVICES = frozenset({"cloudwatch", "logs", "sts", "xray"})
"""Writes that report about the work, and are not work themselves."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call. `target` is the name of its table, queue or topic."""

    service: str
    operation: str
    target: str
    params: Params = field(default_factory=dict, compare=False)

    @property
    def name(self) -> str:
        """The text that patterns match: `dynamodb:PutItem:reports`."""
        return f"{self.service}:{self.operation}:{self.target}"

    @property
    def changes(self) -> bool:
        """Whether it can change something."""
        if self.service == HTTP_SERVICE:
            return self.operation not in _SAFE_METHODS
        if self.service == SQL_SERVICE:
            return not is_read_statement(str(self.params.get("Statement", self.operation)))
        return not is_read(self.service, self.operation, self.params)

    @property
    def is_silent(self) -> bool:
        """Whether only people look at what the call changes, or nobody before another call."""
        return self.service in _SILENT_SERVICES or (self.service == "s3" and self.operation in _UPLOADING)

    def matches(self, patterns: tuple[str, ...]) -> bool:
        """Whether one of the patterns (`dynamodb:PutItem:reports*`) matches this call."""
        return any(fnmatch.fnmatchcase(self.name, pattern) for pattern in patterns)

    def __str__(self) -> str:
        if self.service == EFFECT_SERVICE:
            return f"the effect {self.operation}"
        if self.service == HTTP_SERVICE:
            return f"{self.operation} {self.params.get('Scheme', 'https')}://{self.target}"
        if self.service == SQL_SERVICE:
            return f"SQL {self.operation}" + (f" on {self.target}" if self.target else "")
        return f"{self.service} {self.operation}" + (f" on {self.target}" if self.target else "")


def call_of(service: str, operation: str, params: Params) -> Call:
    """A call from the parameters given to boto3."""
    target = next((str(params[name]) for name in _TARGETS if isinstance(params.get(name), str)), "")
    if target.startswith(("http://", "https://")):
        target = target.rpartition("/")[2]
    elif target.startswith("arn:"):
        target = target.rpartition(":")[2].rpartition("/")[2]
    return Call(service, operation, target, params)


def parts_of(call: Call) -> tuple[Call, ...]:
    """The calls within one call: the members of a transaction or a batch, or the call itself."""
    match call.service, call.operation:
        case "dynamodb", "TransactWriteItems" | "TransactGetItems":
            members = [mapping_of(member) for member in members_of(call.params, "TransactItems")]
            made = [(f"{kind}Item", mapping_of(params)) for member in members for kind, params in member.items()]
            return tuple(call_of(call.service, _WRITTEN.get(name, name), params) for name, params in made)
        case "dynamodb", "BatchWriteItem":
            return tuple(_batched_writes(mapping_of(call.params.get("RequestItems"))))
        case "dynamodb", "BatchGetItem":
            tables = mapping_of(call.params.get("RequestItems"))
            return tuple(
                call_of(call.service, "GetItem", {"TableName": table, "Key": key})
                for table, wanted in tables.items()
                for key in members_of(mapping_of(wanted), "Keys")
            )
        case "s3", "DeleteObjects":
            deleted = map(mapping_of, members_of(mapping_of(call.params.get("Delete")), "Objects"))
            return tuple(
                call_of(call.service, "DeleteObject", {"Bucket": call.params.get("Bucket"), **one}) for one in deleted
            )
        case "sql", "COMMIT":
            writes = cast("Sequence[tuple[str, str]]", members_of(call.params, "Writes"))
            return tuple(Call(call.service, operation, table) for operation, table in writes)
        case "sns", "PublishBatch":
            return tuple(
                Call(call.service, "Publish", call.target, {name: entry[name] for name in entry if name != "Id"})
                for entry in map(mapping_of, members_of(call.params, "PublishBatchRequestEntries"))
            )
        case ("events", "PutEvents") | ("kinesis", "PutRecords") | ("firehose", "PutRecordBatch"):
            entries = members_of(call.params, "Entries") or members_of(call.params, "Records")
            return tuple(
                Call(call.service, call.operation, call.target or str(entry.get("EventBusName", "")), entry)
                for entry in map(mapping_of, entries)
            )
        case _:
            return (call,)


def _batched_writes(tables: Params) -> Iterator[Call]:
    for table in tables:
        for member in members_of(tables, table):
            for kind, params in mapping_of(member).items():
                name = f"{kind.removesuffix('Request')}Item"
                yield call_of("dynamodb", name, {"TableName": table, **mapping_of(params)})


def key_text(call: Call) -> str:
    """The key of a call's item as text, with all other parameters that may be its key."""
    return str(call.params.get("Key") or call.params.get("Item"))


def mapping_of(value: object) -> Params:
    """A parameter that is a mapping; empty if absent."""
    return cast("Params", value) if isinstance(value, Mapping) else {}


def members_of(params: Params, name: str) -> Sequence[object]:
    """A parameter that is a list; empty if absent."""
    value = params.get(name)
    return value if isinstance(value, list | tuple) else ()


def as_sent(client: BaseClient, operation: str, params: Params) -> Params:
    """The parameters after the changes of botocore and boto3: `boto3.resource`'s form becomes the form on the wire."""
    model = client.meta.service_model.operation_model(operation)
    place = f"{client.meta.service_model.service_id.hyphenize()}.{operation}"
    context: dict[str, object] = {"client_region": client.meta.region_name, "client_config": client.meta.config}
    settled = dict(params)
    for event in ("provide-client-params", "before-parameter-build"):
        answers = client.meta.events.emit(f"{event}.{place}", params=settled, model=model, context=context)
        settled = next((answer for _, answer in answers if answer is not None), settled)
    return cast("Params", settled)


def kept(params: Params) -> Params:
    """A copy of parameters that stays as it is, whatever the handler does with its own."""
    try:
        return cast("Params", marshal.loads(marshal.dumps(params)))  # type: ignore[arg-type] # noqa: S302 - our own.
    except ValueError:
        return copy.deepcopy(params)


def with_body_read(params: Params) -> Params:
    """The parameters with the bytes of a stream that is their body, so that the call can be made more than once."""
    body = params.get("Body")
    read = getattr(body, "read", None)
    if read is None:
        return params
    content = read()
    return {**params, "Body": content.encode() if isinstance(content, str) else bytes(content)}
