"""A proof from beginning to end: a clean run, what it leaves behind, the search, and the counterexample on the wire."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import boto3

from redrive.core.clock import Instant
from redrive.core.errors import UserError
from redrive.gateway.chain import Gateway
from redrive.prove.calls import Call
from redrive.prove.clients import remembered_clients
from redrive.prove.events import Ended, Ending, Event
from redrive.prove.faults import History, Leg
from redrive.prove.judge import Judge
from redrive.prove.ledger import Records, guess_ledger, records_of, status_of
from redrive.prove.options import DEFAULTS, Options
from redrive.prove.outside import Unanswerable
from redrive.prove.performance import Moment, Performance
from redrive.prove.search import Found, Progress, Search, Searched
from redrive.prove.stage import SCOPE, Saved, Stage
from redrive.prove.story import advice_for, tell
from redrive.prove.subject import Subject
from redrive.prove.tables import Improvised
from redrive.prove.template import Declared, declared_trigger, has_inline_code, inline_subject
from redrive.prove.transport import ENDPOINT_URL, Short, Transport, Wire
from redrive.prove.trigger import SAMPLE_EVENT, Trigger, bodies_of, usual_trigger
from redrive.prove.verdict import Bounds, Counterexample, Verdict

CLEAN_RUNS_MAX = 20
"""More runs than this without the queue being empty, and nothing gone wrong: the handler does not let go."""


class EndedWorld:
    """The world in which a history has ended, for invariants of the user's."""

    def __init__(self, performance: Performance) -> None:
        self._performance = performance

    @property
    def now(self) -> Instant:
        """The virtual time, in milliseconds since the epoch."""
        return self._performance.stage.now

    def client(self, service: str) -> object:
        """A boto3 client of this world."""
        return boto3.client(
            service, region_name=SCOPE.region, endpoint_url=ENDPOINT_URL, aws_access_key_id=SCOPE.account,
            aws_secret_access_key=SCOPE.account,
        )  # fmt: skip


def prove(subject: Subject | None, options: Options = DEFAULTS, *, progress: Progress = lambda *_: None) -> Verdict:
    """Search the histories of a handler for one that breaks a rule.

    Without a subject, the code that stands in the template is proved. Errors: UserError if the handler fails although
    nothing goes wrong, has no effect that can be seen, or is not the same from run to run.
    """
    with _prepared(subject, options) as world:
        with _opened(world, Short) as performance:
            clean = _clean(performance, options)
            searched = Search(performance, clean.judge, faults_max=options.faults).run(progress)
        example = None if searched.found is None else _confirmed(world, options, searched.found)
    return _verdict(world, options, clean, searched, example)


def replay(subject: Subject | None, history: History, options: Options = DEFAULTS) -> Counterexample | None:
    """Play one history through the whole wire: what it breaks, or None if it breaks no rule any more.

    A handler that has changed since may make other calls; faults strike at the calls that it makes now.
    """
    with _prepared(subject, options) as world:
        return _played(world, options, history)


@dataclass(frozen=True, slots=True)
class _World:
    """The handler's world before its message is sent: resources are there, declared or guessed."""

    subject: Subject
    trigger: Trigger
    saved: Saved
    assumptions: Mapping[str, str]
    seed: int


@dataclass(frozen=True, slots=True)
class _Clean:
    """What a run in which nothing goes wrong leaves behind."""

    judge: Judge
    effects: Mapping[str, int]


