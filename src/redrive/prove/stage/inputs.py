"""What a function is invoked with that no queue or stream feeds: given, or a sample with the real envelope."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from redrive.core.clock import SECOND_MS, parse_instant
from redrive.core.documents import Document, dump_json, load_json
from redrive.prove.guess.contents import PLAIN_FILE, FileContent
from redrive.prove.guess.reading import Reading
from redrive.prove.guess.record_samples import sample_object
from redrive.prove.guess.web_samples import Route, request_of, sample_request, with_body
from redrive.prove.stage.deliveries import SAMPLE_MESSAGE, Delivered, enveloped, sample_event_of_topic
from redrive.prove.stage.notifications import sample_notification
from redrive.prove.stage.retriers import REDRIVABLE_MS, SENT_AGAIN_WITHIN_MS, USUAL_RETRY, WEB_CLIENT, Awaiting
from redrive.prove.stage.rules import READY_AFTER_MS, RETRIES_MAX
from redrive.prove.stage.sampled import Wanted
from redrive.prove.stage.stage import SCOPE, START, Stage
from redrive.prove.stage.subscriptions import DATA, sample_subscription
from redrive.prove.stage.trigger import SAMPLE_EVENT, TIMEOUT_S, Kind, Trigger, create_role, empty_archive
from redrive.services.scheduler.model.executions import Execution, execution_id, rendered_input

SCHEDULED_AT = parse_instant("2025-01-01T00:00:00Z")
_SCHEDULE = f"arn:aws:scheduler:{SCOPE.region}:{SCOPE.account}:schedule/default/sample"
_ID_WORDS = ("execution",)
_TIME_WORDS = ("time", "date", "at")


@dataclass(frozen=True, slots=True)
class Place:
    """What is known of where the input comes from: a schedule's target, a task's payload, a route of an API, a bucket.

    `payload` is the input as the state's definition makes it, with paths as texts; None if it is the state's own input.
    """

    schedule_arn: str = _SCHEDULE
    target: Document | None = None
    payload: Document | None = None
    route: Route | None = None
    is_v2: bool | None = None
    key: tuple[str, str] = ("", "")
    """How the names of objects begin and end that a bucket tells of."""


ANYWHERE = Place()


_RECORD = ("Records", 0)
"""Where the first record of a list is, as its handler's reading has it."""


def inputs_for(
    kind: Kind, given: tuple[str, ...] | None, wanted: Wanted, *, file: FileContent = PLAIN_FILE,
    place: Place = ANYWHERE,
) -> tuple[tuple[str, ...], Mapping[str, str]]:  # fmt: skip
    """The events of a kind, each as JSON, and what was guessed of them."""
    match kind:
        case Kind.SNS:
            return _of_topic(given, wanted.reading, file)
        case Kind.SCHEDULE:
            return _of_schedule(given, wanted.reading, place)
        case Kind.API:
            return _of_api(given, wanted, place)
        case Kind.S3:
            return given or (sample_notification(file.suffix, *place.key),), {}
        case Kind.TASK if given is None and place.payload is not None:
            return _of_payload(place.payload, wanted.reading)
        case _:
            return _plain(kind, given, wanted.reading, file)


def usual_call(stage: Stage, events: tuple[str, ...], kind: Kind) -> Trigger:
    """A function that is called by a task with the Retry of the console, or by a client of an API."""
    stage.clock.set(START - READY_AFTER_MS)
    stage.call(
        "lambda", "CreateFunction", FunctionName="handler", Runtime="python3.12", Role=create_role(stage),
        Handler="index.handler", Timeout=TIMEOUT_S, Code={"ZipFile": empty_archive()},
    )  # fmt: skip
    stage.settle()
    stage.move_to(START)
    told = {"Retry": f"that of the console, {USUAL_RETRY[0].told}"}
    return called_trigger(
        "handler", TIMEOUT_S, kind, events, awaiting_of(kind, events), told if kind is Kind.TASK else {}
    )


def awaiting_of(kind: Kind, events: tuple[str, ...]) -> Awaiting:
    """Who awaits the answers, if nothing more is known."""
    if kind is Kind.TASK:
        return Awaiting(USUAL_RETRY)
    event = load_json(events[0]) if events else {}
    return replace(WEB_CLIENT, is_proxy=isinstance(event, dict) and "httpMethod" in event)


def called_trigger(
    name: str, timeout_s: int, kind: Kind, events: tuple[str, ...], awaiting: Awaiting, guesses: Mapping[str, str]
) -> Trigger:  # fmt: skip
    """The trigger of a function whose answers somebody awaits."""
    kept_ms = REDRIVABLE_MS if kind is Kind.TASK else SENT_AGAIN_WITHIN_MS
    return Trigger(
        name, "", "", "", timeout_s * SECOND_MS, kept_ms, events, RETRIES_MAX, kind, events, guesses, awaiting=awaiting
    )


def _plain(
    kind: Kind, given: tuple[str, ...] | None, reading: Reading | None, file: FileContent
) -> tuple[tuple[str, ...], Mapping[str, str]]:  # fmt: skip
    """The event as it is, or the keys that the handler reads."""
    of_topic = sample_event_of_topic(reading, file) if kind is Kind.LAMBDA else None
    if of_topic is not None:
        return given or (of_topic.text,), of_topic.guesses
    if given is not None:
        return given, {}
    if reading is not None and reading.is_list:
        record, added = sample_object(reading, _RECORD)
        return (dump_json([_as_piped(record)]),), {f"{name} of the {_noun(kind)}": why for name, why in added.items()}
    made, added = sample_object(reading, ())
    if reading is not None and DATA in reading.paths:
        return (dump_json(made | sample_subscription(START)),), {"event": "of a subscription filter of CloudWatch Logs"}
    return (dump_json(made or {"id": "sample-1"}),), {
        f"{name} of the {_noun(kind)}": why for name, why in added.items()
    }


