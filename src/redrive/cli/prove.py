"""`redrive prove MODULE:HANDLER`: searches for a history in which a handler loses or repeats work."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click
from rich.console import Console

from redrive.cli.prove_choices import Choices, choice_options
from redrive.cli.prove_loading import load_engine
from redrive.cli.prove_outputs import Outputs, output_options, write_file
from redrive.cli.prove_progress import (
    FIRST_RUN,
    INTERRUPTED,
    LIVE_EVERY_MS,
    PROGRESS_EVERY_MS,
    Budget,
    cropped,
    print_line,
    progress_told_by,
)
from redrive.cli.prove_report import print_verdict
from redrive.cli.prove_targets import entrances_of, shown, targets_of, templates_of
from redrive.core.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from redrive.packaging.kept import Kept
    from redrive.prove.judge.judge import Invariant
    from redrive.prove.process.subject import NamedSubject
    from redrive.prove.search.options import Options
    from redrive.prove.search.order import Progress
    from redrive.prove.stage.trigger import Kind
    from redrive.prove.tell.result import Result
    from redrive.prove.tell.verdict import Verdict
    from redrive.prove.whole import Provable

TRIGGERS = (
    "sqs", "fifo", "eventbridge", "schedule", "lambda", "s3", "sns", "kinesis", "dynamodb", "task", "api",
)  # fmt: skip
"""The values of `redrive.prove.stage.trigger.Kind`, which is imported when a proof begins."""


@click.command()
@click.argument("handler", required=False, metavar="MODULE:HANDLER")
@click.option("--event", "events", multiple=True, type=click.Path(path_type=Path), help="An event in JSON; repeatable.")
@click.option("--system", type=click.Path(path_type=Path), metavar="TEMPLATE", help="Prove all its functions together.")
@click.option("--entrance", metavar="LOGICAL_ID", help="Where the event comes into the system.")
@click.option("--faults", type=click.IntRange(0, 6), help="Up to how many faults.  [default: 3; of a system 2]")
@click.option("--trigger", type=click.Choice(TRIGGERS), help="What feeds it.")
@click.option("--event-type", help="The kind of AWS's own event to make, as in 'Object Created'.")
@click.option("--rule", metavar="LOGICAL_ID", help="Which of the template's rules invokes it.")
@click.option("--save-event", type=click.Path(path_type=Path), help="Write the event to a file, to change it.")
@click.option("--template", type=click.Path(path_type=Path), help="The template with queue and tables.")
@click.option(
    "--all", "is_all", is_flag=True, help="Prove all functions, or all entrances of a system, one after the other."
)
@click.option("--function", default="", metavar="LOGICAL_ID", help="Which of the template's functions to prove.")
@click.option("--env", "variables", multiple=True, metavar="NAME=VALUE", help="A variable; repeatable.")
@click.option("--env-file", type=click.Path(path_type=Path), help="A file of variables, NAME=VALUE in each line.")
@click.option("--root", type=click.Path(path_type=Path), help="The folder from which the handler imports.")
@click.option("-p", "--parameter", "parameters", multiple=True, metavar="KEY=VALUE", help="A parameter; repeatable.")
@click.option("--config-env", help="The environment in samconfig.toml whose parameters hold.  [default: default]")
@click.option("--effect", "effects", multiple=True, metavar="PATTERN", help="Calls that are effects; repeatable.")
@click.option("--ignore", "ignored", multiple=True, metavar="PATTERN", help="Calls that are none; repeatable.")
@click.option("--given", type=click.Path(path_type=Path), help="What is there beforehand, and HTTP answers.")
@click.option("--ledger", "ledgers", multiple=True, metavar="TABLE", help="The handler's memory; repeatable.")
@click.option("--invariant", "invariants", multiple=True, metavar="MODULE:FUNCTION", help="What holds in the end.")
@click.option("--stable-results", is_flag=True, help="Have repeated deliveries return what the first one returned.")
@click.option("--seconds", type=click.FloatRange(0, min_open=True), help="Stop the search after so many seconds.")
@click.option("--pass-at", type=click.IntRange(0, 6), metavar="FAULTS", help="Pass if so many faults were complete.")
@click.option("--jobs", type=click.IntRange(1, 64), help="How many search.  [default: one per processor, up to 8]")
@click.option("--seed", default=0, show_default=True, help="What ids and the handler's randomness follow from.")
@click.option("--export", type=click.Path(path_type=Path), help="Write a counterexample as a pytest file.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="How to print the result.")
@choice_options
@output_options
def command(
    handler: str | None, events: tuple[Path, ...], system: Path | None, entrance: str | None, faults: int | None,
    trigger: str | None, event_type: str | None, rule: str | None, save_event: Path | None, template: Path | None,
    is_all: bool, function: str, variables: tuple[str, ...], env_file: Path | None, root: Path | None,
    parameters: tuple[str, ...], config_env: str | None, effects: tuple[str, ...], ignored: tuple[str, ...],
    given: Path | None, ledgers: tuple[str, ...], invariants: tuple[str, ...], stable_results: bool,
    seconds: float | None, pass_at: int | None, jobs: int | None, seed: int, export: Path | None, output: str,
    outputs: Outputs, choices: Choices,
) -> None:  # fmt: skip
    """Search for a history in which a handler of messages or events loses work, repeats it, or leaves it stuck.

    The handler runs in this process, its calls are answered here, and nothing leaves it. In a history, runs crash,
    calls fail or lose their answers, messages come twice, at once or days later, and dead letters are redriven. A queue
    feeds the handler, or whatever the template or --trigger says: events, a stream, a task of Step Functions,
    an API. With --system all functions of a template run together: one event comes in, and faults strike anywhere.
    Without MODULE:HANDLER the functions of the project's template are proved: of SAM or CloudFormation, of the CDK's
    output in cdk.out, or of Terraform's plan (terraform show -json). Exit code 1 if there is such a history; 2 if a
    function cannot be proved; 3 if the search was stopped by --seconds before it had played all of them, or those with
    as many faults as --pass-at says; 130 after Ctrl-C, with the result so far.

    PATTERN is SERVICE:OPERATION:NAME with wildcards, as in 'dynamodb:PutItem:reports*' or
    'http:POST:api.example.com/charges*'. What is not to be looked at can also be an attribute of an item or a parameter
    of a call: --ignore 'dynamodb:UpdateItem:reports#attempts'.
    """
    _require_one_subject(handler, system, entrance)
    templates = templates_of(system or template, is_looked_for=handler is None or bool(function))
    load_engine(handler or ", ".join(map(shown, templates)) or Path.cwd().name, is_system=system is not None)
    from redrive.prove.calls.given import NOTHING_GIVEN, read_given
    from redrive.prove.project.environment import FILE, pairs_of
    from redrive.prove.search.options import FAULTS_DEFAULT, FAULTS_OF_SYSTEMS, Options
    from redrive.prove.search.processes import usual_jobs

    template = system or template
    _require_template(rule, template)
    given_parameters = pairs_of(parameters, "--parameter")
    options = choices.applied_to(Options(
        faults=(FAULTS_DEFAULT if system is None else FAULTS_OF_SYSTEMS) if faults is None else faults,
        is_system=system is not None, entrance=entrance, seed=seed, template=template,
        trigger=_kind(trigger, event_type, template), function=function,
        variables={**_variables_in(env_file), **pairs_of(variables, "--env")}, defaults=_variables_in(Path(FILE)),
        event_type=event_type, rule=rule, told_events=_saver(save_event), bodies=_bodies(events),
        parameters=_configured(template, config_env) | given_parameters, effects=effects, ignored=ignored,
        ledgers=ledgers, invariants=tuple(map(_invariant, invariants)), stable_results=stable_results,
        jobs=jobs or usual_jobs(), kept=_kept(), given=NOTHING_GIVEN if given is None else read_given(given),
    ))  # fmt: skip
    _require_searched(pass_at, options.faults)
    budget = Budget(seconds)

    def options_of(found: Path | None, logical_id: str, label: str = "") -> Options:
        given = _configured(found, config_env) | given_parameters
        return replace(options, template=found, function=logical_id, parameters=given, label=label)

    def prove_each(found: Sequence[Provable], options_for: Callable[[Provable], Options]) -> NoReturn:
        _require_one_function(len(found), events or None, save_event, export, choices.reason, entrance)
        raise SystemExit(_prove_whole(found, options_for, budget, output, outputs, pass_at))

    if system is not None and is_all:
        prove_each(entrances_of(system, options), lambda one: replace(options, entrance=one.entrance, label=one.label))
    if handler is None and rule is None and system is None:
        targets = targets_of(templates, options, options_of, is_all=is_all)
        if len(targets) > 1 or is_all:
            prove_each(targets, lambda one: options_of(one.template, one.function, one.label))
        handler = targets[0].handler or None
        options = options_of(targets[0].template, targets[0].function, targets[0].label)
    elif function and template is None:
        meant = targets_of(templates, options, options_of, is_all=False)[0]
        options = options_of(meant.template, meant.function, meant.label)
    subject = _subject(handler, root)
    code = _prove_one(subject, options, budget, outputs, choices, output=output, export=export, pass_at=pass_at)
    raise SystemExit(code)


def _kept() -> Kept:
    """The place in this project where results are kept that follow from their input alone."""
    from redrive.packaging.kept import KeptInProject

    return KeptInProject(Path.cwd())


def _bodies(files: Sequence[Path]) -> tuple[str, ...] | None:
    """The messages of event files; None if there is none. Errors: UserError."""
    from redrive.prove.stage.trigger import read_event

    return tuple(body for file in files for body in read_event(file)) or None


def _variables_in(file: Path | None) -> dict[str, str]:
    """The variables in a file; none if there is no file of the usual name. Errors: UserError."""
    from redrive.prove.project.environment import FILE, read_variables

    if file is None or (file == Path(FILE) and not file.is_file()):
        return {}
    return dict(read_variables(file))


def _require_template(rule: str | None, template: Path | None) -> None:
    if rule is not None and template is None:
        raise UserError("--rule names a rule of a template.", next_step="Give --template FILE.", exit_code=2)


def _require_searched(pass_at: int | None, faults: int) -> None:
    if pass_at is not None and pass_at > faults:
        raise UserError(
            f"--pass-at {pass_at} asks for more faults than are searched: {faults}.",
            next_step=f"Search more of them: --faults {pass_at}.", exit_code=2,
        )  # fmt: skip


def _require_one_function(count: int, *about_one: object) -> None:
    if any(given is not None for given in about_one):
        raise UserError(
            f"--event, --save-event, --export and --accept are about one function, and {count} are proved.",
            next_step="Name one with --function LOGICAL_ID.", exit_code=2,
        )  # fmt: skip


def _prove_one(
    subject: NamedSubject | None, options: Options, budget: Budget, outputs: Outputs, choices: Choices, *, output: str,
    export: Path | None, pass_at: int | None,
) -> int:  # fmt: skip
    """Prove one handler, and print the verdict; returns the exit code."""
    from redrive.cli.prove_result import refused, result_of
    from redrive.core.clock import monotonic_ms
    from redrive.prove.tell.result import exit_code

    console = Console(stderr=True)
    begun_at = monotonic_ms()
    with budget.interruptible(), console.status(FIRST_RUN) as status:
        live = progress_told_by(lambda text: status.update(cropped(text, console.width)), LIVE_EVERY_MS)
        progress = live if console.is_terminal else progress_told_by(print_line, PROGRESS_EVERY_MS)
        try:
            verdict = _proved(subject, options, progress, budget.begin())
        except UserError as error:
            outputs.write([refused(error, subject, options, monotonic_ms() - begun_at)])
            raise
    result = result_of(verdict, options, monotonic_ms() - begun_at, pass_at)
    if output == "json":
        click.echo(verdict.as_json())
    else:
        print_verdict(verdict)
    outputs.write([result])
    _record([result])
    if verdict.counterexample is not None and export is not None:
        from redrive.prove.tell.export import as_test

        write_file(export, as_test(verdict, options, file=export, root=None if subject is None else subject.root))
        click.echo(f"The history is in {export}: a test that fails until the handler is mended.", err=True)
    is_accepted = choices.accept(verdict, options)
    return INTERRUPTED if budget.is_interrupted else 0 if is_accepted else exit_code([result])


def _record(results: Sequence[Result]) -> None:
    from redrive.cli.prove_records import record_verdicts
    from redrive.core.clock import SystemClock

    record_verdicts(results, Path.cwd(), SystemClock().now())


def _proved(
    subject: NamedSubject | None, options: Options, progress: Progress, may_go_on: Callable[[], bool]
) -> Verdict:  # fmt: skip
    from redrive.prove.process.garbage import seldom_collected
    from redrive.prove.proving import prove

    with seldom_collected():
        if options.is_system:
            from redrive.prove.system.proving import prove_system

            return prove_system(options, progress=progress, may_go_on=may_go_on)
        return prove(subject, options, progress=progress, may_go_on=may_go_on)


def _require_one_subject(handler: str | None, system: Path | None, entrance: str | None) -> None:
    if handler is not None and system is not None:
        raise UserError(
            "A handler is proved, or a system.", next_step="Leave out the handler, or --system.", exit_code=2
        )
    if entrance is not None and system is None:
        raise UserError("--entrance is of a system.", next_step="Give --system TEMPLATE.", exit_code=2)


def _kind(trigger: str | None, event_type: str | None, template: Path | None) -> Kind | None:
    """What feeds the handler, as far as the command line says it: a kind of event is one of EventBridge."""
    from redrive.prove.stage.trigger import Kind

    if trigger is not None:
        return Kind(trigger)
    return Kind.EVENTBRIDGE if event_type is not None and template is None else None


def _saver(file: Path | None) -> Callable[[Sequence[str]], None]:
    """Writes the events to a file that --event can read, before the handler runs for the first time."""

    def save(events: Sequence[str]) -> None:
        if file is not None:
            documents = [json.loads(event) for event in events]
            content = json.dumps(documents[0] if len(documents) == 1 else documents, indent=2, ensure_ascii=False)
            file.write_text(content + "\n", "utf-8")
            click.echo(f"The event is in {file}. Change it, and give it with --event {file}.", err=True)

    return save


def _subject(handler: str | None, root: Path | None) -> NamedSubject | None:
    from redrive.prove.process.subject import subject_of

    return None if handler is None else subject_of(handler, Path.cwd(), imports=root)


def _prove_whole(
    targets: Sequence[Provable], options_of: Callable[[Provable], Options], budget: Budget, output: str,
    outputs: Outputs, pass_at: int | None,
) -> int:  # fmt: skip
    """Prove several functions, or a system from several entrances; returns the exit code."""
    from redrive.cli.prove_all import print_json, print_table, tell_row
    from redrive.core.clock import monotonic_ms
    from redrive.prove.tell.result import exit_code
    from redrive.prove.whole import Row, prove_all

    done: list[Row] = []

    def tell(row: Row) -> None:
        done.append(row)
        tell_row(row, len(done), len(targets))

    console = Console(stderr=True)
    with budget.interruptible(), console.status("") as status:

        def progress(target: Provable) -> Progress:
            if not console.is_terminal:
                return progress_told_by(print_line, PROGRESS_EVERY_MS)

            def show(text: str) -> None:
                status.update(cropped(f"{target.label}: {text}", console.width))

            show(FIRST_RUN)
            return progress_told_by(show, LIVE_EVERY_MS)

        rows = prove_all(
            targets, options_of, now_ms=monotonic_ms, progress=progress, may_go_on=budget.begin, told=tell,
            is_stopped=lambda: budget.is_interrupted, proves=_proved,
        )  # fmt: skip
    (print_json if output == "json" else print_table)(rows)
    results = [row.result(pass_at) for row in rows]
    outputs.write(results)
    _record(results)
    return INTERRUPTED if budget.is_interrupted else exit_code(results)


def _invariant(name: str) -> Invariant:
    module, _, function = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found: Invariant = getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise UserError(
            f"The invariant {name!r} cannot be found: {error}.", next_step="Write it as module:function.", exit_code=2
        ) from error
    finally:
        sys.path.remove(str(Path.cwd()))
    return found


def _configured(template: Path | None, environment: str | None) -> dict[str, str]:
    """The parameters that the project's samconfig.toml gives a template. Errors: UserError."""
    from redrive.packaging.samconfig import find_config, read_config

    file = None if template is None else find_config(template, None)
    return dict(read_config(file, environment).parameters)
