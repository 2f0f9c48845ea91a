"""API calls on their way to CloudTrail: runs an operation, and has the call recorded if a trail asks for it.

The operation's model says how its parameters and its answer look in a record. CloudTrail itself is a service; this
module knows only that calls are recorded, and what must not be in a record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from redrive.core.clock import format_instant
from redrive.core.documents import Document, dump_json
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.delivery.operation import Answer, EventStream, Outside, StreamedOutside
from redrive.services.cloudtrail.model import data_events
from redrive.services.cloudtrail.model.calls import CallKind, event_name
from redrive.services.cloudtrail.model.records import ApiCall
from redrive.services.cloudtrail.recording import GLOBAL_REGION, is_data_recorded, is_recorded, record, record_data
from redrive.services.iam import access
from redrive.store.api import Transaction
from redrive.wire.model.shapes import Member, OperationModel, Shape

HIDDEN = "HIDDEN_DUE_TO_SECURITY_REASONS"

# https://docs.aws.amazon.com/awscloudtrail/latest/userguide/cloudtrail-event-reference-record-contents.html
_DOCUMENT_BYTES_MAX = 100 * 1024

_WITHOUT_REGIONS = frozenset({"iam"})

_LEFT_OUT = frozenset({("cloudformation", "TemplateBody"), ("cloudformation", "ParameterValue")})
"""Members that are in no record, although they are no secrets by the model."""

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NOON = 12


@dataclass(frozen=True, slots=True)
class Call:
    """A call that is about to be run: the operation, its kind, and what its caller has sent."""

    model: OperationModel
    host_name: str
    kind: CallKind
    caller: Caller
    params: Mapping[str, object]
    user_agent: str = ""

    @property
    def is_global(self) -> bool:
        return self.model.service in _WITHOUT_REGIONS


def wants_record(tx: Transaction, caller: Caller, service: str) -> bool:
    """Whether a trail records the management events of a service that this caller causes."""
    is_global = service in _WITHOUT_REGIONS
    return is_recorded(tx, Scope(caller.account, GLOBAL_REGION) if is_global else caller.scope)


def wants_data_record(tx: Transaction, caller: Caller, service: str) -> bool:
    """Whether a trail may record events of data of a service that this caller causes."""
    return service in data_events.TYPES and is_data_recorded(tx, caller.scope)


def run_recorded(tx: Transaction, call: Call, run: Callable[[], Answer]) -> Answer | ServiceError:
    """Run an operation and record the call. An error is returned, not raised, so that the record is committed."""
    try:
        with tx.savepoint():
            answer = run()
    except ServiceError as error:
        record_call(tx, call, error)
        return error
    record_call(tx, call, answer)
    return answer


def record_call(tx: Transaction, call: Call, answer: object) -> None:
    """Record a call by its answer. An answer that is still to come is not recorded, unless the call is about data."""
    is_data = call.kind is CallKind.DATA
    comes_later = isinstance(answer, Outside | StreamedOutside | EventStream)
    if not isinstance(answer, dict | ServiceError) and not (is_data and comes_later):
        return
    resources: tuple[Document, ...] = ()
    arns: tuple[str, ...] = ()
    if is_data:
        arns = data_events.arns_of(call.model.service, call.params, call.caller.scope)
        resources = tuple(data_events.told(call.model.service, arns, call.caller.scope))
        if not resources:
            return
    error = answer if isinstance(answer, ServiceError) else None
    told = ApiCall(
        host_name=call.host_name, name=event_name(call.model.service, call.model.name),
        is_read_only=data_events.reads(call.model.name) if is_data else call.kind is CallKind.READ,
        documents=partial(_data_documents if is_data else _documents, call, answer), data_resources=resources,
        error_code="" if error is None else error.code, error_message="" if error is None else error.message,
        user_agent=call.user_agent,
    )  # fmt: skip
    principal_id = partial(access.holder_id, tx, call.caller)
    if is_data:
        kind = data_events.TYPES[call.model.service]
        record_data(tx, call.caller, told, type=kind, arns=arns, principal_id=principal_id)
        return
    record(tx, call.caller, told, is_global=call.is_global, principal_id=principal_id)


def _documents(call: Call, answer: object) -> tuple[Document | None, Document | None]:
    """The parameters of a call and its answer as a record shows them. Calls that only read show no answer."""
    shown = _shown(call.model.input, call.params, call.model)
    if call.model.service == "s3" and "bucket" in shown:
        shown = {"bucketName": shown.pop("bucket"), **shown}
    parameters = _limited(shown, "requestParameters")
    if call.kind is CallKind.READ or not isinstance(answer, dict):
        return parameters, None
    return parameters, _limited(_shown(call.model.output, answer, call.model), "responseElements")


def _data_documents(call: Call, _: object) -> tuple[Document | None, Document | None]:
    """The parameters of a call about data, without the data."""
    is_object = call.model.service == "s3"
    shown = _on_the_wire(call) if is_object else _shown(call.model.input, call.params, call.model)
    left = {name: value for name, value in shown.items() if name in data_events.SHOWN[call.model.service]}
    hidden = {name: HIDDEN for name in left if name in data_events.HIDDEN}
    return _limited({**left, **hidden}, "requestParameters"), None


def _on_the_wire(call: Call) -> Document:
    """The parameters of a call of S3 under their names on the wire, and the host that names the bucket."""
    members = {} if call.model.input is None else call.model.input.members
    shown = {
        member.location_name: str(call.params[name])
        for name, member in members.items()
        if member.location is not None and call.params.get(name) is not None
    }
    bucket = shown.get("Bucket", "")
    key = {"key": shown["Key"]} if "Key" in shown else {}
    return {"bucketName": bucket, "Host": f"{bucket}.s3.{call.caller.region}.amazonaws.com", **shown, **key}


def _limited(shown: Document, name: str) -> Document | None:
    """What a record shows of a document, which may be too large for it."""
    if not shown:
        return None
    size = len(dump_json(shown).encode())
    if size <= _DOCUMENT_BYTES_MAX:
        return shown
    return {"omitted": True, "originalSize": size, "reason": f"{name} too large"}


def _shown(shape: Shape | None, values: Mapping[str, object], model: OperationModel) -> Document:
    """A structure in the form of records: names begin with a small letter, and secrets are hidden."""
    shown: Document = {}
    for name, value in values.items():
        member = shape.members.get(name) if shape is not None else None
        if value is None or member is None or (model.service, name) in _LEFT_OUT:
            continue
        told = _value(member, value, model)
        if told is not None:
            shown[name[0].lower() + name[1:]] = told
    return shown


def _value(member: Member, value: object, model: OperationModel) -> object:
    """A value in the form of records; None for bytes, which no record has."""
    shape = member.shape
    if shape.is_sensitive:
        return HIDDEN
    match shape.type:
        case "blob":
            return None
        case "timestamp" if isinstance(value, int):
            return _moment(value)
        case "structure" if isinstance(value, Mapping) and not shape.is_document:
            return _shown(shape, value, model)
        case "list" if isinstance(value, list | tuple):
            return [_value(shape.element, one, model) for one in value]
        case "map" if isinstance(value, Mapping):
            return {str(key): _value(shape.value, one, model) for key, one in value.items()}
        case _:
            return value if isinstance(value, str | int | float | bool | list | dict) else str(value)


def _moment(at: int) -> str:
    """An instant as records show it: `Jan 1, 2025, 12:00:00 AM`."""
    day, _, time = format_instant(at - at % 1000).rstrip("Z").partition("T")
    year, month, of_month = day.split("-")
    hour, rest = int(time[:2]), time[2:8]
    half = "AM" if hour < _NOON else "PM"
    return f"{_MONTHS[int(month) - 1]} {int(of_month)}, {year}, {hour % _NOON or _NOON}{rest} {half}"
