"""Makes the world of a handler: as its template declares, or guessed until the handler comes through."""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from redrive.core.documents import Document
from redrive.core.errors import UserError
from redrive.prove.calls.calls import mapping_of
from redrive.prove.calls.given import Given, GivenAnswer, GivenReply
from redrive.prove.guess.answer_names import FAILURES, misspelt_names
from redrive.prove.guess.bindings import variables_for
from redrive.prove.guess.contents import PLAIN_FILE, content_for
from redrive.prove.guess.hints import VARIABLE, Hints, overlaid, told
from redrive.prove.guess.http_answers import guessed_document
from redrive.prove.guess.keys import shown_keys
from redrive.prove.guess.reading import own_files, read_handler
from redrive.prove.guess.watched import HTTP, At
from redrive.prove.inputs import Inputs, sample_for, wanting, with_kind
from redrive.prove.play.performance import Performance
from redrive.prove.play.transport import Short
from redrive.prove.play.variables import process_variables
from redrive.prove.process.clients import remembered_clients
from redrive.prove.process.exchange import HttpAnswer
from redrive.prove.process.subject import NamedSubject, Subject
from redrive.prove.process.surroundings import is_set
from redrive.prove.project.elsewhere import with_modules_elsewhere
from redrive.prove.project.functions import Feed
from redrive.prove.project.packages import shortly
from redrive.prove.search.clean import play_clean
from redrive.prove.search.draws import DRAWS_LOOKED_AT, Draws, draw_of, draws_of
from redrive.prove.search.fitting import play_fitted
from redrive.prove.search.options import Options
from redrive.prove.search.rehearsing import Asked, Setting, provided, rehearse, replies
from redrive.prove.stage.called import called_event
from redrive.prove.stage.chosen import Chosen, chosen
from redrive.prove.stage.deployed import Deployments
from redrive.prove.stage.envelopes import is_of_fifo
from redrive.prove.stage.filtered import with_filters
from redrive.prove.stage.furnished import furnish
from redrive.prove.stage.hinted import settle_furnished, with_envelopes, with_hints
from redrive.prove.stage.inputs import usual_call
from redrive.prove.stage.others import with_another
from redrive.prove.stage.reports import WITHOUT, notes_of, unread_by
from redrive.prove.stage.rules import usual_events
from redrive.prove.stage.sampled import Wanted
from redrive.prove.stage.stage import Stage
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
    names_made,
)
from redrive.prove.stage.trigger import Kind, Trigger, usual_trigger
from redrive.prove.stage.variables import with_given
from redrive.prove.tell.advice.changes.changes import Change
from redrive.prove.world import World, changing, left_in_another, unanswerable_told

_RANDOM = re.compile(r"^\s*(import|from)\s+(random|secrets)\b", re.MULTILINE)


