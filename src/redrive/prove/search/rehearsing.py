"""Runs a handler without faults until it comes through, and mends the guess that each failure names.

Each try begins in a new world. A try is kept if it fails in another way than all before, and given up if it fails as
one before it has. Tries are bounded, and the same each time.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast

from botocore.client import BaseClient
from botocore.exceptions import ClientError
from botocore.response import StreamingBody

from redrive.core.documents import Document, dump_json
from redrive.core.errors import UserError
from redrive.prove.calls.calls import Call, Params, as_sent, call_of, mapping_of
from redrive.prove.calls.given import Given, GivenObject, GivenReply
from redrive.prove.guess.binaries import gzipped
from redrive.prove.guess.causes import mends_for_nothing
from redrive.prove.guess.contents import PLAIN_FILE, FileContent
from redrive.prove.guess.hints import VARIABLE, Hint, Hints, overlaid
from redrive.prove.guess.mends import Content, Mend
from redrive.prove.guess.plausible import FAILED, MORE
from redrive.prove.guess.watched import EVENT, At, Observations, WatchedBytes, plain
from redrive.prove.play.events import Called, Ended, Ending, Event
from redrive.prove.play.performance import Performance
from redrive.prove.play.transport import Short
from redrive.prove.process.rehearsed import RehearsedSubject
from redrive.prove.process.surroundings import replaced
from redrive.prove.search.clean import play_clean
from redrive.prove.search.tagged import TAGS_OF, as_tag, tags_of, tags_source, watched_tags
from redrive.prove.stage.furnished import plain_row
from redrive.prove.stage.queried_keys import filtered_values, queried_values
from redrive.prove.stage.reports import refitted
from redrive.prove.stage.stage import models
from redrive.prove.stage.trigger import Trigger

TRIES_MAX = 20
"""How often a handler that fails is tried with changed guesses."""
NOTHING_TRIES_MAX = 20
"""How often a handler is tried that does not fail, and changes nothing."""
REPLY = "answer to "
"""How the source of an answer of a service begins that the engine does not have; the call follows."""
OBJECT = "object "
"""How the source of an object's content begins; its bucket and key follow."""
METADATA_OF = "metadata of the object "
_GZIP = b"\x1f\x8b"
_SETTLES = frozenset({"ChangeMessageVisibility", "DeleteMessage", "DeleteMessageBatch"})
"""Calls about the message itself, which are no work."""


@dataclass(slots=True)
class Setting:
    """A world before its first run, and what is there of guesses."""

    performance: Performance
    trigger: Trigger
    variables: Mapping[str, At] = field(default_factory=dict)
    """The guessed values of variables, with their places."""
    bodies: Mapping[str, str] = field(default_factory=dict)
    """The texts of answers that were guessed, with their sources."""


@dataclass(slots=True)
class Asked:
    """What the handler has read, by the sources of answers: the call, and what was there."""

    calls: dict[str, Call] = field(default_factory=dict)
    bodies: dict[str, str] = field(default_factory=dict)
    """Contents of objects as text, unpacked."""
    packed: set[str] = field(default_factory=set)
    """The objects that are compressed with gzip."""


