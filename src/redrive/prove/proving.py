"""A proof from beginning to end: a clean run, what it leaves behind, the search, and the counterexample on the wire."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from redrive.core.errors import Bug, UserError
from redrive.prove.making import performed_with, prepared
from redrive.prove.play.asked import TELLING_SERVICES
from redrive.prove.play.events import Event
from redrive.prove.play.faults import History, Leg, Strike
from redrive.prove.play.performance import Performance
from redrive.prove.play.transport import Short, Transport, Wire
from redrive.prove.process.garbage import seldom_collected
from redrive.prove.process.subject import NamedSubject, Subject
from redrive.prove.project.packages import shortly
from redrive.prove.search.baseline import Acceptance, acceptance_for
from redrive.prove.search.clean import Clean, learn, require_matches
from redrive.prove.search.options import DEFAULTS, Options
from redrive.prove.search.order import Found, Progress, Searched
from redrive.prove.search.processes import may_fork, search_in_processes
from redrive.prove.search.search import Search
from redrive.prove.stage.stage import Stage
from redrive.prove.tell.advice.case import Case
from redrive.prove.tell.named import example_named, named
from redrive.prove.tell.story import tell
from redrive.prove.tell.verdict import Bounds, Counterexample, Verdict, tried_told
from redrive.prove.world import EndedWorld, World, opened

TRIED_MAX = 300
"""How many histories are played at most to try a change of the source."""


def prove(
    subject: Subject | None, options: Options = DEFAULTS, *, progress: Progress = lambda *_: None,
    may_go_on: Callable[[], bool] = lambda: True,
) -> Verdict:  # fmt: skip
    """Search the histories of a handler for one that breaks a rule, while `may_go_on`.

    Without a subject, the code in the template is proved. Errors: UserError if the handler fails without any fault, has
    no visible effect, or behaves differently from run to run.
    """
    with prepared(subject, options) as world:
        return searched_in(world, options, progress=progress, may_go_on=may_go_on)


def searched_in(
    prepared: World, options: Options, *, progress: Progress = lambda *_: None,
    may_go_on: Callable[[], bool] = lambda: True,
) -> Verdict:  # fmt: skip
    """Search the histories of a world that is prepared."""
    acceptance = _acceptance(prepared, options)
    world, clean, searched, told = _searched(prepared, options, progress, may_go_on, acceptance)
    example = None if searched.found is None else _confirmed(world, options, searched.found)
    if example is not None:
        example = _tried(world, options, example, clean.effects)
    is_whole = searched.is_finished and searched.found is None and options.choice.is_whole
    verdict = replace(
        _verdict(world, options, clean, searched, example), system=told, accepted=acceptance.occurring,
        unmet=acceptance.unmet if is_whole else (),
    )  # fmt: skip
    return named(verdict)


def _acceptance(world: World, options: Options) -> Acceptance:
    return acceptance_for(options.accepted, {world.name, options.function, options.label} - {""})


def _learned(performance: Performance, world: World, options: Options, acceptance: Acceptance | None = None) -> Clean:
    """What a clean run leaves, and the judge of all others, who knows what is accepted."""
    clean = learn(performance, options, world.elsewhere, EndedWorld(performance), world.draws)
    accepts = (acceptance or _acceptance(world, options)).accepts
    return replace(clean, judge=replace(clean.judge, accepts=accepts))


def _searched(
    prepared: World, options: Options, progress: Progress, may_go_on: Callable[[], bool], acceptance: Acceptance
) -> tuple[World, Clean, Searched, Mapping[str, object]]:
    """Search on each draw that is to be judged, until a counterexample is found; with the world of the last draw."""
    whole: Searched | None = None
    for seed in prepared.draws.seeds:
        world = replace(prepared, seed=seed)
        with opened(world, Short) as performance:
            clean = _learned(performance, world, options, acceptance)
            require_matches(options, clean)
            told = world.told(performance, clean)
            if options.template is not None and world.subject is not None:
                world = replace(world, assumptions={**world.assumptions, **_not_followed(performance, clean, options)})
            search = world.search(performance, clean.judge, faults_max=options.faults, choice=options.choice)
            # A process of its own notes what it accepts.
            is_shared = options.jobs > 1 and may_fork() and not acceptance.entries
            with seldom_collected():
                searched = (
                    search_in_processes(search, options.jobs, progress, may_go_on)
                    if is_shared
                    else search.run(progress, may_go_on)
                )
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
    with prepared(subject, options) as world:
        return replayed_in(world, history, options)


def replayed_in(world: World, history: History, options: Options) -> Counterexample | None:
    """Play one history in a world that is prepared."""
    example, unmet = _played(world, options, history)
    if example is None and unmet:
        raise UserError(
            f"This history does not fit the handler any more: it does not come to {unmet[0]}.",
            next_step=f"Prove it again: redrive prove {world.name}", exit_code=2,
        )  # fmt: skip
    return None if example is None else example_named(example)


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
    changed = replace(world, subject=mended, performed=performed_with(mended, options))
    faults = max(1, sum(leg.faults for leg in example.history))
    left = iter(range(TRIED_MAX))
    try:
        again, _ = _played(changed, options, example.history, Short)
        with opened(changed, Short) as performance:
            clean = _learned(performance, world, options)
            search = Search(performance, clean.judge, faults_max=faults, choice=options.choice)
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
    with opened(world, transport) as performance:
        clean = _learned(performance, world, options)
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
            search = world.search(performance, clean.judge, faults_max=0, choice=options.choice)
            violation = search.finish(history, events)
        if violation is None:
            return None, unmet
        journal = performance.journal
        case = Case(
            violation, tuple(events), clean.judge.ledger, journal.key_names, journal.stable, source_of(world.subject)
        )  # fmt: skip
        advice = world.advice(case, world.trigger.bodies[0])
        whole = (*named, *history[len(named) :])
        return Counterexample(
            whole, violation, tell(events), advice.text, advice.cause, advice.change, culprit=case.culprit
        ), unmet


def source_of(subject: Subject | None) -> Callable[[str], str]:
    """The text of a file of the user's code, by the name that places have; empty if there is none."""
    root = subject.root if isinstance(subject, NamedSubject) else None

    def read(name: str) -> str:
        file = None if root is None else root / name
        return file.read_text("utf-8") if file is not None and file.is_file() else ""

    return read


def _not_followed(performance: Performance, clean: Clean, options: Options) -> Mapping[str, str]:
    """What others are told by the clean run of a single function: who they are, and what they do, is not looked at."""
    told: dict[str, str] = {}
    for call in clean.calls:
        if not call.changes or not call.target:
            continue
        how = f"what others do about it is proved by --system {shortly(options.template or Path())}"
        if call.service in TELLING_SERVICES:
            told[str(call)] = f"an effect by itself; {how}"
        elif call.service == "dynamodb":
            table = performance.stage.look_up("dynamodb", "DescribeTable", TableName=call.target)["Table"]
            if table.get("StreamSpecification", {}).get("StreamEnabled"):
                told[f"stream of {call.target}"] = f"read by nobody here; {how}"
    return told


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
        roots=world.roots or _roots(world.subject),
        choice=options.choice,
    )


def _roots(subject: Subject | None) -> Sequence[Path]:
    if isinstance(subject, NamedSubject):
        return subject.places
    return () if subject is None or subject.file is None else (subject.file.parent,)
