"""A proof from beginning to end: a clean run, what it leaves behind, the search, and the counterexample on the wire."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import boto3

from redrive.core.clock import Instant
from redrive.core.documents import dump_json
from redrive.core.errors import UserError
from redrive.prove.effects.contents import Left
from redrive.prove.guess.contents import PLAIN_FILE, FileContent, content_for
from redrive.prove.guess.reading import read_handler
from redrive.prove.guess.record_samples import sample_object
from redrive.prove.guess.variables import guessed_value
from redrive.prove.play.events import Event
from redrive.prove.play.faults import History, Leg, Strike
from redrive.prove.play.performance import Performance
from redrive.prove.play.transport import ENDPOINT_URL, Short, Transport, Wire
from redrive.prove.play.variables import process_variables
from redrive.prove.process.clients import remembered_clients
from redrive.prove.process.subject import NamedSubject, Subject
from redrive.prove.process.surroundings import is_set
from redrive.prove.process.threads import Unordered
from redrive.prove.project.functions import Feed
from redrive.prove.search.clean import ELSEWHERE_AFTER_MS, Clean, learn, left_elsewhere, play_clean, require_matches
from redrive.prove.search.options import DEFAULTS, Options
from redrive.prove.search.search import Found, Progress, Search, Searched
from redrive.prove.stage.called import called_event, fed_as
from redrive.prove.stage.chosen import Chosen, chosen
from redrive.prove.stage.deliveries import TRIGGER, kind_for, sample_event_of_topic, sample_message
from redrive.prove.stage.notifications import sample_notification
from redrive.prove.stage.rules import events_of, sample_event, usual_events
from redrive.prove.stage.sampled import Wanted
from redrive.prove.stage.stage import SCOPE, Stage
from redrive.prove.stage.streams import usual_stream
from redrive.prove.stage.tables import Improvised
from redrive.prove.stage.tape import Saved
from redrive.prove.stage.template import (
    FED_BY,
    Declared,
    Sample,
    bare_trigger,
    code_directory,
    declared_trigger,
    function_trigger,
    has_inline_code,
    inline_subject,
    local_subject,
)
from redrive.prove.stage.trigger import Kind, Trigger, usual_trigger
from redrive.prove.stage.variables import with_given
from redrive.prove.tell.story import advice_for, tell
from redrive.prove.tell.verdict import Bounds, Counterexample, Verdict


class EndedWorld:
    """The world at the end of a history, for the user's invariants."""

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


def prove(
    subject: Subject | None, options: Options = DEFAULTS, *, progress: Progress = lambda *_: None,
    may_go_on: Callable[[], bool] = lambda: True,
) -> Verdict:  # fmt: skip
    """Search the histories of a handler for one that breaks a rule, while `may_go_on`.

    Without a subject, the code in the template is proved. Errors: UserError if the handler fails without any fault, has
    no visible effect, or behaves differently from run to run.
    """
    with _prepared(subject, options) as world:
        with _opened(world, options, Short) as performance:
            clean = learn(performance, options, world.elsewhere, EndedWorld(performance))
            require_matches(options, clean)
            searched = Search(performance, clean.judge, faults_max=options.faults).run(progress, may_go_on)
        example = None if searched.found is None else _confirmed(world, options, searched.found)
    return _verdict(world, options, clean, searched, example)


def replay(subject: Subject | None, history: History, options: Options = DEFAULTS) -> Counterexample | None:
    """Play one history through the whole wire: the violation, or None if it breaks no rule any more.

    A handler that has changed since may make other calls: faults strike at calls of the same kind. Errors: UserError if
    there is no such call, and no rule is broken.
    """
    with _prepared(subject, options) as world:
        example, unmet = _played(world, options, history)
    if example is None and unmet:
        raise UserError(
            f"This history does not fit the handler any more: it does not come to {unmet[0]}.",
            next_step=f"Prove it again: redrive prove {world.subject.name}", exit_code=2,
        )  # fmt: skip
    return example


@dataclass(frozen=True, slots=True)
class _World:
    """The handler's world before its message is sent: with its resources, declared or guessed."""

    subject: Subject
    trigger: Trigger
    saved: Saved
    assumptions: Mapping[str, str]
    seed: int
    elsewhere: Sequence[Left]


