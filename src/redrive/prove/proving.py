"""A proof from beginning to end: a clean run, what it leaves behind, the search, and the counterexample on the wire."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import boto3

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.errors import Bug, UserError
from redrive.prove.calls.given import GivenAnswer
from redrive.prove.effects.contents import Left
from redrive.prove.guess.answer_names import FAILURES, misspelt_names
from redrive.prove.guess.bindings import variables_for
from redrive.prove.guess.contents import PLAIN_FILE, FileContent, content_for
from redrive.prove.guess.hints import VARIABLE, Hints, overlaid, told
from redrive.prove.guess.http_answers import guessed_document
from redrive.prove.guess.keys import shown_keys
from redrive.prove.guess.reading import read_handler
from redrive.prove.guess.watched import HTTP, At
from redrive.prove.play.events import Event
from redrive.prove.play.faults import History, Leg, Strike
from redrive.prove.play.performance import Performance
from redrive.prove.play.transport import ENDPOINT_URL, Short, Transport, Wire
from redrive.prove.play.variables import process_variables
from redrive.prove.process.clients import remembered_clients
from redrive.prove.process.exchange import HttpAnswer
from redrive.prove.process.subject import NamedSubject, Subject
from redrive.prove.process.surroundings import is_set
from redrive.prove.process.threads import Unordered
from redrive.prove.project.elsewhere import with_modules_elsewhere
from redrive.prove.project.functions import Feed
from redrive.prove.search.clean import ELSEWHERE_AFTER_MS, Clean, learn, left_elsewhere, play_clean, require_matches
from redrive.prove.search.draws import DRAWS_LOOKED_AT, Draws, draw_of, draws_of
from redrive.prove.search.fitting import play_fitted
from redrive.prove.search.options import DEFAULTS, Options
from redrive.prove.search.rehearsing import Asked, Setting, provided, rehearse
from redrive.prove.search.search import Found, Progress, Search, Searched
from redrive.prove.stage.called import called_event
from redrive.prove.stage.chosen import Chosen, chosen
from redrive.prove.stage.deliveries import TRIGGER, kind_for, kind_of_event, sample_message
from redrive.prove.stage.envelopes import is_of_fifo
from redrive.prove.stage.furnished import furnish
from redrive.prove.stage.hinted import settle_furnished, with_envelopes, with_hints
from redrive.prove.stage.inputs import inputs_for, usual_call
from redrive.prove.stage.reports import WITHOUT, notes_of
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
from redrive.prove.tell.advice.advice import Advice, advice_for
from redrive.prove.tell.advice.case import Case
from redrive.prove.tell.story import tell
from redrive.prove.tell.verdict import Bounds, Counterexample, Verdict, tried_told

TRIED_MAX = 300
"""How many histories are played at most to try a change of the source."""


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
        return searched_in(world, options, progress=progress, may_go_on=may_go_on)


def searched_in(
    prepared: World, options: Options, *, progress: Progress = lambda *_: None,
    may_go_on: Callable[[], bool] = lambda: True,
) -> Verdict:  # fmt: skip
    """Search the histories of a world that is prepared."""
    world, clean, searched, told = _searched(prepared, options, progress, may_go_on)
    example = None if searched.found is None else _confirmed(world, options, searched.found)
    if example is not None:
        example = _tried(world, options, example, clean.effects)
    return replace(_verdict(world, options, clean, searched, example), system=told)


def _searched(
    prepared: World, options: Options, progress: Progress, may_go_on: Callable[[], bool]
) -> tuple[World, Clean, Searched, Mapping[str, object]]:
    """Search on each draw that is to be judged, until a counterexample is found; with the world of the last draw."""
    whole: Searched | None = None
    for seed in prepared.draws.seeds:
        world = replace(prepared, seed=seed)
        with _opened(world, Short) as performance:
            clean = learn(performance, options, world.elsewhere, EndedWorld(performance), world.draws)
            require_matches(options, clean)
            told = world.told(performance, clean)
            searched = world.search(performance, clean.judge, faults_max=options.faults).run(progress, may_go_on)
        whole = searched if whole is None else whole.with_more(searched)
        if whole.found is not None or not whole.is_finished:
            break
    if whole is None:
        raise Bug("a proof without a draw")
    return world, clean, whole, told


def replay(subject: Subject | None, history: History, options: Options = DEFAULTS) -> Counterexample | None:
    """Play one history through the whole wire: the violation, or None if it breaks no rule any more.

    A handler that has changed since may make other calls: faults strike at calls of the same kind. Errors: UserError if
    there is no such call, and no rule is broken.
    """
    with _prepared(subject, options) as world:
        return replayed_in(world, history, options)


def replayed_in(world: World, history: History, options: Options) -> Counterexample | None:
    """Play one history in a world that is prepared."""
    example, unmet = _played(world, options, history)
    if example is None and unmet:
        raise UserError(
            f"This history does not fit the handler any more: it does not come to {unmet[0]}.",
            next_step=f"Prove it again: redrive prove {world.name}", exit_code=2,
        )  # fmt: skip
    return example


@dataclass(frozen=True, slots=True)
class World:
    """What is proved, before its message is sent: with its resources, declared or guessed.

    `performed` makes a performance with a seed; `told` says more of the clean run, for the verdict.
    """

    name: str
    trigger: Trigger
    saved: Saved
    assumptions: Mapping[str, str]
    seed: int
    elsewhere: Sequence[Left]
    draws: Draws
    """How it differs from draw to draw; the seed is that of one of them."""
    performed: Callable[[int], Performance]
    subject: Subject | None = None
    """The handler; None for a system, which has several."""
    search: type[Search] = Search
    told: Callable[[Performance, Clean], Mapping[str, object]] = lambda _performance, _clean: {}
    advice: Callable[[Case, str], Advice] = advice_for


@contextmanager
def _prepared(subject: Subject | None, options: Options) -> Iterator[World]:
    """Make the world, and let the handler run in it, to see which resources and which guesses it needs."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(unanswerable_told())
        stack.enter_context(remembered_clients())
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="redrive-prove-")))
        made = _Maker(stack, subject, options, directory)
        setting, hints = made.set_up(Hints()), Hints()
        options.told_events(setting.trigger.given or setting.trigger.bodies)
        played = _played_through(setting)
        if played is None:
            hints = rehearse(made.set_up, made.asked)
            setting = made.set_up(hints)
            options = made.options_with(hints)
            options.told_events(setting.trigger.given or setting.trigger.bodies)
            played = _played_once(setting)
        performance, trigger = setting.performance, setting.trigger
        saved, fitted = played
        draws = _draws(performance.subject, trigger, saved, options, made.improvised)
        performance.stage.load(saved)
        improvised: Mapping[str, str] = {}
        if made.improvised is not None:
            made.improvised.repeat(performance.stage)
            improvised = made.improvised.assumptions
        saved = performance.stage.save()
        told = {**({FED_BY: trigger.fed_by} if trigger.fed_by else {}), **_notes(performance, trigger)}
        assumptions = {**told, **trigger.guesses, **fitted, **improvised, **performance.made_up}
        proved = performance.subject
        performed = _performed_with(proved, options)
        elsewhere = left_in_another(performed, trigger, saved, options.seed)
        yield World(proved.name, trigger, saved, assumptions, options.seed, elsewhere, draws, performed, proved)