def _noun(kind: Kind) -> str:
    return "input" if kind is Kind.TASK else "event"


def _as_piped(record: Document) -> Document:
    """A record as a pipe passes it on: its body and its data are texts, and Kinesis has no member of its own."""
    made: Document = {**record.pop("kinesis", {}), **record}
    if isinstance(made.get("body"), dict):
        made["body"] = dump_json(made["body"])
    if isinstance(made.get("data"), dict):
        made["data"] = base64.b64encode(dump_json(made["data"]).encode()).decode()
    return made or {"id": "sample-1"}


def _of_topic(
    given: tuple[str, ...] | None, reading: Reading | None, file: FileContent
) -> tuple[tuple[str, ...], Mapping[str, str]]:  # fmt: skip
    """Events of a topic, which have one record each. What is no such event is a message."""
    if given is None:
        sample = sample_event_of_topic(reading, file) or Delivered(enveloped(SAMPLE_MESSAGE))
        return (sample.text,), sample.guesses
    return tuple(event for text in given for event in _events_of_topic(text)), {}


def _events_of_topic(text: str) -> list[str]:
    event = _loaded(text)
    records = event.get("Records") if isinstance(event, dict) else None
    if isinstance(records, list) and records and all(isinstance(one, dict) and "Sns" in one for one in records):
        return [dump_json({"Records": [record]}) for record in records]
    return [enveloped(text)]


def _of_schedule(
    given: tuple[str, ...] | None, reading: Reading | None, place: Place
) -> tuple[tuple[str, ...], Mapping[str, str]]:  # fmt: skip
    """The input of a schedule with its context attributes filled in; without an Input the event of Scheduler itself."""
    if given is not None:
        return tuple(_rendered({"Input": text}, place) for text in given), {}
    if place.target is not None:
        return (_rendered(place.target, place),), {}
    made, added = sample_object(reading, ())
    default = json.loads(_rendered({}, place))
    if made and made.keys() <= default.keys():
        return (_rendered({}, place),), {"Input": "none: the event of Scheduler itself, whose keys the handler reads"}
    own = {name: _attribute_for(name, value) for name, value in made.items()} or SAMPLE_EVENT
    guesses = {f"{name} of the Input": why for name, why in added.items()}
    return (_rendered({"Input": dump_json(own)}, place),), guesses


def _attribute_for(name: str, value: object) -> object:
    """A context attribute for a key of the Input that sounds like one."""
    lowered = name.lower()
    if any(word in lowered for word in _ID_WORDS) and lowered.endswith("id"):
        return "<aws.scheduler.execution-id>"
    if "schedul" in lowered and lowered.endswith(_TIME_WORDS):
        return "<aws.scheduler.scheduled-time>"
    return value


def _rendered(target: Document, place: Place) -> str:
    own_id = execution_id(place.schedule_arn, SCHEDULED_AT, 0)
    return rendered_input(Execution(place.schedule_arn, SCOPE, own_id, SCHEDULED_AT, target), 1)


def _of_api(
    given: tuple[str, ...] | None, wanted: Wanted, place: Place
) -> tuple[tuple[str, ...], Mapping[str, str]]:  # fmt: skip
    """Requests as they are given; what is none is the body of a sample."""
    sample = sample_request(wanted.reading, wanted.file, place.route, is_v2=place.is_v2)
    if given is None:
        return (sample.text,), sample.guesses
    documents = [_loaded(text) for text in given]
    return tuple(
        dump_json(one) if request_of(one) is not None else with_body(sample, one).text for one in documents
    ), {}  # fmt: skip


def _of_payload(payload: Document, reading: Reading | None) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """The input that a state's definition makes: what it says, and what the handler reads where it takes a path."""
    made, added = sample_object(reading, ())
    event = {name.removesuffix(".$"): _member(name, value, made) for name, value in payload.items()}
    computed = {
        name.removesuffix(".$") for name, value in payload.items() if name.endswith(".$") or _is_computed(value)
    }
    guesses = {f"{name} of the input": why for name, why in added.items() if name.partition(".")[0] in computed}
    return (dump_json(event),), guesses


def _member(name: str, value: object, made: Mapping[str, object]) -> object:
    plain = name.removesuffix(".$")
    if plain == name and not _is_computed(value):
        return value
    text = str(value)
    if "Execution.Id" in text:
        return f"arn:aws:states:{SCOPE.region}:{SCOPE.account}:execution:sample:5068e532-bca5-4efc-be63-c93601fe6344"
    if "Execution.Name" in text:
        return "5068e532-bca5-4efc-be63-c93601fe6344"
    if "Task.Token" in text:
        return "AQCEAAAAKgAAAAMAAAAAAAAAAWRlbW8="
    return made.get(plain, f"sample-{plain}")


def _is_computed(value: object) -> bool:
    """Whether a value of a definition in JSONata is an expression."""
    return isinstance(value, str) and value.startswith("{%")


def _loaded(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text