@contextmanager
def prepared(subject: Subject | None, options: Options) -> Iterator[World]:
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
            setting, played = _played_with_luck(made, hints)
            options = made.options_with(hints)
            options.told_events(setting.trigger.given or setting.trigger.bodies)
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
        performed = performed_with(proved, options)
        elsewhere = left_in_another(performed, trigger, saved, options.seed)
        made_names = names_made(performance.stage) if options.template is not None else {}
        function = made_names.get(trigger.function_name, "")
        world = World(
            proved.name, trigger, saved, assumptions, options.seed, elsewhere, draws, performed, proved,
            function=function, unread=unread_by(performance.stage, {trigger.function_name: function}),
            names=list(made_names),
        )  # fmt: skip

        def with_source(change: Change) -> World | None:
            if not isinstance(proved, NamedSubject):
                return None
            mended = proved.changed(change.file, change.after)
            return replace(world, subject=mended, performed=performed_with(mended, options))

        yield replace(world, changed=changing(options, lambda other: prepared(subject, other), with_source))


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of others that a function of a template needs, and what was guessed of them, for the user.

    With what has to be there beforehand, the events with which it comes through, and what feeds it.
    """

    over_http: Document
    of_services: tuple[GivenReply, ...]
    guesses: Mapping[str, str]
    beforehand: Given
    kind: Kind
    events: tuple[str, ...]
    event_guesses: Mapping[str, str]


def guessed_answers(options: Options) -> Answers:
    """The answers with which one function of a template comes through. Errors: UserError as in `prove`."""
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="redrive-prove-")))
        made = _Maker(stack, None, options, directory)
        hints = rehearse(made.set_up, made.asked)
        beforehand = provided(hints, made.asked, made.file)
        trigger = made.set_up(hints).trigger
        return Answers(
            made.answer_with(hints), replies(hints), _told_of(hints), beforehand, trigger.kind, trigger.bodies,
            trigger.guesses,
        )  # fmt: skip


def _played_through(setting: Setting) -> tuple[Saved, Mapping[str, str]] | None:
    """The world before its first message; None if the handler fails in it, or changes nothing."""
    try:
        played = _played_once(setting)
    except UserError:
        return None
    return played if setting.performance.journal.counts() else None


def _played_with_luck(made: _Maker, hints: Hints) -> tuple[Setting, tuple[Saved, Mapping[str, str]]]:
    """A world in which the handler comes through: one that draws whether it fails may do so with another seed.

    Errors: UserError, if it fails with each.
    """
    setting = made.set_up(hints)
    try:
        return setting, _played_once(setting)
    except UserError:
        if not made.draws:
            raise
        for _ in range(1, DRAWS_LOOKED_AT):
            made.draw_anew()
            setting = made.set_up(hints)
            with contextlib.suppress(UserError):
                return setting, _played_once(setting)
        raise


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
        self._wanted = wanting(subject, options)
        reading = self._wanted("", None).reading
        if isinstance(subject, NamedSubject) and reading is not None and reading.is_list and self._meant is None:
            self._subject = subject.of_pipe()
        self._options, self._chosen = with_kind(options, self._wanted("", None))
        self.file = content_for(subject.file) if isinstance(subject, NamedSubject) else PLAIN_FILE
        self.improvised: Improvised | None = None
        self.asked = Asked()
        self._web: Document = {}
        self._deployments = Deployments()

    @property
    def draws(self) -> bool:
        """Whether the handler's code names a source of randomness."""
        subject = self._subject
        files = own_files(subject.file) if isinstance(subject, NamedSubject) else ()
        return any(_RANDOM.search(file.read_text("utf-8", "replace")) for file in files if file.is_file())

    def draw_anew(self) -> None:
        """Take the next seed from now on."""
        self._options = replace(self._options, seed=self._options.seed + 1)

    def options_with(self, hints: Hints) -> Options:
        """The options with the answers of others that were changed."""
        changed, said, given = [one.mend for one in hints.of(HTTP)], replies(hints), self._options.given
        if said:
            given = replace(given, replies=(*given.replies, *said))
        if not changed:
            return replace(self._options, given=given)
        answer = GivenAnswer("*", HttpAnswer(body=json.dumps(self.answer_with(hints)).encode()))
        return replace(self._options, given=replace(given, http=(*given.http, answer)))

    def answer_with(self, hints: Hints) -> Document:
        """What a request over HTTP is answered with: what the code reads, with these changes."""
        return {**mapping_of(overlaid(self._web, [one.mend for one in hints.of(HTTP)]))}

    def set_up(self, hints: Hints) -> Setting:
        """A new world with these changes."""
        options = self.options_with(hints)
        wanted = self._wanted
        sample = sample_for(options, wanted("", None), self.file)
        sample = replace(sample, guesses={**self._chosen, **sample.guesses})
        if options.bodies is None:
            sample = replace(sample, texts=with_envelopes(sample.texts, hints))
        self.improvised = Improvised(sample.texts, self.file, earlier=self.improvised)
        performance = Performance(
            self._subject, seed=options.seed, improvised=self.improvised, given=options.given
        )  # fmt: skip
        self._stack.callback(performance.close)
        trigger = self._trigger(performance, options, sample)
        trigger = replace(trigger, command=_command(performance.subject, self._meant, options))
        if isinstance(performance.subject, NamedSubject):
            self._web = guessed_document(performance.subject.file)
        if options.bodies is None:
            trigger = with_filters(performance.stage, with_hints(trigger, hints, wanted("", None).reading))
        trigger = with_given(
            performance.stage, trigger, performance.subject, options.variables, options.defaults
        )  # fmt: skip
        trigger = _with_variables(performance, trigger, hints)
        trigger = replace(trigger, guesses={**trigger.guesses, **_told_of(hints)})
        given = provided(hints, self.asked, self.file)
        if isinstance(performance.subject, NamedSubject):
            known = {**os.environ, **process_variables(performance.stage, trigger), **trigger.variables}
            self.improvised.shown = shown_keys(performance.subject.file, known)
        for one in (options.given, given):
            if one.is_furnishing:
                furnish(performance.stage, one, self.improvised)
                settle_furnished(performance.stage, trigger)
        if options.concurrent > 1:
            trigger = with_another(trigger)
        self.improvised.keep()
        places = {value: At(f"{VARIABLE}{name}") for name, value in trigger.variables.items()}
        bodies = {json.dumps(overlaid(self._web, [one.mend for one in hints.of(HTTP)])): HTTP}
        return Setting(performance, trigger, places, bodies)

    def _trigger(self, performance: Performance, options: Options, sample: Inputs) -> Trigger:
        """What feeds the handler: as the template says, or as is usual."""
        meant, stage = self._meant, performance.stage
        if meant is None:
            return _usual(stage, options, sample, self._wanted("", None))

        def of_kind(feed: Feed, kind: Kind) -> tuple[tuple[str, ...], Mapping[str, str]]:
            made = sample_for(replace(options, trigger=kind), self._wanted("", None), self.file)
            return called_event(feed, made.texts) if options.bodies is None else made.texts, made.guesses

        declared = _declared(stage, meant, options, self._deployments, self._wanted, of_kind, sample)
        if self._subject is None:
            performance.subject = _inline(stage, declared, meant.template.file, self._directory)
        return declared.trigger