def _played_through(setting: Setting) -> tuple[Saved, Mapping[str, str]] | None:
    """The world before its first message; None if the handler fails in it, or changes nothing."""
    try:
        played = _played_once(setting)
    except UserError:
        return None
    return played if setting.performance.journal.counts() else None


def _played_once(setting: Setting) -> tuple[Saved, Mapping[str, str]]:
    """The world before its first message, after one run in it, and what of it was fitted to the answers."""
    performance = setting.performance
    saved = performance.stage.save()
    performance.begin(setting.trigger)
    with performance.entered(Short(performance.stage)):
        return play_fitted(performance, saved)


class _Maker:
    """Makes worlds for a handler before its first run, alike but for the changes of guesses."""

    def __init__(self, stack: contextlib.ExitStack, subject: Subject | None, options: Options, directory: Path) -> None:
        """Code of a template is unpacked in the directory."""
        self._stack = stack
        self._directory = directory
        self._meant = _meant(subject, options, directory)
        subject = subject if self._meant is None else self._meant.subject
        if isinstance(subject, NamedSubject):
            subject = with_modules_elsewhere(subject)
        self._subject = subject
        self._wanted = _wanted(subject, options)
        self._options, self._chosen = _with_kind(options, self._wanted("", None))
        self.file = content_for(subject.file) if isinstance(subject, NamedSubject) else PLAIN_FILE
        self.improvised: Improvised | None = None
        self.asked = Asked()
        self._web: Document = {}

    def options_with(self, hints: Hints) -> Options:
        """The options with the answers over HTTP that were changed."""
        changed = [one.mend for one in hints.of(HTTP)]
        if not changed:
            return self._options
        answer = GivenAnswer("*", HttpAnswer(body=json.dumps(overlaid(self._web, changed)).encode()))
        given = self._options.given
        return replace(self._options, given=replace(given, http=(*given.http, answer)))

    def set_up(self, hints: Hints) -> Setting:
        """A new world with these changes."""
        options = self.options_with(hints)
        wanted = self._wanted
        sample = _sample(options, wanted("", None), self.file)
        sample = replace(sample, guesses={**self._chosen, **sample.guesses})
        if options.bodies is None:
            sample = replace(sample, texts=with_envelopes(sample.texts, hints))
        self.improvised = Improvised(sample.texts, self.file, earlier=self.improvised)
        performance = Performance(
            self._subject, seed=options.seed, improvised=self.improvised, given=options.given
        )  # fmt: skip
        self._stack.callback(performance.close)
        trigger = self._trigger(performance, options, sample)
        if isinstance(performance.subject, NamedSubject):
            self._web = guessed_document(performance.subject.file)
        if options.bodies is None:
            trigger = with_hints(trigger, hints, wanted("", None).reading)
        trigger = with_given(
            performance.stage, trigger, performance.subject, options.variables, options.defaults
        )  # fmt: skip
        trigger = _with_variables(performance, trigger, hints)
        trigger = replace(trigger, guesses={**trigger.guesses, **_told_of(hints)})
        given = provided(hints, self.asked)
        if isinstance(performance.subject, NamedSubject):
            known = {**os.environ, **process_variables(performance.stage, trigger), **trigger.variables}
            self.improvised.shown = shown_keys(performance.subject.file, known)
        for one in (options.given, given):
            if one.is_furnishing:
                furnish(performance.stage, one, self.improvised)
                settle_furnished(performance.stage, trigger)
        self.improvised.keep()
        places = {value: At(f"{VARIABLE}{name}") for name, value in trigger.variables.items()}
        bodies = {json.dumps(overlaid(self._web, [one.mend for one in hints.of(HTTP)])): HTTP}
        return Setting(performance, trigger, places, bodies)

    def _trigger(self, performance: Performance, options: Options, sample: _Given) -> Trigger:
        """What feeds the handler: as the template says, or as is usual."""
        meant, stage = self._meant, performance.stage
        if meant is None:
            return _usual(stage, options, sample, self._wanted("", None))

        def of_kind(feed: Feed, kind: Kind) -> tuple[tuple[str, ...], Mapping[str, str]]:
            made = _sample(replace(options, trigger=kind), self._wanted("", None), self.file)
            return called_event(feed, made.texts) if options.bodies is None else made.texts, made.guesses

        declared = _declared(stage, meant, options, self._wanted, of_kind, sample)
        if self._subject is None:
            performance.subject = _inline(stage, declared, meant.template.file, self._directory)
        return declared.trigger


