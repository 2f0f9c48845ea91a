"""What the commands share that run a plan: the files, the progress, and the account at the end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from redrive.cli.clients import Place
from redrive.cli.letter_gates import WantedGates
from redrive.cli.letter_logs import Evidences
from redrive.cli.output import print_json, print_table, wants_json
from redrive.cli.paragraphs import print_paragraph
from redrive.cli.passing_time import time_of
from redrive.cli.reading_letters import counted, look_at
from redrive.cli.telling_redrives import teller
from redrive.core.clock import Instant, format_instant
from redrive.deadletters.account import Account
from redrive.deadletters.assembly import Means, assembled, mend
from redrive.deadletters.destinations import SourcesOf
from redrive.deadletters.journal import Journal
from redrive.deadletters.letter import Letter
from redrive.deadletters.moving import Moving, digest_of, refused_by, why_not
from redrive.deadletters.peek import WAIT_S_ON_AWS, depth_of
from redrive.deadletters.plan import By, Plan
from redrive.deadletters.run_files import journal_of, opened_journal
from redrive.deadletters.sorting import Refined, Wishes, as_it_is
from redrive.deadletters.sources import Source, find_sources

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

FINDING, REFUSED = 1, 4


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
    means = Means(
        client=place.client, client_once=place.client_once, now=now, wait=wait,
        sources=sources_with_queues(place, plan.queue), beside=plan_file,
        wait_s=WAIT_S_ON_AWS if place.is_aws else 0,
        gates=None if wanted is None else wanted.gates(place, plan.queue, now, plan.keys),
        refined=_refined(place, plan),
        say=lambda text: click.echo(text, err=True),
        tell=teller(place, plan_file.name, cache(lambda: arn_of(place, plan.queue))),
    )  # fmt: skip
    digests: dict[str, str] = {}
    is_by_task = plan.by is By.MOVE_TASK and _is_right(place, plan, means, digests)
    with opened_journal(journal_file, plan.queue) as journal:
        mend(plan, journal, means, wishes)
        if is_by_task and journal.move is None:
            journal.to_move(digests, now())
        if is_by_task or journal.move is not None:
            return _by_task(place, plan, journal, now, wait)
        return _by_letters(plan, journal, means, wishes)


def _refined(place: Place, plan: Plan) -> Refined:
    """Gives letters the errors that logs tell, if the plan was made with them."""
    if not plan.logs:
        return as_it_is
    evidences = Evidences(place, plan.queue)
    return lambda letter: evidences.of(letter)[0]


def _by_letters(plan: Plan, journal: Journal, means: Means, wishes: Wishes) -> Account:
    depth = depth_of(means.client("sqs"), plan.queue)
    if depth.hidden:
        click.echo(f"{depth.hidden} letters are hidden: a run that was killed, or somebody else, has them.", err=True)
    with _progress(depth.visible) as bar, assembled(plan, journal, means, wishes) as run:
        seen = 0
        for account in run.rounds():
            bar.update(account.seen - seen)
            seen = account.seen
        return run.account


def _is_right(place: Place, plan: Plan, means: Means, digests: dict[str, str]) -> bool:
    """Whether a message move task does what the plan says, for the letters that are in the queue now; says why not.

    `digests` gets the letters, by their ids, with what tells them when the task has given them other ids.
    """
    why = why_not(plan, means.sources())
    if not why:
        with look_at(place, plan.queue) as (look, depth):
            letters = _recorded(counted(look.letters(), depth.visible, "checking"), digests)
            why = refused_by(map(means.refined, letters), plan, means.asked())
    if why:
        click.echo(f"Not by a message move task, but letter by letter: {why}.", err=True)
    return not why


def _recorded(letters: Iterator[Letter], digests: dict[str, str]) -> Iterator[Letter]:
    for letter in letters:
        digests[letter.message_id] = digest_of(letter)
        yield letter


def _by_task(
    place: Place, plan: Plan, journal: Journal, now: Callable[[], Instant], wait: Callable[[float], None]
) -> Account:
    sqs = place.client("sqs")
    depth = depth_of(sqs, plan.queue)
    click.echo("SQS moves the queue by a message move task; Ctrl-C cancels it.", err=True)
    run = Moving(plan, arn_of(place, plan.queue), place.client_once("sqs"), journal, now, wait)
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
        arn = arn_of(place, url)
        return find_sources(place.client, {url: arn}).of(arn)

    return sources


def arn_of(place: Place, url: str) -> str:
    """The ARN of a queue. Errors: ClientError."""
    sqs = place.client("sqs")
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
