"""A proof of a whole system: all functions of a template, one event in, and the sum at the end."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from redrive.core.clock import DAY_MS, SECOND_MS
from redrive.core.documents import Document, dump_json
from redrive.core.errors import Bug, UserError
from redrive.delivery.outside.invocation import Invocation, InvocationResult, InvocationStatus
from redrive.delivery.sources.targets import queue_url
from redrive.prove.calls.calls import parts_of
from redrive.prove.calls.given import Given, GivenAnswer
from redrive.prove.effects.journal import Journal
from redrive.prove.guess.variables import guessed_value, is_of_aws
from redrive.prove.making import guessed_answers
from redrive.prove.play.events import Called, Delivered, Event
from redrive.prove.play.faults import History
from redrive.prove.play.performance import Performance
from redrive.prove.play.transport import Short
from redrive.prove.process.clients import remembered_clients
from redrive.prove.process.exchange import HttpAnswer
from redrive.prove.process.surroundings import is_set
from redrive.prove.proving import replayed_in, searched_in
from redrive.prove.search.clean import Clean, play_clean
from redrive.prove.search.draws import DRAWS_LOOKED_AT, Draws, draw_of, draws_of
from redrive.prove.search.options import DEFAULTS, Options
from redrive.prove.search.order import Progress
from redrive.prove.search.reasons import ChangesNothing
from redrive.prove.stage.deployed import STACK, deploy
from redrive.prove.stage.positions import skip_to_end
from redrive.prove.stage.records import put_old_images, table_of
from redrive.prove.stage.stage import SCOPE, START, Stage
from redrive.prove.stage.streams import RECORDS_KEPT_MS
from redrive.prove.stage.tape import Saved
from redrive.prove.stage.trigger import RETENTION_S, Trigger, with_messages
from redrive.prove.system.advice import advice_for_system
from redrive.prove.system.entrances import KINDS, Entrance, Names, Way, chosen, entrances
from redrive.prove.system.incoming import Incoming, incoming
from redrive.prove.system.messages import Circuit
from redrive.prove.system.parts import Part, Parts, functions_of
from redrive.prove.system.performance import SystemPerformance
from redrive.prove.system.search import SystemSearch
from redrive.prove.system.wiring import Wiring, cut_off, on_failure, queue_attribute, read_wiring
from redrive.prove.tell.verdict import Counterexample, Verdict
from redrive.prove.world import World, left_in_another, unanswerable_told

CLEAN_RUNS_MAX = 100
"""More runs than this in which nothing goes wrong, and there is still something on its way: the system is a circle."""
RETRIES_MAX = 2
CLIENTS = "redrive-clients"
"""The queue that stands for the callers of an API: whoever was told of an error may ask again."""
_FUNCTION = "AWS::Lambda::Function"
_LETTERS_POLICY = "redrive-clients"


def prove_system(
    options: Options, *, progress: Progress = lambda *_: None, may_go_on: Callable[[], bool] = lambda: True
) -> Verdict:
    """Search the histories of a template's functions together for one that breaks a rule.

    Errors: UserError as in `prove`.
    """
    with _prepared(options) as world:
        return searched_in(world, options, progress=progress, may_go_on=may_go_on)


def entrances_of(options: Options) -> list[Entrance]:
    """Where events come into a system, in the order in which they are chosen. Errors: UserError."""
    if options.template is None:
        raise Bug("a system without a template")
    with contextlib.ExitStack() as stack:
        unpacked = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="redrive-prove-")))
        stage = Stage(_NoInvoker(), seed=options.seed)
        stack.callback(stage.close)
        deployed = _deployed(stage, options.template, options, unpacked)
        chosen(deployed.entrances, None, deployed.names)
        return list(deployed.entrances)


def replay_system(history: History, options: Options = DEFAULTS) -> Counterexample | None:
    """Play one history of a system through the whole wire: the violation, or None if it breaks no rule any more.

    Errors: UserError as in `replay`.
    """
    with _prepared(options) as world:
        return replayed_in(world, history, options)


@dataclass(frozen=True, slots=True)
class _Deployed:
    """What is known of a template after its deployment."""

    parts: Parts
    wiring: Wiring
    names: Names
    entrances: tuple[Entrance, ...]
    guesses: Mapping[str, str]


@contextmanager
def _prepared(options: Options) -> Iterator[World]:
    """Deploy the template, choose where the event comes in, and play the system once without faults."""
    if options.template is None:
        raise Bug("a system without a template")
    with contextlib.ExitStack() as stack:
        stack.enter_context(unanswerable_told())
        stack.enter_context(remembered_clients())
        unpacked = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="redrive-prove-")))
        stage = Stage(_NoInvoker(), seed=options.seed)
        stack.callback(stage.close)
        deployed = _deployed(stage, options.template, options, unpacked)
        entrance = chosen(deployed.entrances, options.entrance or options.rule, deployed.names)
        clients = _with_clients(stage, deployed.parts[entrance.functions[0]]) if entrance.way is Way.API else ""
        came = incoming(stage, entrance, deployed.parts, options.bodies)
        wiring = _ready(stage, replace(deployed.wiring, parts=_parts_again(stage, deployed.parts)), entrance, came)
        circuit = Circuit(wiring, entrance, deployed.names, clients)
        trigger = _trigger(stage, circuit, came, {**deployed.guesses, **came.guesses})
        options.told_events(trigger.bodies)
        saved = stage.save()

        def performing(given: Given) -> Callable[[int], Performance]:
            return lambda seed: SystemPerformance(circuit, seed=seed, given=given, is_warm=options.warm)

        performed = performing(options.given)
        try:
            made_up = _played_once(performed(options.seed), trigger, saved, circuit)
        except UserError:
            given, told = _answers(options, deployed.parts)
            if given == options.given:
                raise
            performed = performing(given)
            made_up = {**told, **_played_once(performed(options.seed), trigger, saved, circuit)}
        draws = _draws(performed, trigger, saved, options.seed)
        elsewhere = left_in_another(performed, trigger, saved, options.seed)
        yield World(
            options.template.name, trigger, saved, {**trigger.guesses, **made_up}, options.seed, elsewhere,
            draws, performed, search=SystemSearch, advice=advice_for_system,
            told=lambda performance, clean: _told(deployed, entrance, performance.journal, clean),
            roots=[folder for part in deployed.parts.taking_part.values() for folder in part.subject.places],
        )  # fmt: skip


def _played_once(
    performance: Performance, trigger: Trigger, saved: Saved, circuit: Circuit
) -> Mapping[str, str]:  # fmt: skip
    """What was made up while the system was played once. Errors: as of `_play_clean`."""
    with contextlib.closing(performance):
        performance.stage.load(saved)
        performance.begin(trigger)
        with performance.entered(Short(performance.stage)):
            _play_clean(performance, circuit)
        return performance.made_up


def _answers(options: Options, parts: Parts) -> tuple[Given, Mapping[str, str]]:
    """The answers of others with which each function comes through by itself, in one document for all requests."""
    given = options.given
    body: Document = {}
    told: dict[str, str] = {}
    for part in parts.taking_part.values():
        single = replace(options, is_system=False, entrance=None, rule=None, bodies=None, function=part.name)
        with contextlib.suppress(UserError):
            found = guessed_answers(replace(single, told_events=lambda _: None))
            body |= found.over_http
            given = replace(given, replies=(*given.replies, *found.of_services))
            told |= found.guesses
    if body:
        text = dump_json(body)
        given = replace(given, http=(*given.http, GivenAnswer("*", HttpAnswer(body=text.encode()))))
        told.setdefault("answers over HTTP", f"{text} (--given FILE says another one)")
    return given, told


def _draws(performed: Callable[[int], Performance], trigger: Trigger, saved: Saved, seed: int) -> Draws:
    """How what the system does differs with what its functions draw."""
    draws = []
    for one in range(seed, seed + DRAWS_LOOKED_AT):
        with contextlib.closing(performed(one)) as performance:
            performance.stage.load(saved)
            performance.begin(trigger)
            with performance.entered(Short(performance.stage)):
                draw = draw_of(performance, one, play_clean)
        draws += [] if draw is None else [draw]
    return draws_of(draws) if draws else Draws((seed,))


def _deployed(stage: Stage, template: Path, options: Options, unpacked: Path) -> _Deployed:
    deployed = deploy(stage, template, options.parameters)
    resources = stage.call("cloudformation", "DescribeStackResources", StackName=STACK)["StackResources"]
    names = Names(resources)
    functions = {
        str(one["PhysicalResourceId"]): str(one["LogicalResourceId"])
        for one in resources
        if one["ResourceType"] == _FUNCTION
    }
    parts, missing = _with_variables(functions_of(stage, deployed, functions, unpacked))
    wiring = read_wiring(stage, parts)
    return _Deployed(parts, wiring, names, tuple(entrances(stage, wiring, names)), {**deployed.guesses, **missing})


def _with_variables(parts: Parts) -> tuple[Parts, Mapping[str, str]]:
    """The functions with a guess at each variable that their code reads and nobody has set."""
    told: dict[str, str] = {}
    found: dict[str, Part] = {}
    for name, part in parts.taking_part.items():
        places = {
            variable: place
            for variable, place in part.reading.variables.items()
            if variable not in part.environment and not is_of_aws(variable) and not is_set(variable)
        }
        found[name] = replace(part, variables={variable: guessed_value(variable) for variable in places})
        told |= {
            f"variable {variable} of {part.name}": f"{guessed_value(variable)!r}, because {place} reads it"
            for variable, place in places.items()
        }
    return replace(parts, taking_part=found), told


def _parts_again(stage: Stage, parts: Parts) -> Parts:
    """The functions with their settings as they are now."""
    found = {
        name: replace(part, function=stage.call("lambda", "GetFunctionConfiguration", FunctionName=name))
        for name, part in parts.taking_part.items()
    }
    return replace(parts, taking_part=found)


def _with_clients(stage: Stage, part: Part) -> str:
    """Have the callers of an API's function keep a request that is answered with an error; returns their queue's ARN.

    A function that has dead letters of its own keeps them.
    """
    if part.function.get("DeadLetterConfig", {}).get("TargetArn") or on_failure(part.invoking):
        return ""
    stage.call("sqs", "CreateQueue", QueueName=CLIENTS, Attributes={"MessageRetentionPeriod": str(RETENTION_S)})
    arn = f"arn:aws:sqs:{SCOPE.region}:{SCOPE.account}:{CLIENTS}"
    allowed = {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": arn}
    document = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
    role = str(part.function["Role"]).rpartition("/")[2]
    stage.call("iam", "PutRolePolicy", RoleName=role, PolicyName=_LETTERS_POLICY, PolicyDocument=document)
    stage.call(
        "lambda", "UpdateFunctionConfiguration", FunctionName=part.function_name, DeadLetterConfig={"TargetArn": arn}
    )
    stage.call(
        "lambda", "PutFunctionEventInvokeConfig", FunctionName=part.function_name, MaximumRetryAttempts=0
    )  # fmt: skip
    stage.settle()
    return arn


def _ready(stage: Stage, wiring: Wiring, entrance: Entrance, came: Incoming) -> Wiring:
    """The system right before its event: nothing leads out, and every mapping stands at the end of its stream."""
    cut_off(stage, wiring)
    if entrance.way is Way.TABLE:
        put_old_images(stage, table_of(entrance.place), came.bodies)
    for mapping in wiring.streams:
        part = wiring.parts.of_arn(str(mapping["FunctionArn"]))
        letters = on_failure(mapping)
        if ":sqs:" in letters and part is not None and not part.function.get("DeadLetterConfig"):
            # A person redrives: what fails again stays with its letter.
            target = {"TargetArn": letters}
            stage.call(
                "lambda", "UpdateFunctionConfiguration", FunctionName=part.function_name, DeadLetterConfig=target
            )
    stage.settle()
    stage.move_to(START)
    stage.settle()
    for mapping in wiring.streams:
        uuid = str(mapping["UUID"])
        stage.step(("skip to end", uuid), lambda tx, uuid=uuid: skip_to_end(tx, uuid))  # type: ignore[misc]
    return replace(wiring, parts=_parts_again(stage, wiring.parts))


def _trigger(stage: Stage, circuit: Circuit, came: Incoming, guesses: Mapping[str, str]) -> Trigger:
    entrance, wiring = circuit.entrance, circuit.wiring
    is_queue = entrance.way is Way.QUEUE
    policies = [json.loads(queue_attribute(stage, arn, "RedrivePolicy") or "{}") for arn in wiring.queues]
    retries = [
        int(part.invoking.get("MaximumRetryAttempts", RETRIES_MAX)) for part in wiring.parts.taking_part.values()
    ]
    receives = sum(int(policy.get("maxReceiveCount", 0)) for policy in policies) + sum(one + 1 for one in retries)
    kept = [int(queue_attribute(stage, arn, "MessageRetentionPeriod")) * SECOND_MS for arn in circuit.letters]
    if any(on_failure(mapping) for mapping in wiring.streams):
        kept.append(RECORDS_KEPT_MS)
    kind = KINDS[entrance.way]
    trigger = Trigger(
        "", entrance.place if is_queue else "", queue_url(entrance.place) if is_queue else "", "",
        max(part.timeout_ms for part in wiring.parts.taking_part.values()), min(kept, default=14 * DAY_MS), came.bodies,
        receives, kind, came.bodies, guesses, stream_arn=entrance.place if kind.is_stream else "",
        mappings=len(wiring.streams), clean_runs_max=CLEAN_RUNS_MAX,
    )  # fmt: skip
    return with_messages(trigger, came.bodies) if is_queue else trigger


def _play_clean(performance: Performance, circuit: Circuit) -> list[Event]:
    """Play the system once. Errors: UserError if it fails, does not come to rest, or nobody runs."""
    try:
        events = play_clean(performance)
    except UserError as error:
        run = next((one for one in reversed(performance.events) if isinstance(one, Delivered)), None)
        where = "" if run is None else f"In run {run.run}, of {run.function} ({run.through}): "
        what = where + error.what
        if performance.runs >= CLEAN_RUNS_MAX:
            ran = Counter(one.function for one in performance.events if isinstance(one, Delivered))
            what = (
                f"The system does not come to rest: after {performance.runs} runs in which nothing goes wrong there is "
                f"still work on its way. The last to run was {', '.join(ran)}."
            )
        raise UserError(what, next_step=error.next_step, exit_code=2) from error
    if not any(isinstance(one, Delivered) for one in events):
        raise UserError(
            f"No function runs when the event comes in by {circuit.entrance.told}.", exit_code=2,
            next_step="Look whether filters, patterns and permissions of the template let it through.",
        )  # fmt: skip
    _require_effect(performance, events, circuit)
    return events


def _require_effect(performance: Performance, events: Sequence[Event], circuit: Circuit) -> None:
    """Errors: UserError if nothing leaves the system, and nothing stays in it."""
    is_passage = circuit.wiring.is_passage
    called = [one.call for one in events if isinstance(one, Called) and one.times]
    if any(part.changes and not part.is_silent and not is_passage(part) for call in called for part in parts_of(call)):
        return
    ran = dict.fromkeys(f"{one.function} ({one.through})" for one in events if isinstance(one, Delivered))
    said = [line for line in performance.surroundings.said.splitlines() if line.strip()]
    more = f" The last that was printed: {said[-1]}" if said else ""
    raise ChangesNothing(
        f"The system changes nothing that can be seen, so nothing can be lost or repeated. What ran: {', '.join(ran)}."
        f"{more}",
        next_step="If an event of its own would be worked on, give it (--event FILE), or another entrance "
        "(--entrance NAME).", exit_code=2,
    )  # fmt: skip


def _told(deployed: _Deployed, entrance: Entrance, journal: Journal, clean: Clean) -> Mapping[str, object]:
    """What the report says of the system."""
    functions = {one.run: one.function for one in clean.events if isinstance(one, Delivered)}
    runs = Counter(functions.values())
    effects: dict[str, Counter[str]] = {}
    for one in clean.events:
        if isinstance(one, Called) and one.times and journal.is_effect(one.call):
            effects.setdefault(functions[one.run], Counter())[str(one.call)] += 1
    every = sorted(part.name for part in deployed.parts.taking_part.values())
    return {
        "entrance": entrance.name,
        "comes_in_by": entrance.told,
        "entrances": [{"name": one.name, "way": one.way.value} for one in deployed.entrances],
        "functions": {name: {"runs": runs[name], "effects": dict(effects.get(name, {}))} for name in every},
        "left_out": {one.name: one.why for one in deployed.parts.left_out},
    }


class _NoInvoker:
    """While a template is deployed its functions do nothing, not even for custom resources."""

    def invoke(self, invocation: Invocation) -> InvocationResult:
        return InvocationResult(InvocationStatus.OK, b"null")

    def close(self) -> None:
        """Nothing was started."""