def _command(subject: Subject, meant: Chosen | None, options: Options) -> str:
    """The command that proves a handler again: by its function in the template, or by its file."""
    template = "" if options.template is None else f" --template {shortly(options.template)}"
    if meant is not None and meant.function is not None:
        return f"redrive prove{template} --function {meant.function.logical_id}"
    if not isinstance(subject, NamedSubject):
        return ""
    return f"redrive prove {shortly(subject.file)}:{subject.function}{template}"


def _told_of(hints: Hints) -> dict[str, str]:
    """The changes for the user; variables are told apart."""
    return dict(told(one) for one in hints.all if not one.mend.at.source.startswith(VARIABLE))


def performed_with(subject: Subject, options: Options) -> Callable[[int], Performance]:
    """Makes performances of a handler, by their seeds."""
    return lambda seed: Performance(subject, seed=seed, given=options.given, is_warm=options.warm)


def _meant(subject: Subject | None, options: Options, directory: Path) -> Chosen | None:
    """What the template says of the function under proof; None without a template."""
    if options.template is None:
        return None
    return chosen(
        options.template, options.parameters, subject, directory, logical_id=options.function, kind=options.trigger,
        rule=options.rule, text=options.template_text, kept=options.kept,
    )  # fmt: skip


def _declared(
    stage: Stage, meant: Chosen, options: Options, deployments: Deployments,
    wanted: Callable[[str, Path | None], Wanted], of_kind: Sample, sample: Inputs,
) -> Declared:  # fmt: skip
    """The trigger in front of the handler, from a template."""
    if meant.is_bare:
        usual = partial(_usual, stage, options, sample, wanted("", None))
        return bare_trigger(stage, meant.template, usual, deployments)
    if meant.function is not None and options.rule is None:
        return function_trigger(
            stage, meant.template, meant.function, options.bodies, deployments=deployments, wanted=wanted("", None),
            kind=options.trigger, sample=of_kind,
        )  # fmt: skip
    name = "" if meant.subject is None else meant.subject.name
    return declared_trigger(
        stage, meant.template, name, options.bodies, deployments=deployments, wanted=wanted, kind=options.trigger,
        rule=options.rule,
    )  # fmt: skip


def _usual(stage: Stage, options: Options, sample: Inputs, wanted: Wanted) -> Trigger:
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
