"""`redrive.testing.prove`: a proof of a handler as a test."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from redrive.core.clock import SECOND_MS, machine_ms
from redrive.prove import proving
from redrive.prove.calls.given import NOTHING_GIVEN, given_of
from redrive.prove.judge.judge import Invariant
from redrive.prove.play.faults import parse_history
from redrive.prove.process.subject import GivenSubject, Subject, subject_of
from redrive.prove.search.baseline import Accepted, read_baseline
from redrive.prove.search.choice import choice_of
from redrive.prove.search.options import FAULTS_DEFAULT, FAULTS_OF_SYSTEMS, Options
from redrive.prove.stage.trigger import Kind, bodies_of
from redrive.prove.system.proving import prove_system, replay_system
from redrive.prove.tell.verdict import Counterexample, Verdict

Handler = str | Callable[[object, object], object] | None


class Prove:
    """Proves handlers. `redrive.testing.prove` is its instance; it has no state."""

    def __call__(
        self,
        handler: Handler = None,
        *,
        event: object = None,
        trigger: str | None = None,
        faults: int = FAULTS_DEFAULT,
        template: str | Path | None = None,
        function: str = "",
        env: Mapping[str, str] | None = None,
        parameters: Mapping[str, str] | None = None,
        effects: Sequence[str] = (),
        ignore: Sequence[str] = (),
        ledgers: Sequence[str] = (),
        invariants: Sequence[Invariant] = (),
        stable_results: bool = False,
        given: Mapping[str, object] | None = None,
        seed: int = 0,
        root: str | Path | None = None,
        only: Sequence[str] = (),
        without: Sequence[str] = (),
        baseline: str | Path | None = None,
        warm: bool = True,
        concurrent: int = 1,
    ) -> Verdict:
        """Search the histories of a handler, and fail with the story of one that loses or repeats work.

            def test_reports_are_written_once():
                redrive.testing.prove("app:handler", template="template.yaml")

        `handler` is `module:function`, importable from `root` (the working directory) and imported anew for each run;
        or a callable, which is used as it is; or None for the code in the template. `trigger` is one
        of `redrive prove --trigger`; None takes the template's, or a queue. `given` is what a file of `--given` says.
        `function` is the logical id of one of the template's functions, and `env` are variables of the handler.
        `only` and `without` name the faults that are tried or left out; `baseline` is a file of accepted findings, as
        --baseline has it. `warm`: whether environments of earlier runs are used again; a callable keeps its state in
        any case. With `concurrent` 2, another message is worked on at once: `event` may be a list of two.
        Returns the verdict with its bounds. Errors: AssertionError with the counterexample; UserError as in `redrive
        prove`.
        """
        options = Options(
            faults=faults, seed=seed, bodies=_bodies(event), trigger=_kind(trigger),
            template=None if template is None else Path(template), parameters=parameters or {},
            function=function, variables=env or {},
            effects=tuple(effects), ignored=tuple(ignore), ledgers=tuple(ledgers), invariants=tuple(invariants),
            stable_results=stable_results, given=NOTHING_GIVEN if given is None else given_of(given),
        )  # fmt: skip
        options = replace(
            options, choice=choice_of(only, without), accepted=_accepted(baseline), warm=warm, concurrent=concurrent,
        )  # fmt: skip
        verdict = proving.prove(_subject(handler, root), options)
        found = verdict.counterexample
        if found is not None:
            history = json.dumps([str(leg) for leg in found.history])
            raise AssertionError(
                f"{verdict.handler}: {verdict.sentence}\n{_told(found)}\n"
                f"Play it again: redrive.testing.prove.replay(…, history={history})"
            )
        return verdict

    @staticmethod
    def replay(
        handler: Handler = None,
        *,
        history: Sequence[str],
        messages: Sequence[str] | None = None,
        trigger: str | None = None,
        template: str | Path | None = None,
        function: str = "",
        env: Mapping[str, str] | None = None,
        parameters: Mapping[str, str] | None = None,
        effects: Sequence[str] = (),
        ignore: Sequence[str] = (),
        ledgers: Sequence[str] = (),
        invariants: Sequence[Invariant] = (),
        stable_results: bool = False,
        given: Mapping[str, object] | None = None,
        seed: int = 0,
        root: str | Path | None = None,
        concurrent: int = 1,
    ) -> None:
        """Play one history through the whole wire, and fail with its story if it loses or repeats work.

        `history` is in the format of `redrive prove --export`. Errors: as in `prove`; UserError if the handler no
        longer makes a call that the history names.
        """
        options = Options(
            seed=seed, bodies=None if messages is None else tuple(messages), trigger=_kind(trigger),
            parameters=parameters or {}, function=function, variables=env or {},
            template=None if template is None else Path(template), effects=tuple(effects), ignored=tuple(ignore),
            ledgers=tuple(ledgers), invariants=tuple(invariants), stable_results=stable_results,
            given=NOTHING_GIVEN if given is None else given_of(given), concurrent=concurrent,
        )  # fmt: skip
        found = proving.replay(_subject(handler, root), parse_history(history), options)
        if found is not None:
            raise AssertionError(_told(found))

    @staticmethod
    def replay_system(
        *,
        template: str | Path,
        history: Sequence[str],
        messages: Sequence[str] | None = None,
        entrance: str | None = None,
        parameters: Mapping[str, str] | None = None,
        effects: Sequence[str] = (),
        ignore: Sequence[str] = (),
        ledgers: Sequence[str] = (),
        invariants: Sequence[Invariant] = (),
        stable_results: bool = False,
        given: Mapping[str, object] | None = None,
        seed: int = 0,
    ) -> None:
        """Play one history of a template's functions together, and fail with its story if it loses or repeats work.

        `history` is in the format of `redrive prove --system --export`. Errors: as in `replay`.
        """
        options = Options(
            seed=seed, bodies=None if messages is None else tuple(messages), parameters=parameters or {},
            template=Path(template), effects=tuple(effects), ignored=tuple(ignore), ledgers=tuple(ledgers),
            invariants=tuple(invariants), stable_results=stable_results, is_system=True, entrance=entrance,
            given=NOTHING_GIVEN if given is None else given_of(given),
        )  # fmt: skip
        found = replay_system(parse_history(history), options)
        if found is not None:
            raise AssertionError(_told(found))

    @staticmethod
    def system(
        template: str | Path,
        *,
        event: object = None,
        entrance: str | None = None,
        faults: int = FAULTS_OF_SYSTEMS,
        parameters: Mapping[str, str] | None = None,
        effects: Sequence[str] = (),
        ignore: Sequence[str] = (),
        ledgers: Sequence[str] = (),
        invariants: Sequence[Invariant] = (),
        given: Mapping[str, object] | None = None,
        seed: int = 0,
        only: Sequence[str] = (),
        without: Sequence[str] = (),
        baseline: str | Path | None = None,
    ) -> Verdict:
        """Search the histories of a template's functions together, and fail with the story of one that breaks a rule.

            def test_an_order_is_billed_and_shipped_once():
                redrive.testing.prove.system("template.yaml", event={"order": "o-1"})

        `entrance` is the logical id of where the event comes in; `only`, `without` and `baseline` are as in `prove`.
        Errors: as in `prove`.
        """
        options = Options(
            faults=faults, seed=seed, bodies=None if event is None else bodies_of(event), parameters=parameters or {},
            template=Path(template), effects=tuple(effects), ignored=tuple(ignore), ledgers=tuple(ledgers),
            invariants=tuple(invariants), is_system=True, entrance=entrance,
            given=NOTHING_GIVEN if given is None else given_of(given),
        )  # fmt: skip
        options = replace(options, choice=choice_of(only, without), accepted=_accepted(baseline))
        verdict = prove_system(options)
        found = verdict.counterexample
        if found is not None:
            raise AssertionError(f"{verdict.handler}: {verdict.sentence}\n{_told(found)}")
        return verdict


def _accepted(baseline: str | Path | None) -> tuple[Accepted, ...]:
    """The entries of a file that hold today."""
    if baseline is None:
        return ()
    today = datetime.fromtimestamp(machine_ms() / SECOND_MS, UTC).date()
    return tuple(one for one in read_baseline(Path(baseline)) if one.holds_on(today))


def _bodies(event: object) -> tuple[str, ...] | None:
    """The messages of an event, or of several."""
    if event is None:
        return None
    return tuple(body for one in (event if isinstance(event, list) else [event]) for body in bodies_of(one))


def _kind(trigger: str | None) -> Kind | None:
    return None if trigger is None else Kind(trigger)


def _subject(handler: Handler, root: str | Path | None) -> Subject | None:
    if handler is None:
        return None
    return subject_of(handler, Path(root or Path.cwd())) if isinstance(handler, str) else GivenSubject(handler)


def _told(found: Counterexample) -> str:
    lines = [found.violation.sentence, ""]
    for number, step in enumerate(found.steps, 1):
        lines.append(f"{number:>3}. {step.at:<10} {step.text}")
        if step.place is not None:
            lines.append(f"{'':16}{step.place.told}")
    change = [] if found.change is None else ["", found.change.diff, "", found.tried]
    return "\n".join([*lines, "", found.advice, *change])