def _told_of(hints: Hints) -> dict[str, str]:
    """The changes for the user; variables are told apart."""
    return dict(told(one) for one in hints.all if not one.mend.at.source.startswith(VARIABLE))


def _performed_with(subject: Subject, options: Options) -> Callable[[int], Performance]:
    """Makes performances of a handler, by their seeds."""
    return lambda seed: Performance(subject, seed=seed, given=options.given)


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
    if kind.is_queue:
        is_fifo = kind is Kind.FIFO or (options.trigger is None and is_of_fifo(sample.texts))
        reports = wanted.reading is None or wanted.reading.reports_failures or _is_meant_to_report(wanted)
        trigger = usual_trigger(stage, sample.texts, is_fifo=is_fifo, reports_failures=reports)
        told = {} if reports else {"mapping": f"{WITHOUT}, because the handler's code names no {FAILURES}"}
        return replace(trigger, guesses={**sample.guesses, **told})
    trigger = (usual_events if kind.is_direct else usual_call)(stage, sample.texts, kind)
    return replace(trigger, guesses={**sample.guesses, **trigger.guesses})


def _notes(performance: Performance, trigger: Trigger) -> Mapping[str, str]:
    subject = performance.subject
    if not isinstance(subject, NamedSubject):
        return {}
    return {**subject.guesses, **notes_of(performance.stage, trigger, subject.file, subject.function)}


