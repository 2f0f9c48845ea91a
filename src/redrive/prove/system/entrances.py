"""Where an event comes into a system: what sends to it from outside, in a stated order.

The order: schedules, rules, buckets, queues, topics, streams, functions that an API calls, functions that nothing of
the template calls. A queue or a topic that a function of the template knows by a variable is no entrance: that function
sends to it. Nor is a rule with a source of its own, where some function puts events.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from redrive.core.documents import Document
from redrive.core.errors import ServiceError, UserError
from redrive.prove.guess.reading import own_files
from redrive.prove.stage.stage import Stage
from redrive.prove.stage.trigger import Kind
from redrive.prove.system.parts import Part
from redrive.prove.system.wiring import Rule, Wiring

_API = "apigateway.amazonaws.com"
_OF_BUCKETS = "aws.s3"
_PUTS_EVENTS = ("put_events", "PutEvents")


class Way(enum.Enum):
    """How an event comes in."""

    SCHEDULE = "schedule"
    RULE = "rule"
    BUCKET = "bucket"
    QUEUE = "queue"
    TOPIC = "topic"
    STREAM = "stream"
    TABLE = "table"
    API = "API"
    FUNCTION = "function"


KINDS: Mapping[Way, Kind] = {
    Way.SCHEDULE: Kind.LAMBDA, Way.RULE: Kind.EVENTBRIDGE, Way.BUCKET: Kind.S3, Way.QUEUE: Kind.SQS,
    Way.TOPIC: Kind.LAMBDA, Way.STREAM: Kind.KINESIS, Way.TABLE: Kind.DYNAMODB, Way.API: Kind.LAMBDA,
    Way.FUNCTION: Kind.LAMBDA,
}  # fmt: skip
"""As what kind of trigger an entrance counts: how late a duplicate comes, and how its event is written."""


@dataclass(frozen=True, slots=True)
class Entrance:
    """One of them. `name` is a logical id; `place` is what is sent to: an ARN, or the name of a bucket.

    `document` is the schedule or the target of a rule's schedule; `rule` is the rule, `functions` are the physical
    names of the functions that its event reaches first.
    """

    way: Way
    name: str
    place: str
    functions: tuple[str, ...]
    document: Document = field(default_factory=dict)
    rule: Rule | None = None

    @property
    def told(self) -> str:
        """`the queue Orders`, for the user."""
        named = {Way.API: "the API's function", Way.FUNCTION: "the function", Way.TABLE: "the stream of the table"}
        return f"{named.get(self.way, f'the {self.way.value}')} {self.name}"


class Names:
    """The logical ids of what a template has made."""

    def __init__(self, resources: Sequence[Document]) -> None:
        self.by_physical = {_word(str(one["PhysicalResourceId"])): str(one["LogicalResourceId"]) for one in resources}

    def __getitem__(self, place: str) -> str:
        """The logical id of an ARN, a URL or a name; its own last word for what the template has not made."""
        return self.by_physical.get(_word(place)) or _word(place)

    def of_rule(self, rule: Rule) -> str:
        """The logical id of a rule."""
        return self.by_physical.get(f"{rule.bus}|{rule.name}") or self[rule.name]


def _word(place: str) -> str:
    """The name in an ARN or in the URL of a queue; of anything else, the thing itself."""
    if place.startswith(("https://", "http://")):
        return place.rpartition("/")[2]
    return place.rpartition(":")[2].rpartition("/")[2] if place.startswith("arn:") else place


def entrances(stage: Stage, wiring: Wiring, names: Names) -> list[Entrance]:
    """All entrances, in order. Where every place is fed by a function, what feeds functions is taken in order."""
    finder = _Finder(stage, wiring, names)
    found = list(finder.found(are_fed=False))
    return found or list(finder.found(are_fed=True))


def chosen(found: Sequence[Entrance], name: str | None, names: Names) -> Entrance:
    """The first entrance, or the one with this name. Errors: UserError."""
    if not found:
        raise UserError(
            "The template has no function with Python code that anything could reach.", exit_code=2,
            next_step="A proof of a system runs functions whose code is in the template or lies beside it.",
        )  # fmt: skip
    if name is None:
        return found[0]
    named = [one for one in found if name in (one.name, names[one.name])]
    ending = [one for one in found if one.name.endswith(name)]
    if not (named or ending):
        raise UserError(
            f"{name} is no entrance of the system.",
            next_step=f"Its entrances are {', '.join(one.name for one in found)}.", exit_code=2,
        )  # fmt: skip
    return (named or ending)[0]


@dataclass(frozen=True, slots=True)
class _Finder:
    stage: Stage
    wiring: Wiring
    names: Names

    def found(self, *, are_fed: bool) -> Iterator[Entrance]:
        """In order. With `are_fed`, also what functions of the system feed."""
        yield from self._schedules()
        yield from self._rules(are_fed=are_fed)
        yield from self._buckets(are_fed=are_fed)
        for arn in self.wiring.queues:
            if are_fed or not self._is_sent_to(arn):
                yield self._entrance(Way.QUEUE, arn)
        for arn in self.wiring.topics:
            if any(self.wiring.fed_by(arn)) and (are_fed or not self._is_sent_to(arn)):
                yield self._entrance(Way.TOPIC, arn)
        for arn in dict.fromkeys(str(one["EventSourceArn"]).partition("/consumer/")[0] for one in self.wiring.streams):
            if are_fed or not self._is_sent_to(arn):
                yield self._entrance(Way.STREAM if ":kinesis:" in arn else Way.TABLE, arn)
        yield from self._functions()

    def _schedules(self) -> Iterator[Entrance]:
        for schedule in self.wiring.schedules:
            arn = str(schedule["Target"]["Arn"])
            reached = tuple(dict.fromkeys(self.wiring.fed_by(arn)))
            if reached:
                yield Entrance(Way.SCHEDULE, self.names[str(schedule["Name"])], arn, reached, schedule)
        for rule in self.wiring.rules:
            for target in rule.targets if "ScheduleExpression" in rule.document else ():
                reached = tuple(dict.fromkeys(self.wiring.fed_by(str(target["Arn"]))))
                if reached:
                    yield Entrance(Way.SCHEDULE, self._rule_name(rule), str(target["Arn"]), reached, target, rule)

    def _rules(self, *, are_fed: bool) -> Iterator[Entrance]:
        for rule in self.wiring.rules:
            reached = self._reached_by(rule)
            if rule.pattern is None or not reached or (_sources(rule) == [_OF_BUCKETS] and self._told_buckets()):
                continue
            is_own = not any(source.startswith("aws.") for source in _sources(rule))
            if are_fed or not (is_own and any(map(_puts_events, self.wiring.parts.taking_part.values()))):
                yield Entrance(Way.RULE, self._rule_name(rule), rule.bus, reached, rule=rule)

    def _buckets(self, *, are_fed: bool) -> Iterator[Entrance]:
        for bucket in self.wiring.buckets:
            reached = tuple(dict.fromkeys(self._fed_by_bucket(bucket)))
            if reached and (are_fed or not self._is_sent_to(bucket, reached)):
                yield Entrance(Way.BUCKET, self.names[bucket], bucket, reached, self.wiring.buckets[bucket])

    def _functions(self) -> Iterator[Entrance]:
        fed = self._fed()
        for by_api in (True, False):
            for part in self.wiring.parts.taking_part.values():
                if self._is_api(part) is by_api and (by_api or part.function_name not in fed):
                    way = Way.API if by_api else Way.FUNCTION
                    yield Entrance(way, part.name, part.function_arn, (part.function_name,))

    def _entrance(self, way: Way, arn: str) -> Entrance:
        name = self.names[arn.split("/")[1] if way is Way.TABLE else arn]
        return Entrance(way, name, arn, tuple(dict.fromkeys(self.wiring.fed_by(arn))))

    def _is_sent_to(self, place: str, consumers: Sequence[str] = ()) -> bool:
        """Whether something of the template sends there: a schedule, a rule, a topic, a bucket, a queue its dead
        letters, or a function that has the place in a variable or in its code, and is not fed by it.
        """
        targets = [str(target["Arn"]) for rule in self.wiring.rules for target in rule.targets]
        targets += [str(schedule["Target"]["Arn"]) for schedule in self.wiring.schedules]
        targets += [str(one["Endpoint"]) for several in self.wiring.topics.values() for one in several]
        targets += [arn for configuration in self.wiring.buckets.values() for arn in _destinations(configuration)]
        if place in targets or place in self.wiring.dead_letters.values():
            return True
        word = place.split("/")[1] if ":table/" in place else _word(place)
        fed = set(consumers) or set(self.wiring.fed_by(place))
        return any(
            any(word in map(_word, value.replace(",", " ").split()) for value in part.environment.values())
            or _names(part, word)
            for part in self.wiring.parts.taking_part.values()
            if part.function_name not in fed
        )

    def _fed_by_bucket(self, bucket: str) -> Iterator[str]:
        configuration = self.wiring.buckets[bucket]
        for arn in _destinations(configuration):
            yield from self.wiring.fed_by(arn)
        if "EventBridgeConfiguration" in configuration:
            for rule in self.wiring.rules:
                if _OF_BUCKETS in _sources(rule) and _names_bucket(rule, bucket):
                    yield from self._reached_by(rule)

    def _told_buckets(self) -> bool:
        return any("EventBridgeConfiguration" in configuration for configuration in self.wiring.buckets.values())

    def _reached_by(self, rule: Rule) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for one in rule.targets for name in self.wiring.fed_by(str(one["Arn"]))))

    def _fed(self) -> set[str]:
        """The functions that something of the template reaches, functions of the system among them."""
        fed = {name for rule in self.wiring.rules for name in self._reached_by(rule)}
        fed |= {name for one in self.wiring.schedules for name in self.wiring.fed_by(str(one["Target"]["Arn"]))}
        fed |= {name for arn in self.wiring.topics for name in self.wiring.fed_by(arn)}
        fed |= {str(one["FunctionArn"]).split(":")[6] for one in self.wiring.fed}
        fed |= {name for bucket in self.wiring.buckets for name in self._fed_by_bucket(bucket)}
        for part in self.wiring.parts.taking_part.values():
            callers = [one for one in self.wiring.parts.taking_part.values() if one is not part]
            words = {_word(value) for one in callers for value in one.environment.values()}
            fed |= {part.function_name} & words
        return fed

    def _is_api(self, part: Part) -> bool:
        try:
            policy = self.stage.call("lambda", "GetPolicy", FunctionName=part.function_name)["Policy"]
        except ServiceError:
            return False
        principals = [one.get("Principal", {}) for one in json.loads(policy)["Statement"]]
        return any(isinstance(one, dict) and one.get("Service") == _API for one in principals)

    def _rule_name(self, rule: Rule) -> str:
        return self.names.of_rule(rule)


def _sources(rule: Rule) -> list[str]:
    """The sources that a rule's pattern names."""
    pattern = json.loads(rule.document.get("EventPattern", "{}"))
    found = pattern.get("source", []) if isinstance(pattern, dict) else []
    return [str(one) for one in found]


