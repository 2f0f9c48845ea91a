"""The plan of a run: a file that people read and edit. It says for each cause what is done with its letters.

    {"redrive_plan": 1, "queue": URL, "made_at": …, "by": "letters", "why": …, "logs": false, "rate": null,
     "canary": {…}, "stop": {…},
     "repairs": [],
     "groups": [{"letters": 120, "cause": {…}, "action": "redrive", "to": "usual", "key": "", "patch": [], …}]}

Letters whose cause no group has stay in the queue: they came after the plan was made, or the plan leaves them out.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any

import jsonpatch
import jsonpointer

from redrive.core.clock import Instant, format_instant
from redrive.core.documents import Document, load_json
from redrive.core.errors import UserError
from redrive.deadletters.causes import Cause, Remedy
from redrive.deadletters.destinations import Destination, read_destination
from redrive.deadletters.execution_keys import compiled
from redrive.deadletters.letter import Letter, Origin
from redrive.deadletters.repairs import Found, Repair, read_repair
from redrive.deadletters.triage import Group

FORMAT = 1
USUAL = "usual"

CANARY_LETTERS = 1
WATCH_S = 60
ERRORS_MAX = 10
THROTTLES_MAX = 100
COME_BACK_MAX = 10


_MEMBERS = frozenset(
    {"redrive_plan", "queue", "made_at", "by", "why", "logs", "rate", "rate_max", "canary", "stop", "repairs", "groups"}
)  # fmt: skip


class MalformedPlan(ValueError):
    """A text that is no plan; the error says where and why."""


class Action(enum.Enum):
    """What is done with the letters of a cause."""

    REDRIVE = "redrive"
    DISCARD = "discard"
    LEAVE = "leave"


class By(enum.Enum):
    """Who moves the letters."""

    LETTERS = "letters"
    """The run, one after the other, under the gates."""
    MOVE_TASK = "move task"
    """SQS, all at once: where that is exactly what the plan says (moving.py)."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What is done with the letters of one cause. `to` is None for the destination that follows from each letter."""

    cause: Cause
    action: Action
    to: Destination | None = None
    patch: tuple[Document, ...] = ()
    reason: str = ""
    """Why letters are discarded."""
    letters: int = 0
    """How many there were when the plan was made."""
    note: str = ""
    key: str = ""
    """Where the key of an execution is in the work, in JMESPath; the same for all groups of a source."""

    def text_of(self, letter: Letter) -> str:
        """The text that is sent for a letter. Errors: ValueError if the patch does not fit."""
        if not self.patch:
            return letter.work.text
        try:
            patched = jsonpatch.apply_patch(load_json(letter.work.text), list(self.patch))
        except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException) as error:
            raise ValueError(f"the patch does not fit: {error}") from error
        return json.dumps(patched, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Canary:
    """How many letters of each group go first, and for how long their return is watched. 0 letters: no canary."""

    letters: int = CANARY_LETTERS
    watch_s: int = WATCH_S


@dataclass(frozen=True, slots=True)
class Stop:
    """When a run stops by itself."""

    errors: int = ERRORS_MAX
    """So many letters were refused, or their answer was lost."""
    throttles: int = THROTTLES_MAX
    came_back: int = COME_BACK_MAX
    """So many letters that were sent have failed again, and come back to the queue."""
    age_s: int | None = None
    """Letters that are older stay."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run does."""

    queue: str
    """The URL."""
    rules: tuple[Rule, ...]
    made_at: str = ""
    rate: float | None = None
    """Letters per second at first. It doubles while nothing goes wrong, up to `rate_max`. None: as fast as it goes."""
    rate_max: float | None = None
    canary: Canary = field(default_factory=Canary)
    stop: Stop = field(default_factory=Stop)
    by: By = By.LETTERS
    why: str = ""
    """Why it is by letters, or by a task, when the plan was made."""
    logs: bool = False
    """Whether causes come from logs where letters hold no error: the run has to ask the same logs."""

    repairs: tuple[Repair, ...] = ()
    """What is mended before the first letter is sent, if the user says so."""

    @property
    def keys(self) -> dict[str, str]:
        """The expressions of the keys, by the ARN of the source."""
        return {rule.cause.source_arn: rule.key for rule in self.rules if rule.key}

    def rule_of(self, cause: Cause) -> Rule | None:
        """The rule for a cause. Equal causes are rare: the last rule is the rule for all."""
        return next((rule for rule in self.rules if rule.cause == cause), None)


def proposed(queue_url: str, groups: Sequence[Group], now: Instant, *, logs: bool = False) -> Plan:
    """The plan that follows from a triage: what needs no fix is redriven, the rest stays until somebody decides."""
    rules = []
    for group in groups:
        judged = group.judgement
        action = Action.REDRIVE if judged.remedy in {Remedy.REDRIVE, Remedy.SLOWLY} else Action.LEAVE
        note = f"{judged.kind.value}: {judged.advice}"
        rules.append(Rule(group.cause, action, letters=group.count, note=note))
    is_slow = any(group.judgement.remedy is Remedy.SLOWLY for group in groups)
    slow = {"rate": 5.0, "rate_max": 100.0} if is_slow else {"rate": None, "rate_max": None}
    return Plan(queue_url, tuple(rules), format_instant(now), **slow, logs=logs)


def repairing(plan: Plan, found: Sequence[Found]) -> Plan:
    """A plan with repairs: the letters that can go back once these are done are redriven."""
    mended = {cause for one in found for cause in one.mends}
    rules = tuple(replace(rule, action=Action.REDRIVE) if rule.cause in mended else rule for rule in plan.rules)
    return replace(plan, rules=rules, repairs=tuple(one.repair for one in found))


def plan_document(plan: Plan) -> Document:
    """A plan as JSON."""
    return {
        "redrive_plan": FORMAT,
        "queue": plan.queue,
        "made_at": plan.made_at,
        "by": plan.by.value,
        "why": plan.why,
        "logs": plan.logs,
        "rate": plan.rate,
        "rate_max": plan.rate_max,
        "canary": {"letters": plan.canary.letters, "watch_s": plan.canary.watch_s},
        "stop": {
            "errors": plan.stop.errors, "throttles": plan.stop.throttles, "came_back": plan.stop.came_back,
            "age_s": plan.stop.age_s,
        },
        "repairs": [one.document | {"note": one.deed} for one in plan.repairs],
        "groups": [_rule_document(rule) for rule in plan.rules],
    }  # fmt: skip


def read_plan(text: str) -> Plan:
    """Read a plan. Errors: MalformedPlan."""
    try:
        told = load_json(text)
    except ValueError as error:
        raise MalformedPlan(f"it is no JSON: {error}") from error
    if not isinstance(told, dict) or told.get("redrive_plan") != FORMAT:
        raise MalformedPlan(f"it is no plan: `redrive_plan` is not {FORMAT}")
    _only(told, _MEMBERS, "the plan")
    groups = told.get("groups")
    if not isinstance(groups, list) or not isinstance(told.get("queue"), str):
        raise MalformedPlan("it needs `queue`, a URL, and `groups`, a list")
    rules = tuple(_read_rule(group, f"group {number}") for number, group in enumerate(groups, 1))
    for number, rule in enumerate(rules):
        if any(rule.cause == other.cause for other in rules[:number]):
            raise MalformedPlan(f"group {number + 1} has the cause of another group")
        _check_key(number + 1, rule, rules[:number])
    by = next((one for one in By if one.value == told.get("by", By.LETTERS.value)), None)
    if by is None:
        raise MalformedPlan("`by` is letters or move task")
    canary, stop = _part(told, "canary"), _part(told, "stop")
    _only(canary, {"letters", "watch_s"}, "`canary`")
    _only(stop, {"errors", "throttles", "came_back", "age_s"}, "`stop`")
    return Plan(
        told["queue"], rules, str(told.get("made_at", "")), _rate(told, "rate"), _rate(told, "rate_max"),
        Canary(_count(canary, "letters", CANARY_LETTERS), _count(canary, "watch_s", WATCH_S)),
        Stop(
            _count(stop, "errors", ERRORS_MAX), _count(stop, "throttles", THROTTLES_MAX),
            _count(stop, "came_back", COME_BACK_MAX),
            None if stop.get("age_s") is None else _count(stop, "age_s", 0),
        ),
        by, str(told.get("why") or ""), _flag(told, "logs"), _repairs(told),
    )  # fmt: skip


def _repairs(told: Document) -> tuple[Repair, ...]:
    given = told.get("repairs", [])
    if not isinstance(given, list):
        raise MalformedPlan("`repairs` is no list")
    try:
        return tuple(read_repair(one) for one in given)
    except ValueError as error:
        raise MalformedPlan(str(error)) from error


def _rule_document(rule: Rule) -> Document:
    cause = rule.cause
    return {
        "letters": rule.letters,
        "note": rule.note,
        "cause": {
            "origin": cause.origin.value, "source": cause.source_arn, "code": cause.code, "message": cause.message,
            "place": cause.place,
        },
        "action": rule.action.value,
        "to": USUAL if rule.to is None else rule.to.text,
        "key": rule.key,
        "patch": list(rule.patch),
        "reason": rule.reason,
    }  # fmt: skip


def _read_rule(told: object, where: str) -> Rule:
    if not isinstance(told, dict):
        raise MalformedPlan(f"{where} is no object")
    _only(told, {"letters", "note", "cause", "action", "to", "key", "patch", "reason"}, where)
    cause = _part(told, "cause")
    _only(cause, {"origin", "source", "code", "message", "place"}, f"`cause` of {where}")
    action = next((one for one in Action if one.value == told.get("action")), None)
    origin = next((one for one in Origin if one.value == cause.get("origin")), None)
    if action is None or origin is None:
        raise MalformedPlan(f"{where} needs `action` (redrive, discard or leave) and the `origin` of its cause")
    if action is Action.DISCARD and not told.get("reason"):
        raise MalformedPlan(f"{where} discards letters: it needs a `reason`")
    to = str(told.get("to") or USUAL)
    try:
        destination = None if to == USUAL else read_destination(to)
        patch = jsonpatch.JsonPatch(told.get("patch") or [])
    except (ValueError, TypeError, jsonpatch.JsonPatchException, jsonpointer.JsonPointerException) as error:
        raise MalformedPlan(f"{where}: {error}") from error
    source, code, message, place = (str(cause.get(name) or "") for name in ("source", "code", "message", "place"))
    return Rule(
        Cause(origin, source, code, message, place), action, destination, tuple(patch.patch),
        str(told.get("reason") or ""), _count(told, "letters", 0), str(told.get("note") or ""),
        str(told.get("key") or ""),
    )  # fmt: skip


def _check_key(number: int, rule: Rule, before: Sequence[Rule]) -> None:
    """Refuse a key that is not JMESPath, or that differs from the key of the same source in another group."""
    if not rule.key:
        return
    try:
        compiled(rule.key)
    except UserError as error:
        raise MalformedPlan(f"group {number}: {error}") from error
    arn = rule.cause.source_arn
    if any(other.cause.source_arn == arn and other.key not in {"", rule.key} for other in before):
        raise MalformedPlan(f"group {number} has another `key` than an earlier group of {arn}: a source has one")


def _only(told: Document, names: AbstractSet[str], where: str) -> None:
    """Refuse names that nobody reads: a misspelled `patch` would send letters as they are."""
    unknown = sorted(set(told) - names)
    if unknown:
        raise MalformedPlan(f"{where} has `{unknown[0]}`, which has no meaning; known are {', '.join(sorted(names))}")


def _part(told: Document, name: str) -> Document:
    part: Any = told.get(name, {})
    if not isinstance(part, dict):
        raise MalformedPlan(f"`{name}` is no object")
    return part


def _count(told: Document, name: str, usual: int) -> int:
    value = told.get(name, usual)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise MalformedPlan(f"`{name}` is no number of 0 or more")
    return value


def _flag(told: Document, name: str) -> bool:
    value = told.get(name, False)
    if not isinstance(value, bool):
        raise MalformedPlan(f"`{name}` is true or false")
    return value


def _rate(told: Document, name: str) -> float | None:
    value = told.get(name)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
        raise MalformedPlan(f"`{name}` is no number above 0")
    return float(value)