def _is_meant_to_report(wanted: Wanted) -> bool:
    """Whether the answer is meant for a mapping with ReportBatchItemFailures, and misspelt."""
    return wanted.file is not None and bool(misspelt_names(wanted.file))


@dataclass(frozen=True, slots=True)
class _Given:
    """What the handler is given, and what was guessed of it."""

    texts: tuple[str, ...]
    guesses: Mapping[str, str] = field(default_factory=dict)


def _with_kind(options: Options, wanted: Wanted) -> tuple[Options, Mapping[str, str]]:
    """The options with what feeds the handler, and why, if nobody has said it and what the handler reads does."""
    found = kind_for(wanted.reading)
    if options.trigger is not None or options.template is not None or found is None:
        return options, {}
    kind, why = found
    if options.bodies is not None and kind_of_event(options.bodies[0]) is not kind:
        return options, {}  # It is the body of a message.
    return replace(options, trigger=kind), {} if kind is Kind.SQS else {TRIGGER: why}


def _sample(options: Options, wanted: Wanted, file: FileContent) -> _Given:
    """What the handler is given if no template says otherwise."""
    kind = options.trigger or Kind.SQS
    if kind is not Kind.EVENTBRIDGE and (kind.is_direct or kind.is_awaited):
        texts, guesses = inputs_for(kind, options.bodies, wanted, file=file)
        return _Given(texts, guesses)
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
        reading, file = None, None
        if isinstance(subject, NamedSubject):
            file = subject.file
            reading = read_handler(file, subject.function)
        elif subject is None and directory is not None and (directory := code_directory(directory)) is not None:
            module, _, function = handler.rpartition(".")
            file = directory / f"{module.replace('.', '/')}.py"
            reading = read_handler(file, function)
        return Wanted(options.event_type, reading, file)

    return wanted


def _with_variables(performance: Performance, trigger: Trigger, hints: Hints) -> Trigger:
    """The trigger with a guess at each variable that the handler reads and nobody has set."""
    subject = performance.subject
    if not isinstance(subject, NamedSubject):
        return trigger
    known = process_variables(performance.stage, trigger)
    wanted = dict.fromkeys(hints.missing_variables, "") | read_handler(subject.file, subject.function).variables
    missing = {name: place for name, place in wanted.items() if name not in known and not is_set(name)}
    fitting = variables_for(subject.file, missing, own_queue=trigger.queue_url)
    variables = {name: fitting[name].value for name in missing} | {
        name: value for name, value in hints.variables.items() if name in missing
    }
    told = {
        f"variable {name}": f"{variables[name]!r}, {fitting[name].because(place or hints.missing_variables[name])}"
        for name, place in missing.items()
    }
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
def _opened(world: World, transport: Callable[[Stage], Transport]) -> Iterator[Performance]:
    """A performance of that world after the message was sent."""
    with contextlib.closing(world.performed(world.seed)) as performance:
        performance.stage.load(world.saved)
        performance.begin(world.trigger)
        with performance.entered(transport(performance.stage)):
            yield performance


def left_in_another(
    performed: Callable[[int], Performance], trigger: Trigger, saved: Saved, seed: int
) -> Sequence[Left]:  # fmt: skip
    """What a clean run leaves behind on another day, with other ids, and with the messages in another order."""
    with contextlib.closing(performed(seed + 1)) as performance:
        performance.stage.load(saved)
        performance.stage.move_to(performance.stage.now + ELSEWHERE_AFTER_MS)
        performance.begin(trigger if trigger.is_ordered else trigger.reversed())
        with performance.entered(Short(performance.stage)):
            return left_elsewhere(performance)


