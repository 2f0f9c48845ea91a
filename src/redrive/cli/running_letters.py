"""What the commands share that run a plan: the files, the progress, and the account at the end."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from redrive.cli.clients import Place
from redrive.cli.letter_gates import WantedGates
from redrive.cli.letter_logs import Evidences
from redrive.cli.output import print_json, print_table, wants_json
from redrive.cli.paragraphs import print_paragraph
from redrive.cli.passing_time import time_of
from redrive.cli.reading_letters import WAIT_S_ON_AWS, counted, look_at
from redrive.core.clock import Instant, format_instant
from redrive.core.errors import UserError
from redrive.deadletters.account import Account
from redrive.deadletters.changed_events import UnchangedEvents
from redrive.deadletters.contents import Contents
from redrive.deadletters.destinations import SourcesOf
from redrive.deadletters.gates import Gate
from redrive.deadletters.hiding import Hidden
from redrive.deadletters.journal import Journal
from redrive.deadletters.moving import Moving, refused_by, why_not
from redrive.deadletters.peek import HIDDEN_S_MAX, depth_of, hidden_s_for
from redrive.deadletters.plan import By, MalformedPlan, Plan, read_plan
from redrive.deadletters.ports import Ports
from redrive.deadletters.preflighted import Preflighted
from redrive.deadletters.run_files import discarded_of, export_letters, journal_of, opened_journal
from redrive.deadletters.running import Redriving
from redrive.deadletters.sending import Sender
from redrive.deadletters.sorting import Refined, Wishes, as_it_is
from redrive.deadletters.sources import Source, find_sources
from redrive.deadletters.streams import Streams
from redrive.deadletters.watching import FirstLetters

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

THREADS = 8
"""How many requests are under way at the same time. A client of boto3 keeps ten connections."""

FINDING, REFUSED = 1, 4


def read_plan_file(file: Path) -> Plan:
    """The plan in a file. Errors: UserError."""
    try:
        return read_plan(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, MalformedPlan) as error:
        raise UserError(f"The plan {file} cannot be used: {error}.", exit_code=2) from error


def run_plan(
    place: Place, plan: Plan, plan_file: Path, journal_file: Path | None, wishes: Wishes,
    wanted: WantedGates | None = None, *, as_json: bool,
) -> None:  # fmt: skip
    """Run a plan, print the account, and end with its exit code. Errors: UserError."""
    journal_file = journal_file or journal_of(plan_file)
    account = account_of(place, plan, plan_file, journal_file, wishes, wanted)
    if wants_json(as_json):
        print_json(account.document | {"journal": str(journal_file)})
    else:
        _print(account, journal_file)
    if account.gated:
        sys.exit(REFUSED)
    if account.stopped or account.doubtful or account.undeleted or account.refused or account.came_back:
        sys.exit(FINDING)


def account_of(
    place: Place, plan: Plan, plan_file: Path, journal_file: Path, wishes: Wishes, wanted: WantedGates | None
) -> Account:
    """Run a plan. Errors: UserError."""
    now, wait = time_of(place)
    gates: list[Gate] = [UnchangedEvents(place.client)]
    asked = None if wanted is None else wanted.gates(place, plan.queue, now, plan.keys)
    if asked is not None:
        gates.append(Preflighted(place.client, now, asked))
    sources = sources_with_queues(place, plan.queue)
    is_by_task = plan.by is By.MOVE_TASK and _is_right(place, plan, sources, gates)
    with opened_journal(journal_file, plan.queue) as journal:
        if is_by_task or journal.move is not None:
            return _by_task(place, plan, journal, now, wait)
        ports = Ports(
            place.client("sqs"), Sender(place.client_once), journal, now, wait, sources,
            partial(export_letters, discarded_of(plan_file)), gates,
            watch=FirstLetters(place.client, now, None if asked is None else asked.memory),
            contents=Contents(place.client, Streams(place.client, now)), refined=_refined(place, plan),
        )  # fmt: skip
        return _by_letters(place, plan, ports, wishes)


def _refined(place: Place, plan: Plan) -> Refined:
    """Gives letters the errors that logs tell, if the plan was made with them."""
    if not plan.logs:
        return as_it_is
    evidences = Evidences(place, plan.queue)
    return lambda letter: evidences.of(letter)[0]


def _by_letters(place: Place, plan: Plan, ports: Ports, wishes: Wishes) -> Account:
    sqs = ports.sqs
    depth = depth_of(sqs, plan.queue)
    if depth.hidden:
        click.echo(f"{depth.hidden} letters are hidden: a run that was killed, or somebody else, has them.", err=True)
    hidden_s = hidden_s_for(depth.visible) + plan.canary.watch_s
    if plan.rate is not None:
        hidden_s += int(10 / plan.rate)
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as receipts, ThreadPoolExecutor(THREADS) as threads,
        _progress(depth.visible) as bar,
    ):  # fmt: skip
        hidden = Hidden(
            sqs, plan.queue, receipts, hidden_s=min(HIDDEN_S_MAX, hidden_s),
            wait_s=WAIT_S_ON_AWS if place.is_aws else 0, now=ports.now,
        )  # fmt: skip
        run = Redriving(plan, replace(ports, spread=threads.map), hidden, wishes)
        seen = 0
        for account in run.rounds():
            bar.update(account.seen - seen)
            seen = account.seen
        return run.account


def _is_right(place: Place, plan: Plan, sources: SourcesOf, gates: Sequence[Gate]) -> bool:
    """Whether a message move task does what the plan says, for the letters that are in the queue now; says why not."""
    why = why_not(plan, sources())
    if not why:
        with look_at(place, plan.queue) as (look, depth):
            letters = map(_refined(place, plan), counted(look.letters(), depth.visible, "checking"))
            why = refused_by(letters, plan, gates)
    if why:
        click.echo(f"Not by a message move task, but letter by letter: {why}.", err=True)
    return not why


def _by_task(
    place: Place, plan: Plan, journal: Journal, now: Callable[[], Instant], wait: Callable[[float], None]
) -> Account:
    sqs = place.client("sqs")
    depth = depth_of(sqs, plan.queue)
    click.echo("SQS moves the queue by a message move task; Ctrl-C cancels it.", err=True)
    run = Moving(plan, _arn(sqs, plan.queue), place.client_once("sqs"), journal, now, wait)
    with _progress(depth.visible) as bar:
        seen = 0
        for account in run.rounds():
            bar.update(account.seen - seen)
            seen = account.seen
    return run.account


def _progress(length: int) -> ProgressBar[int]:
    shown: ProgressBar[int] = click.progressbar(
        length=length, label="redriving", file=sys.stderr, hidden=not sys.stderr.isatty()
    )
    return shown


def sources_with_queues(place: Place, url: str) -> SourcesOf:
    """Finds the sources of a queue's letters, source queues too, once and if it is called."""

    @cache
    def sources() -> Sequence[Source]:
        arn = _arn(place.client("sqs"), url)
        return find_sources(place.client, {url: arn}).of(arn)

    return sources


