"""What the commands share that run a plan: the files, the progress, and the account at the end."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import IO

import click

from redrive.cli.clients import Place
from redrive.cli.dlq_export import written_letters
from redrive.cli.letter_gates import WantedGates
from redrive.cli.output import print_json, print_table, wants_json
from redrive.cli.reading_letters import WAIT_S_ON_AWS, clock_of, shown
from redrive.core.clock import format_instant
from redrive.core.errors import UserError
from redrive.deadletters.account import Account
from redrive.deadletters.changed_events import UnchangedEvents
from redrive.deadletters.contents import Contents
from redrive.deadletters.gates import Gate
from redrive.deadletters.hiding import Hidden
from redrive.deadletters.journal import MalformedJournal, open_journal
from redrive.deadletters.letter import Letter
from redrive.deadletters.peek import HIDDEN_S_MAX, depth_of, hidden_s_for
from redrive.deadletters.plan import MalformedPlan, Plan, read_plan
from redrive.deadletters.preflighted import Preflighted
from redrive.deadletters.running import Ports, Redriving
from redrive.deadletters.sending import Sender
from redrive.deadletters.sorting import Wishes
from redrive.deadletters.sources import Source, find_sources
from redrive.deadletters.streams import Streams

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
    journal_file = journal_file or plan_file.with_name(f"{plan_file.name}.journal")
    account = _run(place, plan, plan_file, journal_file, wishes, wanted)
    if wants_json(as_json):
        print_json(account.document | {"journal": str(journal_file)})
    else:
        _print(account, journal_file)
    if account.gated:
        sys.exit(REFUSED)
    if account.stopped or account.doubtful or account.undeleted or account.refused or account.came_back:
        sys.exit(FINDING)


def _run(
    place: Place, plan: Plan, plan_file: Path, journal_file: Path, wishes: Wishes, wanted: WantedGates | None
) -> Account:
    sqs, now = place.client("sqs"), clock_of(place)
    depth = depth_of(sqs, plan.queue)
    if depth.hidden:
        click.echo(f"{depth.hidden} letters are hidden: a run that was killed, or somebody else, has them.", err=True)
    hidden_s = hidden_s_for(depth.visible) + plan.canary.watch_s
    if plan.rate is not None:
        hidden_s += int(10 / plan.rate)
    gates: list[Gate] = [UnchangedEvents(place.client)]
    if wanted is not None:
        gates.append(Preflighted(place.client, now, wanted.gates(place, plan.queue, now)))
    discarded = plan_file.with_name(f"{plan_file.name}.discarded.jsonl")
    with (
        _locked(journal_file) as file, tempfile.TemporaryFile("w+", encoding="utf-8") as receipts,
        ThreadPoolExecutor(THREADS) as threads,
        click.progressbar(
            length=depth.visible, label="redriving", file=sys.stderr, hidden=not sys.stderr.isatty()
        ) as bar,
    ):  # fmt: skip
        try:
            journal = open_journal(file, partial(os.fsync, file.fileno()), plan.queue)
        except MalformedJournal as error:
            next_step = "Name another file: --journal FILE"
            raise UserError(f"The journal {journal_file} cannot be used: {error}.", next_step=next_step) from error
        hidden = Hidden(
            sqs, plan.queue, receipts, hidden_s=min(HIDDEN_S_MAX, hidden_s),
            wait_s=WAIT_S_ON_AWS if place.is_aws else 0, now=now,
        )  # fmt: skip
        ports = Ports(
            sqs, Sender(place.client_once), journal, now, _wait, _sources_of(place, plan.queue),
            partial(_export, discarded), gates, threads.map,
            contents=Contents(place.client, Streams(place.client, now)),
        )  # fmt: skip
        run = Redriving(plan, ports, hidden, wishes)
        seen = 0
        for account in run.rounds():
            bar.update(account.seen - seen)
            seen = account.seen
        return run.account


def _wait(seconds: float) -> None:
    if seconds > 0:
        threading.Event().wait(seconds)


def _sources_of(place: Place, url: str) -> Callable[[], Sequence[Source]]:
    @cache
    def sources() -> Sequence[Source]:
        told = place.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
        arn = str(told["Attributes"]["QueueArn"])
        return find_sources(place.client, {url: arn}).of(arn)

    return sources


def _export(file: Path, letters: Sequence[Letter]) -> None:
    """Write letters to a file, and wait until they are on disk. A letter that is there is not written again."""
    known = set(written_letters(file))
    with file.open("a", encoding="utf-8") as out:
        for letter in letters:
            if letter.message_id not in known:
                whole = shown(letter) | {"body": letter.body, "attributes": _texts(letter)}
                out.write(json.dumps(whole, ensure_ascii=False) + "\n")
        out.flush()
        os.fsync(out.fileno())


def _texts(letter: Letter) -> dict[str, object]:
    return {
        name: {key: value for key, value in one.items() if isinstance(value, str)}
        for name, one in letter.attributes.items()
    }


@contextmanager
def _locked(file: Path) -> Iterator[IO[bytes]]:
    """A file that no other run has open. Errors: UserError."""
    try:
        opened = file.open("a+b")
    except OSError as error:
        raise UserError(f"The journal {file} cannot be opened: {error}.") from error
    with opened:
        try:
            import fcntl  # Windows has none; there, nothing prevents two runs with one journal.
        except ImportError:
            pass
        else:
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                next_step = "Wait for its end."
                raise UserError(f"Another run has the journal {file}.", next_step=next_step) from error
        yield opened


def _print(account: Account, journal_file: Path) -> None:
    told = (
        ("sent", account.sent), ("discarded", account.discarded),
        ("done by an earlier run, deleted now", account.finished),
        ("refused by a gate, stay", account.gated), ("sent although a gate refused", account.overridden),
        ("refused where they were sent, stay", account.refused), ("failed again, stay", account.came_back),
        ("doubtful, stay", len(account.doubtful)), ("done, not deleted yet", account.undeleted),
    )  # fmt: skip
    print_table(("letters", ""), [(str(count), what) for what, count in told if count], right=("letters",))
    for reason, count in account.stays.most_common():
        click.echo(f"  {count} stay: {reason}")
        click.echo(f"    {', '.join(account.samples[reason])}")
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