def _draws(
    subject: Subject, trigger: Trigger, saved: Saved, options: Options, improvised: Improvised | None
) -> Draws:  # fmt: skip
    """How what the handler does differs with what it draws: clean runs of several seeds, at the same time.

    Tables and queues that only some draws come to are made, too.
    """
    draws = []
    for seed in range(options.seed, options.seed + DRAWS_LOOKED_AT):
        with contextlib.closing(
            Performance(subject, seed=seed, improvised=improvised, given=options.given)
        ) as performance:
            performance.stage.load(saved)
            if improvised is not None:
                improvised.repeat(performance.stage)
            performance.begin(trigger)
            with performance.entered(Short(performance.stage)):
                draw = draw_of(performance, seed, play_clean)
        draws += [] if draw is None else [draw]
    return draws_of(draws) if draws else Draws((options.seed,))


def _confirmed(world: World, options: Options, found: Found) -> Counterexample:
    """The counterexample, played again through the whole wire. Errors: UserError if it breaks no rule there."""
    example, _ = _played(world, options, found.history)
    if example is None or example.violation.rule is not found.violation.rule:
        raise UserError(
            f"A history was found ({found.violation.sentence}) that does not happen again when it is played again.",
            next_step="The handler is not the same from run to run: it remembers something, or draws on something "
            "that is not of this proof.",
        )  # fmt: skip
    return example


def _tried(world: World, options: Options, example: Counterexample, effects: Mapping[str, int]) -> Counterexample:
    """The counterexample with its change, if the history breaks no rule with it and a clean run leaves the same."""
    change, subject = example.change, world.subject
    if change is None or not isinstance(subject, NamedSubject):
        return replace(example, change=None)
    mended = subject.changed(change.file, change.after)
    changed = replace(world, subject=mended, performed=_performed_with(mended, options))
    faults = max(1, sum(leg.faults for leg in example.history))
    left = iter(range(TRIED_MAX))
    try:
        again, _ = _played(changed, options, example.history, Short)
        with _opened(changed, Short) as performance:
            clean = learn(performance, options, world.elsewhere, EndedWorld(performance), world.draws)
            search = Search(performance, clean.judge, faults_max=faults)
            searched = search.run(lambda *_: None, lambda: next(left, None) is not None)
    except UserError:
        return replace(example, change=None)
    if again is not None or clean.effects != effects:
        return replace(example, change=None)
    return replace(example, tried=tried_told(searched, faults))


def _played(
    world: World, options: Options, history: History, transport: Callable[[Stage], Transport] = Wire
) -> tuple[Counterexample | None, Sequence[Strike]]:
    """The violation in a history, and the strikes whose calls it does not reach."""
    with _opened(world, transport) as performance:
        clean = learn(performance, options, world.elsewhere, EndedWorld(performance), world.draws)
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
            violation = world.search(performance, clean.judge, faults_max=0).finish(history, events)
        if violation is None:
            return None, unmet
        journal = performance.journal
        case = Case(
            violation, tuple(events), clean.judge.ledger, journal.key_names, journal.stable, source_of(world.subject)
        )  # fmt: skip
        advice = world.advice(case, world.trigger.bodies[0])
        whole = (*named, *history[len(named) :])
        return Counterexample(whole, violation, tell(events), advice.text, advice.cause, advice.change), unmet


def source_of(subject: Subject | None) -> Callable[[str], str]:
    """The text of a file of the user's code, by the name that places have; empty if there is none."""
    root = subject.root if isinstance(subject, NamedSubject) else None

    def read(name: str) -> str:
        file = None if root is None else root / name
        return file.read_text("utf-8") if file is not None and file.is_file() else ""

    return read


def _verdict(
    world: World, options: Options, clean: Clean, searched: Searched, example: Counterexample | None
) -> Verdict:
    return Verdict(
        handler=world.name,
        bounds=Bounds(
            options.faults,
            searched.histories,
            searched.merged,
            searched.runs,
            world.seed,
            searched.complete_faults,
            searched.is_finished or searched.found is not None,
        ),
        draws=len(world.draws.seeds),
        drawn=dict(world.draws.ranges),
        effects=clean.effects,
        ledger=clean.judge.ledger.name,
        assumptions=world.assumptions,
        bodies=world.trigger.given or world.trigger.bodies,
        trigger=world.trigger.kind,
        counterexample=example,
    )


@contextmanager
def unanswerable_told() -> Iterator[None]:
    """While entered, a handler whose order of calls nobody can know is refused as the user's error."""
    try:
        yield
    except Unordered as error:
        raise error.as_user_error() from None