def _arn(sqs: Any, url: str) -> str:
    return str(sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"])


def _print(account: Account, journal_file: Path) -> None:
    told = (
        ("sent", account.sent), ("discarded", account.discarded),
        ("done by an earlier run, deleted now", account.finished),
        ("refused by a gate, stay", account.gated), ("sent although a gate refused", account.overridden),
        ("refused where they were sent, stay", account.refused), ("failed again, stay", account.came_back),
        ("doubtful, stay", len(account.doubtful)), ("done, not deleted yet", account.undeleted),
    )  # fmt: skip
    print_table(("letters", ""), [(str(count), what) for what, count in told if count], right=("letters",))
    console = Console(highlight=False)
    for reason, count in account.discards.most_common():
        print_paragraph(console, f"{count} discarded: {reason}", first="  ")
    for reason, count in account.stays.most_common():
        print_paragraph(console, f"{count} stay: {reason}", first="  ")
        for sample in account.samples[reason]:
            click.echo(f"    {sample}")
    if account.records:
        until = "not known" if account.records_until is None else f"at {format_instant(account.records_until)}"
        click.echo(f"{account.records} of these are batches, whose first records the streams drop: {until}")
    if account.doubtful:
        click.echo(f"Doubtful, because no answer tells whether they were accepted: {', '.join(account.doubtful)}")
        click.echo("  Look where they were sent; to send them again: --resend-doubtful")
    if account.undeleted:
        click.echo("Letters that were sent are still in the queue: run the plan again, and they are only deleted.")
    if account.stopped:
        click.echo(f"The run was stopped: {account.stopped}.")
    click.echo(f"  The journal: {journal_file}", err=True)