def _names_bucket(rule: Rule, bucket: str) -> bool:
    """Whether a rule's pattern takes events of a bucket: it names that one, or none."""
    pattern = json.loads(rule.document["EventPattern"])
    named = pattern.get("detail", {}).get("bucket", {}).get("name") if isinstance(pattern, dict) else None
    return named is None or bucket in named


def _destinations(configuration: Document) -> list[str]:
    """The ARNs that a bucket's notifications go to."""
    members = {
        "QueueConfigurations": "QueueArn", "TopicConfigurations": "TopicArn",
        "LambdaFunctionConfigurations": "LambdaFunctionArn",
    }  # fmt: skip
    return [str(one[arn]) for name, arn in members.items() for one in configuration.get(name, [])]


def _puts_events(part: Part) -> bool:
    """Whether the code of a function puts events on a bus."""
    return any(word in text for text in _texts(part) for word in _PUTS_EVENTS)


def _names(part: Part, word: str) -> bool:
    """Whether the code of a function has a name as a text of its own, as in `table = "orders"`."""
    spelt = (f'"{word}"', f"'{word}'", f"/{word}'", f'/{word}"')
    return any(one in text for text in _texts(part) for one in spelt)


def _texts(part: Part) -> Iterator[str]:
    """The source of a function, file by file."""
    return (file.read_text("utf-8", errors="replace") for file in own_files(part.subject.file) if file.is_file())