def has_effect(events: Sequence[Event]) -> bool:
    """Whether a run has changed anything."""
    return any(
        isinstance(one, Called) and one.times and (one.is_declared or one.call.changes)
        and one.call.operation not in _SETTLES for one in events
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Tried:
    """How a try ended. `signature` is equal for tries that fail alike."""

    signature: tuple[object, ...]
    mends: Sequence[tuple[Mend, str]]
    calls: int = 0
    is_done: bool = False
    has_failed: bool = False


def rehearse(set_up: Callable[[Hints], Setting], asked: Asked) -> Hints:
    """The changes of guesses with which the handler comes through, or comes farthest. Empty if none helps."""
    hints = Hints()
    tried = _try(set_up(hints), asked)
    first, seen = tried, {tried.signature}
    waiting = [(hints, mend, line) for mend, line in tried.mends]
    kept, farthest = hints, tried.calls
    for _ in range(TRIES_MAX if tried.has_failed else NOTHING_TRIES_MAX):
        if tried.is_done or not waiting:
            break
        base, mend, line = waiting.pop(0)
        changed = base.with_hint(Hint(mend, line))
        try:
            after = _try(set_up(changed), asked)
        except UserError:  # The world cannot be so, as with a row of no type.
            continue
        if after.signature in seen:
            continue
        seen.add(after.signature)
        if after.is_done or after.calls > farthest or (after.calls == farthest and base == kept):
            kept, farthest = changed, after.calls
        tried = after
        waiting = [*((changed, one, where) for one, where in after.mends), *waiting]
    if tried.is_done:
        return kept
    return kept if first.has_failed else Hints()


def _try(setting: Setting, asked: Asked) -> _Tried:
    """Play one run without faults, watched."""
    performance = setting.performance
    subject = RehearsedSubject(performance.subject, setting.variables)
    performance.web.guessed = lambda: json.loads(next(iter(setting.bodies), "{}"))
    performance.subject = subject
    subject.watch.bodies.update(setting.bodies)
    answers = _Answers(subject.watch, asked)
    events: Sequence[Event] = ()
    failure = ""

    def fit(played: Sequence[Event]) -> None:
        answers = [one.answer for one in played if isinstance(one, Ended) and one.ending is Ending.RETURNED]
        refitted(performance.stage, setting.trigger, answers)

    try:
        performance.begin(setting.trigger)
        with performance.entered(Short(performance.stage)), answers.watched():
            try:
                events = play_clean(performance, fit)
            except UserError as error:
                failure = str(error)
    finally:
        performance.close()
    is_done = not failure and has_effect(events)
    if is_done:
        return _Tried(("done",), (), len(events), is_done=True)
    mends: list[tuple[Mend, str]] = [(mend, seen.line) for seen in reversed(subject.raised) for mend in seen.mends]
    mends += [(mend, "a call that finds nothing") for mend in answers.absent]
    if failure:
        mends += [(Mend(At(f"{VARIABLE}{name}")), line) for name, line in subject.missing_variables.items()]
    if not failure or not subject.raised:
        mends += [(mend, _line(subject.watch, mend)) for mend in mends_for_nothing(subject.watch)]
    mends = [(as_tag(mend), line) for mend, line in mends if not _would_go_on(mend)]
    last = subject.raised[-1] if subject.raised else None
    calls = sum(isinstance(one, Called) for one in performance.events)
    places = tuple((str(mend.at), str(mend.value)) for mend, _ in mends)
    ended = (failure.partition("\n")[0], last and (last.told, last.line), calls, places)
    return _Tried(ended, mends, calls, has_failed=bool(failure))


def _would_go_on(mend: Mend) -> bool:
    """Whether a change would say that an answer has a further page, or that something has failed."""
    last = str(mend.at.path[-1]) if mend.at.path else ""
    return mend.at.source.startswith(REPLY) and bool(MORE.search(last) or FAILED.search(last))


def _line(watch: Observations, mend: Mend) -> str:
    lines = [(note.at, note.line) for note in watch.notes] + [(at, line) for at, _, _, line in watch.splits]
    return next((line for at, line in lines if at == mend.at), "the handler")


class _Body(StreamingBody):  # type: ignore[misc] # botocore has no types.
    """The content of an object, which knows its place."""

    def __init__(self, content: bytes, watch: Observations, at: At) -> None:
        super().__init__(io.BytesIO(content), len(content))
        self._watch, self._at = watch, at

    def read(self, amt: int | None = None) -> bytes:
        return WatchedBytes.of(super().read(amt), self._watch, self._at)


class _Answers:
    """Passes the answers to calls on as values that know their places."""

    def __init__(self, watch: Observations, asked: Asked) -> None:
        self._watch = watch
        self._asked = asked
        self.absent: list[Mend] = []
        """What was asked for, and is not there."""

    @contextmanager
    def watched(self) -> Iterator[None]:
        """While entered, the answers of all clients are watched."""
        answer_really = BaseClient._make_api_call  # noqa: SLF001 - botocore has no other place that all calls pass.

        def answer(client: BaseClient, operation: str, params: Params) -> object:
            known = cast("Params", plain(params))
            call = call_of(client.meta.service_model.service_name, operation, as_sent(client, operation, dict(known)))
            try:
                made = answer_really(client, operation, known)
            except ClientError as error:
                self._note_absent(call, str(mapping_of(error.response.get("Error")).get("Code")))
                raise
            return self._watched(call, made)

        with replaced(BaseClient, "_make_api_call", answer):
            yield

    def _note_absent(self, call: Call, code: str) -> None:
        source = _source_of(call)
        if source and code in {"404", "NoSuchKey", "NoSuchTagSet"}:
            self._asked.calls[source] = call
            self.absent.append(Mend(At(source)))

    def _watched(self, call: Call, answer: object) -> object:
        source = _source_of(call) or _source_of_reply(call, answer)
        if not source or not isinstance(answer, dict):
            return answer
        self._asked.calls[source] = call
        at = At(source)
        if call.operation == "GetObjectTagging":
            return watched_tags(answer, self._watch, at)
        if call.operation == "ReceiveMessage" and not answer.get("Messages"):
            self.absent.append(Mend(at.below("Messages").below(0).below("Body")))
        if isinstance(answer.get("Metadata"), dict) and source.startswith(OBJECT):
            of_metadata = f"{METADATA_OF}{source.removeprefix(OBJECT)}"
            self._asked.calls[of_metadata] = call
            answer = {**answer, "Metadata": self._watch.wrap(answer["Metadata"], At(of_metadata))}
        body = answer.get("Body")
        if body is not None and hasattr(body, "read"):
            content = body.read()
            text = _unpacked(content).decode("utf-8", "replace")
            self._asked.bodies.setdefault(source, text)
            self._watch.bodies.setdefault(text, source)
            if content.startswith(_GZIP):
                self._asked.packed.add(source)
            return {**answer, "Body": _Body(content, self._watch, at)}
        if call.operation == "GetParameters":
            return {**answer, "Parameters": [self._parameter(one) for one in answer.get("Parameters", ())]}
        return self._watch.wrap(answer, at)

    def _parameter(self, one: Document) -> object:
        source = f"parameter {one.get('Name')}"
        self._asked.calls[source] = Call("ssm", "GetParameter", str(one.get("Name")), {"Name": one.get("Name")})
        return self._watch.wrap({"Parameter": one}, At(source))["Parameter"]  # type: ignore[index] # A dictionary.


def _source_of(call: Call) -> str:
    """The source of a call's answer, in words for the user; empty if what it reads cannot be made."""
    match call.service, call.operation:
        case "dynamodb", "GetItem":
            key = ", ".join(f"{name} {value}" for name, value in plain_row(mapping_of(call.params.get("Key"))).items())
            return f"row of {call.target} with {key}"
        case "dynamodb", "Query" | "Scan":
            asked = ", ".join(f"{name} {value}" for name, value in plain_row(queried_values(call.params)).items())
            return f"row of {call.target} with {asked}" if asked else f"row of {call.target}"
        case "sqs", "ReceiveMessage":
            return f"messages of the queue {_queue_in(call)}"
        case "s3", "GetObject" | "HeadObject":
            return f"{OBJECT}{call.target}/{call.params.get('Key')}"
        case "s3", "GetObjectTagging":
            return tags_source(call)
        case "secretsmanager", "GetSecretValue":
            return f"secret {call.params.get('SecretId')}"
        case "ssm", "GetParameter":
            return f"parameter {call.params.get('Name')}"
        case "ssm", "GetParameters":
            return "parameters"
        case _:
            return ""


def _queue_in(call: Call) -> str:
    return str(call.params.get("QueueUrl")).rpartition("/")[2]


def _source_of_reply(call: Call, answer: object) -> str:
    """The source of an answer that was made up; empty if the engine has given it, or if it has a stream."""
    is_engines = call.service in models().specs
    if is_engines or not isinstance(answer, dict) or any(hasattr(one, "read") for one in answer.values()):
        return ""
    return f"{REPLY}{call.service} {call.operation}"


def replies(hints: Hints) -> tuple[GivenReply, ...]:
    """Made-up answers of services with their changes."""
    found = []
    for source in hints.sources:
        if source.startswith(REPLY):
            service, _, operation = source.removeprefix(REPLY).partition(" ")
            members = mapping_of(overlaid({}, [one.mend for one in hints.of(source)]))
            found.append(GivenReply(service, operation, members, is_partial=True))
    return tuple(found)


def provided(hints: Hints, asked: Asked, file: FileContent = PLAIN_FILE) -> Given:
    """What the changes put into the world beforehand. Objects of which nothing is known are like `file`."""
    rows: dict[str, tuple[Document, ...]] = {}
    objects: list[GivenObject] = []
    secrets: dict[str, str] = {}
    parameters: dict[str, str | tuple[str, ...]] = {}
    messages: dict[str, tuple[str, ...]] = {}
    for source in hints.sources:
        call = asked.calls.get(source)
        mends = [one.mend for one in hints.of(source)]
        match call:
            case Call(service="dynamodb", target=table):
                rows[table] = (*rows.get(table, ()), _row(call, mends))
            case Call(service="s3"):
                objects.append(_object(call, hints, asked, file))
            case Call(service="sqs"):
                received = mapping_of(overlaid({"Messages": [{"Body": "{}"}]}, mends))["Messages"]
                message = mapping_of(received[0] if isinstance(received, list) and received else None)
                messages[_queue_in(call)] = (_text(message.get("Body", "{}")),)
            case Call(service="secretsmanager"):
                made = mapping_of(overlaid({"SecretString": "sample"}, mends))
                secrets[str(call.params["SecretId"])] = _text(made["SecretString"])
            case Call(service="ssm"):
                made = mapping_of(mapping_of(overlaid({"Parameter": {"Value": "sample"}}, mends))["Parameter"])
                parameters[str(call.params["Name"])] = _text(made["Value"])
            case _:
                pass
    return Given(rows=rows, objects=tuple(objects), secrets=secrets, parameters=parameters, messages=messages)


def _object(call: Call, hints: Hints, asked: Asked, file: FileContent) -> GivenObject:
    """An object, with what is known of its content and of its tags, each of which has a source of its own."""
    place = f"{call.target}/{call.params['Key']}"
    contents, tags = f"{OBJECT}{place}", f"{TAGS_OF}{place}"
    body = _body(asked.bodies.get(contents), [one.mend for one in hints.of(contents)], file)
    packed = gzipped(body) if contents in asked.packed and not body.startswith(_GZIP) else body
    named = mapping_of(overlaid({}, [one.mend for one in hints.of(f"{METADATA_OF}{place}")]))
    metadata = {str(name): str(value) for name, value in named.items()}
    own_tags = tags_of([one.mend for one in hints.of(tags)])
    return GivenObject(call.target, str(call.params["Key"]), packed, own_tags, metadata)


def _unpacked(content: bytes) -> bytes:
    try:
        return gzip.decompress(content) if content.startswith(_GZIP) else content
    except (OSError, EOFError, zlib.error):
        return content


def _body(known: str | None, mends: Sequence[Mend], file: FileContent) -> bytes:
    if all(mend.value is Content.ANY and not mend.at.path for mend in mends):
        return file.body
    return _text(overlaid(known, mends)).encode()


def _row(call: Call, mends: Sequence[Mend]) -> Document:
    """A row with the key that was asked for, and the attributes that the handler reads."""
    key = mapping_of(call.params.get("Key")) or {**filtered_values(call.params), **queried_values(call.params)}
    made = mapping_of(overlaid({}, mends))
    members = made.get("Items")
    held = members[0] if isinstance(members, list) and members else made.get("Item")
    attributes = dict(held) if isinstance(held, dict) else {}
    if any(
        isinstance(value, dict) and len(value) == 1 and next(iter(value)).isupper() for value in attributes.values()
    ):
        return {**attributes, **key}
    return {**attributes, **plain_row(key)}


def _text(value: object) -> str:
    return value if isinstance(value, str) else dump_json(value)


def event_mends(hints: Hints) -> list[Mend]:
    """The changes of the event."""
    return [one.mend for one in hints.of(EVENT)]