@contextmanager
def _prepared(subject: Subject | None, options: Options) -> Iterator[_World]:
    """Make the world, and let the handler run once in it to see which resources it needs."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(_unanswerable_told())
        stack.enter_context(remembered_clients())
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="redrive-prove-")))
        meant = _meant(subject, options, directory)
        subject = subject if meant is None else meant.subject
        wanted = _wanted(subject, options)
        options, chosen = _with_kind(options, wanted("", None))
        file = content_for(subject.file) if isinstance(subject, NamedSubject) else PLAIN_FILE
        sample = _sample(options, wanted("", None), file)
        sample = replace(sample, guesses={**chosen, **sample.guesses})
        improvised = Improvised(sample.texts, file)
        performance = Performance(subject, seed=options.seed, improvised=improvised, given=options.given)
        stack.callback(performance.close)
        if meant is None:
            trigger = _usual(performance.stage, options, sample, wanted("", None))
        else:

            def of_kind(feed: Feed, kind: Kind) -> tuple[tuple[str, ...], Mapping[str, str]]:
                made = _sample(replace(options, trigger=kind), fed_as(feed, wanted("", None)), file)
                return called_event(feed, made.texts) if options.bodies is None else made.texts, made.guesses

            declared = _declared(performance.stage, meant, options, wanted, of_kind, sample)
            trigger = declared.trigger
            if subject is None:
                performance.subject = _inline(performance.stage, declared, meant.template.file, directory)
        trigger = with_given(
            performance.stage, trigger, performance.subject, options.variables, options.defaults
        )  # fmt: skip
        trigger = _with_variables(performance, trigger)
        options.told_events(trigger.given or trigger.bodies)
        saved = performance.stage.save()
        performance.begin(trigger)
        with performance.entered(Short(performance.stage)):
            play_clean(performance)
        performance.stage.load(saved)
        improvised.repeat(performance.stage)
        saved = performance.stage.save()
        fed_by = {FED_BY: trigger.fed_by} if trigger.fed_by else {}
        assumptions = {**fed_by, **trigger.guesses, **improvised.assumptions, **performance.made_up}
        yield _World(
            performance.subject, trigger, saved, assumptions, options.seed,
            _elsewhere(performance.subject, trigger, saved, options),
        )  # fmt: skip


def _meant(subject: Subject | None, options: Options, directory: Path) -> Chosen | None:
    """What the template says of the function under proof; None without a template."""
    if options.template is None:
        return None
    return chosen(
        options.template, options.parameters, subject, directory, logical_id=options.function, kind=options.trigger,
        rule=options.rule,
    )  # fmt: skip


def _declared(
    stage: Stage, meant: Chosen, options: Options, wanted: Callable[[str, Path | None], Wanted], of_kind: Sample,
    sample: _Given,
) -> Declared:  # fmt: skip
    """The trigger in front of the handler, from a template."""
    if meant.is_bare:
        return bare_trigger(stage, meant.template, lambda: _usual(stage, options, sample, wanted("", None)))
    if meant.function is not None and options.rule is None:
        return function_trigger(
            stage, meant.template, meant.function, options.bodies, wanted=wanted("", None), kind=options.trigger,
            sample=of_kind,
        )  # fmt: skip
    name = "" if meant.subject is None else meant.subject.name
    return declared_trigger(
        stage, meant.template, name, options.bodies, wanted=wanted, kind=options.trigger, rule=options.rule
    )


def _usual(stage: Stage, options: Options, sample: _Given, wanted: Wanted) -> Trigger:
    """The trigger of a handler without a template."""
    kind = options.trigger or Kind.SQS
    if kind.is_stream:
        trigger = usual_stream(stage, kind, options.bodies, wanted)
        return replace(trigger, guesses={**sample.guesses, **trigger.guesses})
    trigger = usual_events(stage, sample.texts, kind) if kind.is_direct else usual_trigger(stage, sample.texts)
    return replace(trigger, guesses=sample.guesses)


@dataclass(frozen=True, slots=True)
class _Given:
    """What the handler is given, and what was guessed of it."""

    texts: tuple[str, ...]
    guesses: Mapping[str, str] = field(default_factory=dict)


def _with_kind(options: Options, wanted: Wanted) -> tuple[Options, Mapping[str, str]]:
    """The options with what feeds the handler, and why, if nobody has said it and what the handler reads does."""
    found = kind_for(wanted.reading)
    if options.trigger is not None or options.template is not None or options.bodies is not None or found is None:
        return options, {}
    kind, why = found
    return replace(options, trigger=kind), {} if kind is Kind.SQS else {TRIGGER: why}


def _sample(options: Options, wanted: Wanted, file: FileContent) -> _Given:
    """What the handler is given if no template says otherwise."""
    if options.trigger is Kind.LAMBDA:
        of_topic = sample_event_of_topic(wanted.reading, file)
        if of_topic is not None:
            return _Given(options.bodies or (of_topic.text,), of_topic.guesses)
        made_for_it, added = sample_object(wanted.reading, ())
        sample = dump_json(made_for_it or {"id": "sample-1"})
        return _Given(options.bodies or (sample,), {f"{name} of the event": why for name, why in added.items()})
    if options.trigger is Kind.S3:
        return _Given(options.bodies or (sample_notification(file.suffix),))
    if options.trigger is not Kind.EVENTBRIDGE:
        if options.bodies is not None:
            return _Given(options.bodies)
        message = sample_message(wanted.reading, file)
        return _Given((message.text,), message.guesses)
    if options.bodies is not None:
        return _Given(events_of(options.bodies, None))
    made = sample_event(None, wanted)
    return _Given((made.text,), made.guesses)


def _wanted(subject: Subject | None, options: Options) -> Callable[[str, Path | None], Wanted]:
    """What the event of a handler is like, by what it reads. Without a subject, the code of a template is read."""

    def wanted(handler: str, directory: Path | None) -> Wanted:
        reading = None
        if isinstance(subject, NamedSubject):
            reading = read_handler(subject.file, subject.function)
        elif subject is None and directory is not None and (directory := code_directory(directory)) is not None:
            module, _, function = handler.rpartition(".")
            reading = read_handler(directory / f"{module.replace('.', '/')}.py", function)
        return Wanted(options.event_type, reading)

    return wanted


def _with_variables(performance: Performance, trigger: Trigger) -> Trigger:
    """The trigger with a guess at each variable that the handler reads and nobody has set."""
    subject = performance.subject
    if not isinstance(subject, NamedSubject):
        return trigger
    known = process_variables(performance.stage, trigger)
    missing = {
        name: place
        for name, place in read_handler(subject.file, subject.function).variables.items()
        if name not in known and not is_set(name)
    }
    variables = {name: guessed_value(name) for name in missing}
    told = {f"variable {name}": f"{variables[name]!r}, because {place} reads it" for name, place in missing.items()}
    return replace(trigger, variables=variables, guesses={**trigger.guesses, **told})


def _inline(stage: Stage, declared: Declared, template: Path, directory: Path) -> Subject:
    if declared.code is not None and (found := code_directory(declared.code)) is not None:
        return local_subject(declared, found)
    if has_inline_code(stage, declared):
        return inline_subject(stage, declared, directory)
    raise UserError(
        f"The code of the function is not in {template}.", next_step="Name the handler as module:function.", exit_code=2
    )


@contextmanager
def _opened(world: _World, options: Options, transport: Callable[[Stage], Transport]) -> Iterator[Performance]:
    """A performance of that world after the message was sent."""
    performance = Performance(world.subject, seed=world.seed, given=options.given)
    with contextlib.closing(performance):
        performance.stage.load(world.saved)
        performance.begin(world.trigger)
        with performance.entered(transport(performance.stage)):
            yield performance


def _elsewhere(subject: Subject, trigger: Trigger, saved: Saved, options: Options) -> Sequence[Left]:
    """What a clean run leaves behind on another day, with other ids, and with the messages in another order."""
    with contextlib.closing(Performance(subject, seed=options.seed + 1, given=options.given)) as performance:
        performance.stage.load(saved)
        performance.stage.move_to(performance.stage.now + ELSEWHERE_AFTER_MS)
        performance.begin(trigger if trigger.is_ordered else replace(trigger, bodies=trigger.bodies[::-1]))
        with performance.entered(Short(performance.stage)):
            return left_elsewhere(performance)


def _confirmed(world: _World, options: Options, found: Found) -> Counterexample:
    """The counterexample, played again through the whole wire. Errors: UserError if it breaks no rule there."""
    example, _ = _played(world, options, found.history)
    if example is None or example.violation.rule is not found.violation.rule:
        raise UserError(
            f"A history was found ({found.violation.sentence}) that does not happen again when it is played again.",
            next_step="The handler is not the same from run to run: it remembers something, or draws on something "
            "that is not of this proof.",
        )  # fmt: skip
    return example


def _played(world: _World, options: Options, history: History) -> tuple[Counterexample | None, Sequence[Strike]]:
    """The violation in a history, and the strikes whose calls it does not reach."""
    with _opened(world, options, Wire) as performance:
        clean = learn(performance, options, world.elsewhere, EndedWorld(performance))
        events: list[Event] = []
        named: list[Leg] = []
        unmet: list[Strike] = []
        for leg in history:
            events += performance.play(leg)
            named.append(performance.strikes.named(leg))
            unmet += performance.strikes.unmet()
            violation = clean.judge.after_leg(performance, events)
            if violation is not None:
                break
        else:
            violation = Search(performance, clean.judge, faults_max=0).finish(history, events)
        if violation is None:
            return None, unmet
        advice = advice_for(violation, events, clean.judge.ledger)
        return Counterexample((*named, *history[len(named) :]), violation, tell(events), advice), unmet


def _verdict(
    world: _World, options: Options, clean: Clean, searched: Searched, example: Counterexample | None
) -> Verdict:
    return Verdict(
        handler=world.subject.name,
        bounds=Bounds(
            options.faults,
            searched.histories,
            searched.merged,
            searched.runs,
            options.seed,
            searched.faults,
            searched.is_finished or searched.found is not None,
        ),
        effects=clean.effects,
        ledger=clean.judge.ledger.name,
        assumptions=world.assumptions,
        bodies=world.trigger.given or world.trigger.bodies,
        trigger=world.trigger.kind,
        counterexample=example,
    )


@contextmanager
def _unanswerable_told() -> Iterator[None]:
    try:
        yield
    except Unordered as error:
        raise error.as_user_error() from None
