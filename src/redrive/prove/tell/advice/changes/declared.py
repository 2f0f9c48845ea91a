"""The change of a template for each cause that lies in the template: what feeds a function, and its dead letters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import yaml

from redrive.languages.template import Node, TemplateError
from redrive.prove.project.nodes import items_of, mentioned, properties_of, resources_of
from redrive.prove.stage.trigger import Kind
from redrive.prove.tell.advice.changes.source import Edit
from redrive.prove.tell.advice.changes.written import WrittenTemplate
from redrive.prove.tell.advice.finding import Cause, Finding
from redrive.services.lambda_.model.mapping import REPORT_BATCH_ITEM_FAILURES

RETENTION_S = 1_209_600
"""14 days: SQS keeps no message longer."""
RECORD_S = 30 * 86_400
_RECEIVES, _RETRIES = 5, 5
_FUNCTION, _SAM_FUNCTION = "AWS::Lambda::Function", "AWS::Serverless::Function"
_MAPPING = "AWS::Lambda::EventSourceMapping"
_QUEUE = "AWS::SQS::Queue"
_STREAMS = ("Kinesis", "DynamoDB")
_LETTERS_LIKE = re.compile(r"dlq|dead", re.IGNORECASE)
_UNITS_S = {"SECONDS": 1, "MINUTES": 60, "HOURS": 3_600, "DAYS": 86_400}
_CDK = "aws:cdk:path"

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Declared:
    """A function as its template is written. `through` is the logical id of the queue that feeds it, if it is known."""

    template: WrittenTemplate
    function: str
    kind: Kind
    through: str
    details: Mapping[str, str]

    @property
    def is_sam(self) -> bool:
        """Whether SAM makes the function, and with it its permissions."""
        return self.template.value("Resources", self.function, "Type") == _SAM_FUNCTION

    @property
    def properties(self) -> Path:
        """Where the properties of the function stand."""
        return ("Resources", self.function, "Properties")

    def mapping(self) -> tuple[Path, list[str]] | None:
        """Where the properties of the mapping that feeds it stand, and what its source is; None if it is not clear."""
        found = [*self._events(), *self._mappings()]
        if len(found) > 1 and self.through:
            found = [one for one in found if self.through in one[1]]
        return found[0] if len(found) == 1 else None

    def letters(self) -> Iterator[str]:
        """The queues in which what the function has failed at lies."""
        mapping = self.mapping()
        if mapping is not None:
            path, sources = mapping
            for source in sources:
                policy = self.template.value("Resources", source, "Properties", "RedrivePolicy")
                yield from mentioned(policy)
            yield from mentioned(self.template.value(*path, "DestinationConfig"))
        for name in ("DeadLetterQueue", "DeadLetterConfig", "EventInvokeConfig"):
            yield from mentioned(self.template.value(*self.properties, name))

    def letters_queue(self) -> tuple[Node, list[Edit]]:
        """The ARN of a queue for dead letters: one that the template has, or one that an edit adds."""
        queues = dict(resources_of(self.template.root, _QUEUE))
        used = [
            name for queue in queues.values() for name in mentioned(properties_of(queue).get("RedrivePolicy"))
            if name in queues
        ]  # fmt: skip
        of_functions = [
            name for _, one in resources_of(self.template.root, _FUNCTION, _SAM_FUNCTION)
            for member in ("DeadLetterQueue", "DeadLetterConfig")
            for name in mentioned(properties_of(one).get(member)) if name in queues
        ]  # fmt: skip
        named = [name for name in queues if _LETTERS_LIKE.search(name)]
        known = next(iter((*of_functions, *used, *named)), "")
        if known:
            return {"Fn::GetAtt": [known, "Arn"]}, []
        name = f"{self.function}DeadLetters"
        made: Node = {"Type": _QUEUE, "Properties": {"MessageRetentionPeriod": RETENTION_S}}
        added = self.template.with_member(("Resources",), name, made)
        return {"Fn::GetAtt": [name, "Arn"]}, [] if added is None else [added]

    def _events(self) -> Iterator[tuple[Path, list[str]]]:
        events = self.template.value(*self.properties, "Events")
        for name, event in events.items() if isinstance(events, dict) else ():
            found = properties_of(event)
            kinds = _STREAMS if self.kind.is_stream else ("SQS",)
            if isinstance(event, dict) and event.get("Type") in kinds:
                source = [*mentioned(found.get("Queue")), *mentioned(found.get("Stream"))]
                yield (*self.properties, "Events", name, "Properties"), source

    def _mappings(self) -> Iterator[tuple[Path, list[str]]]:
        for name, resource in resources_of(self.template.root, _MAPPING):
            found = properties_of(resource)
            if self.function in mentioned(found.get("FunctionName")):
                yield ("Resources", name, "Properties"), mentioned(found.get("EventSourceArn"))


def changed_template(finding: Finding, function: str, kind: Kind, through: str, text: str) -> str:
    """The template with the change for a cause; empty if none can be derived."""
    make = _MAKERS.get(finding.cause)
    try:
        template = WrittenTemplate(text) if make is not None else None
        if make is None or template is None or not function or not _is_written_by_hand(template.root):
            return ""
        edits = make(Declared(template, function, kind, through, finding.details))
        after = template.edited(edits) if edits else ""
        WrittenTemplate(after or text)
    except (TemplateError, yaml.YAMLError):
        return ""
    return after if after != text else ""


def with_visibility(text: str, queue: str, seconds: int) -> str:
    """The template with another visibility timeout of a queue; empty if it cannot be derived."""
    try:
        template = WrittenTemplate(text)
        if not _is_written_by_hand(template.root):
            return ""
        path = ("Resources", queue, "Properties")
        edit = template.with_member(path, "VisibilityTimeout", seconds)
        if template.value(*path) is None:
            edit = template.with_member(path[:-1], "Properties", {"VisibilityTimeout": seconds})
        return template.edited(_all(edit)) if edit is not None else ""
    except (TemplateError, yaml.YAMLError):
        return ""


def _is_written_by_hand(root: Mapping[str, Node]) -> bool:
    """Whether a person edits this file: not what the CDK has made, and no plan or service of other tools."""
    resources = list(resources_of(root))
    metadata = [one.get("Metadata") for _, one in resources]
    return bool(resources) and not any(isinstance(one, dict) and _CDK in one for one in metadata)


def _read(declared: Declared) -> list[Edit]:
    """The mapping reads which messages have failed."""
    mapping = declared.mapping()
    if mapping is None:
        return []
    known = items_of(declared.template.value(*mapping[0], "FunctionResponseTypes"))
    value: Node = [*known, REPORT_BATCH_ITEM_FAILURES]
    return _all(declared.template.with_member(mapping[0], "FunctionResponseTypes", value))


def _kept(declared: Declared) -> list[Edit]:
    """Dead letters are kept for as long as SQS keeps anything."""
    edits = []
    for name in dict.fromkeys(declared.letters()):
        properties = declared.template.value("Resources", name, "Properties")
        if declared.template.value("Resources", name, "Type") != _QUEUE:
            continue
        if not isinstance(properties, dict):
            made: Node = {"MessageRetentionPeriod": RETENTION_S}
            edits += _all(declared.template.with_member(("Resources", name), "Properties", made))
        elif properties.get("MessageRetentionPeriod") != RETENTION_S:
            path = ("Resources", name, "Properties")
            edits += _all(declared.template.with_member(path, "MessageRetentionPeriod", RETENTION_S))
    return edits


def _given_letters(declared: Declared) -> list[Edit]:
    """What Lambda gives up goes to a queue."""
    arn, added = declared.letters_queue()
    if declared.kind.is_stream:
        return _with_destination(declared, arn, added)
    if declared.is_sam:
        value: Node = {"Type": "SQS", "TargetArn": arn}
        return _both(added, declared.template.with_member(declared.properties, "DeadLetterQueue", value))
    return _both(added, declared.template.with_member(declared.properties, "DeadLetterConfig", {"TargetArn": arn}))


def _with_destination(declared: Declared, arn: Node, added: list[Edit], *more: tuple[str, Node]) -> list[Edit]:
    mapping = declared.mapping()
    if mapping is None:
        return []
    path = mapping[0]
    is_event = "Events" in path
    destination: Node = {"Type": "SQS", "Destination": arn} if is_event else {"Destination": arn}
    edit = declared.template.with_member(path, "DestinationConfig", {"OnFailure": destination})
    others = [
        found for name, value in more
        if declared.template.value(*path, name) is None
        and (found := declared.template.with_member(path, name, value)) is not None
    ]  # fmt: skip
    return [*_both(added, edit), *others] if edit is not None else []


def _brought_to_rest(declared: Declared) -> list[Edit]:
    """What cannot be worked on comes to rest: after some receives, or some retries."""
    arn, added = declared.letters_queue()
    if declared.kind.is_stream:
        more: tuple[tuple[str, Node], ...] = (
            ("MaximumRetryAttempts", _RETRIES), ("BisectBatchOnFunctionError", True)
        )  # fmt: skip
        return _with_destination(declared, arn, added, *more)
    mapping = declared.mapping()
    sources = mapping[1] if mapping is not None else []
    if len(sources) != 1 or declared.template.value("Resources", sources[0], "Properties", "RedrivePolicy"):
        return []
    policy: Node = {"deadLetterTargetArn": arn, "maxReceiveCount": _RECEIVES}
    if declared.template.value("Resources", sources[0], "Properties") is None:
        return _both(
            added, declared.template.with_member(("Resources", sources[0]), "Properties", {"RedrivePolicy": policy})
        )
    path = ("Resources", sources[0], "Properties")
    return _both(added, declared.template.with_member(path, "RedrivePolicy", policy))


def _lasting(declared: Declared) -> list[Edit]:
    """A variable of the function that says how long a record lasts: the only one with that duration."""
    seconds = int(declared.details["seconds"])
    found = []
    for path in (declared.properties, ("Globals", "Function")):
        variables = declared.template.value(*path, "Environment", "Variables")
        for name, value in variables.items() if isinstance(variables, dict) else ():
            unit = next((length for word, length in _UNITS_S.items() if name.upper().endswith(word)), 1)
            if str(value).isdigit() and int(str(value)) * unit == seconds:
                found.append(((*path, "Environment", "Variables"), name, str(RECORD_S // unit)))
    if len(found) != 1:
        return []
    ((place, name, value),) = found
    return _all(declared.template.with_member(place, name, value))


def _all(edit: Edit | None) -> list[Edit]:
    return [] if edit is None else [edit]


def _both(added: list[Edit], edit: Edit | None) -> list[Edit]:
    """What is added to the resources, and the edit that names it: a member that ends there stands before it."""
    return [] if edit is None else [*added, edit]


_MAKERS: Mapping[Cause, Callable[[Declared], list[Edit]]] = {
    Cause.UNREAD_RESPONSE: _read,
    Cause.LETTERS_EXPIRED: _kept,
    Cause.GIVEN_UP: _given_letters,
    Cause.ENDLESS: _brought_to_rest,
    Cause.RECORD_EXPIRES: _lasting,
}