@contextmanager
def _prepared(subject: Subject | None, options: Options) -> Iterator[_World]:
    """Make the world, and let the handler run once in it to see what it needs."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(_unanswerable_told())
        stack.enter_context(remembered_clients())
        sample = options.bodies or bodies_of(SAMPLE_EVENT)
        improvised = Improvised(sample) if options.template is None else None
        performance = Performance(subject, seed=options.seed, improvised=improvised)
        stack.callback(performance.close)
        if options.template is None:
            trigger = usual_trigger(performance.stage, sample)
        else:
            name = "" if subject is None else subject.name
            declared = declared_trigger(
                performance.stage, options.template, name, dict(options.parameters), options.bodies
            )  # fmt: skip
            trigger = declared.trigger
            if subject is None:
                directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="redrive-prove-")))
                performance.subject = _inline(performance.stage, declared, options.template, directory)
        saved = performance.stage.save()
        performance.begin(trigger)
        with performance.entered(Short(performance.stage.gateway)):
            _play_clean(performance)
        performance.stage.load(saved)
        if improvised is not None:
            improvised.repeat(performance.stage)
        yield _World(
            performance.subject, trigger, performance.stage.save(),
            {} if improvised is None else improvised.assumptions, options.seed,
        )  # fmt: skip


def _inline(stage: Stage, declared: Declared, template: Path, directory: Path) -> Subject:
    if has_inline_code(stage, declared):
        return inline_subject(stage, declared, directory)
    raise UserError(
        f"The code of the function is not in {template}.", next_step="Name the handler as module:function.", exit_code=2
    )


@contextmanager
def _opened(world: _World, transport: Callable[[Gateway], Transport]) -> Iterator[Performance]:
    """A performance of that world in which the message was sent."""
    performance = Performance(world.subject, seed=world.seed)
    try:
        performance.stage.load(world.saved)
        performance.stage.reseed("beginning")
        performance.begin(world.trigger)
        with performance.entered(transport(performance.stage.gateway)):
            yield performance
    finally:
        performance.close()


def _play_clean(performance: Performance) -> list[Event]:
    """Play on without faults until nothing is left to deliver. Errors: UserError if something goes wrong even so."""
    events: list[Event] = []
    for _ in range(CLEAN_RUNS_MAX):
        events += performance.play(Leg())
        for event in events:
            if isinstance(event, Ended) and event.ending is not Ending.RETURNED:
                raise UserError(_failure(performance, event), next_step=_hint(performance), exit_code=2)
        if not performance.waiting.is_pending:
            break
    if performance.waiting.dead or performance.waiting.is_pending:
        raise UserError(
            "The handler leaves its message in the queue although nothing goes wrong.",
            next_step="Give it a message that it can work on: --event FILE.", exit_code=2,
        )  # fmt: skip
    return events


def _failure(performance: Performance, event: Ended) -> str:
    if performance.surroundings.reached:
        return f"The handler opens a connection to {performance.surroundings.reached[0]}, and no connection is let out."
    told = event.answer or f"it {event.ending.value}"
    return f"The handler fails although nothing goes wrong: {told}"


def _hint(performance: Performance) -> str:
    if performance.surroundings.reached:
        return "Prove the handler with that call replaced: redrive.testing.prove takes a callable."
    return "Give it the message that it expects (--event FILE), and the tables that it needs (--template)."


def _clean(performance: Performance, options: Options) -> _Clean:
    """Learn from a clean run what is expected, and be again where it began."""
    beginning = performance.save()
    events = _play_clean(performance)
    ledger = guess_ledger(events, lambda event: performance.journal.key_of(event.call))
    clean = _learned(performance, options, ledger, beginning)
    if ledger is not None and not clean.effects:
        clean = _learned(performance, options, None, beginning)  # What looks like a ledger is the work itself.
    if not clean.effects:
        raise UserError(
            "The handler changes nothing that can be seen, so nothing can be lost or repeated.",
            next_step="Only boto3 calls and effects declared with redrive.handler are seen.", exit_code=2,
        )  # fmt: skip
    return clean


def _learned(performance: Performance, options: Options, ledger: str | None, beginning: Moment) -> _Clean:
    def is_effect(call: Call) -> bool:
        if call.matches(options.effects):
            return True
        is_bookkeeping = call.service == "dynamodb" and call.target == ledger
        return not is_bookkeeping and not call.matches(options.ignored)

    performance.load(beginning)
    performance.is_effect = is_effect
    seen: list[Records] = []
    if ledger is not None:
        performance.after_call = lambda: seen.append(records_of(performance.stage, ledger))
    events = _play_clean(performance)
    performance.after_call = lambda: None
    expected = performance.journal.counts()
    kinds: dict[str, int] = {}
    for (kind, _), count in sorted(expected.items()):
        kinds[kind] = kinds.get(kind, 0) + count
    returned = next((event.answer for event in events if isinstance(event, Ended)), "")
    answer = performance.journal.stable(returned) if options.stable_results else None
    judge = Judge(expected, ledger, status_of(seen), answer, options.invariants, EndedWorld(performance))
    performance.load(beginning)
    return _Clean(judge, kinds)


def _confirmed(world: _World, options: Options, found: Found) -> Counterexample:
    """The counterexample, played again through the whole wire. Errors: UserError if it is no counterexample there."""
    example = _played(world, options, found.history)
    if example is None or example.violation.rule is not found.violation.rule:
        raise UserError(
            f"A history was found ({found.violation.sentence}) that does not happen again when it is played again.",
            next_step="The handler is not the same from run to run: it remembers something, or draws on something "
            "that is not of this proof.",
        )  # fmt: skip
    return example


def _played(world: _World, options: Options, history: History) -> Counterexample | None:
    with _opened(world, Wire) as performance:
        clean = _clean(performance, options)
        events: list[Event] = []
        for leg in history:
            events += performance.play(leg)
            violation = clean.judge.after_leg(performance, events)
            if violation is not None:
                break
        else:
            violation = Search(performance, clean.judge, faults_max=0).finish(history, events)
        if violation is None:
            return None
        return Counterexample(history, violation, tell(events), advice_for(violation, events, clean.judge.ledger))


def _verdict(
    world: _World, options: Options, clean: _Clean, searched: Searched, example: Counterexample | None
) -> Verdict:
    return Verdict(
        handler=world.subject.name,
        bounds=Bounds(options.faults, searched.histories, searched.merged, searched.runs, options.seed),
        effects=clean.effects,
        ledger=clean.judge.ledger,
        assumptions=world.assumptions,
        bodies=world.trigger.bodies,
        counterexample=example,
    )


@contextmanager
def _unanswerable_told() -> Iterator[None]:
    try:
        yield
    except Unanswerable as error:
        raise error.as_user_error() from None
