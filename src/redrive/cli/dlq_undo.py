"""`redrive dlq undo`: says what can be undone of a run, and takes that back if the user says so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

import click

from redrive.cli.clients import Place, place_options
from redrive.cli.consent import require_consent
from redrive.cli.output import json_option, print_json, print_table, wants_json
from redrive.cli.reading_letters import clock_of, name_of, queue_url
from redrive.core.errors import UserError
from redrive.deadletters.destinations import read_destination
from redrive.deadletters.journal import MalformedJournal, queue_of
from redrive.deadletters.letter import Letter
from redrive.deadletters.peek import WAIT_S_ON_AWS, depth_of, hidden_s_for, looking
from redrive.deadletters.repairing import undo_all
from redrive.deadletters.repairs import Repair, read_repair
from redrive.deadletters.run_files import JOURNAL, discarded_of, exported_letters, journal_of, opened_journal
from redrive.deadletters.undoing import Undo, Undoing, delete, judged, move_back, restore


@click.command()
@click.argument("file", metavar="PLAN|JOURNAL", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--yes", is_flag=True, help="Undo without asking.")
@click.option("--delete", "deletes", is_flag=True, help="Delete what waits in target queues instead of moving it back.")
@json_option
@place_options
def undo(file: Path, yes: bool, deletes: bool, as_json: bool, place: Place) -> None:
    """Say what can be undone of a run, and undo that after a yes.

    Discarded letters come back from the export. A letter that still waits in the queue to which it was sent is moved
    back; it comes back under a new id. What a function, a state machine, a bus or a topic has got cannot be taken back.
    """
    journal_file = file if file.name.endswith(JOURNAL) else journal_of(file)
    discarded = discarded_of(file.with_name(file.name.removesuffix(JOURNAL)))
    sqs, now, queue = place.client("sqs"), clock_of(place), _queue_of(journal_file)
    with opened_journal(journal_file, queue) as journal, ExitStack() as looks:

        def look(name: str) -> Iterable[tuple[str, Letter]]:
            url = queue_url(sqs, name)
            hidden_s, wait_s = hidden_s_for(depth_of(sqs, url).visible), WAIT_S_ON_AWS if place.is_aws else 0
            seen = looks.enter_context(looking(sqs, url, hidden_s=hidden_s, now=now, wait_s=wait_s))
            return ((url, message) for message in seen.letters())

        found = judged(journal, exported_letters(discarded), look)
        back, restored = len(found.of(Undo.MOVE_BACK)), len(found.of(Undo.RESTORE))
        repairs = [read_repair(one) for one in journal.repairs]
        _print(found, repairs, journal.move is not None, as_json=as_json)
        if back or restored or repairs:
            if not yes:
                require_consent(
                    _deeds(back, restored, repairs, deletes=deletes), f"redrive dlq undo {file} --yes{place.options}"
                )
            done = restore(found, sqs, queue, journal, now)
            done += delete(found, sqs, journal, now) if deletes else move_back(found, sqs, queue, journal, now)
            mended = undo_all(place.client, journal, now)
            click.echo(f"{done} letters were undone{f', and {mended} repairs' if mended else ''}.", err=True)


def _queue_of(journal_file: Path) -> str:
    try:
        with journal_file.open("rb") as opened:
            return queue_of(opened)
    except (OSError, MalformedJournal) as error:
        why = f"{journal_file} is no journal of a run: {error}."
        raise UserError(why, next_step="Name the plan or the journal of a run that was begun.", exit_code=2) from error


def _deeds(back: int, restored: int, repairs: Sequence[Repair], *, deletes: bool) -> str:
    deeds = []
    if restored:
        deeds.append(f"restore {restored} discarded letters to the dead-letter queue")
    if back:
        deeds.append(f"delete {back} messages in their target queues" if deletes else f"move {back} messages back")
    deeds += [repair.undoing for repair in reversed(repairs)]
    return " and ".join(deeds)


def _print(found: Undoing, repairs: Sequence[Repair], is_by_task: bool, *, as_json: bool) -> None:
    if wants_json(as_json):
        letters = [
            {"letter": one, "answer": answer.name.lower(), "to": found.targets.get(one)}
            for one, answer in sorted(found.answers.items())
        ]
        told = [one.document | {"undo": one.undoing} for one in repairs]
        print_json({"letters": letters, "repairs": told})
        return
    if is_by_task and not found.answers:
        click.echo(
            "SQS has moved the queue by a message move task. It keeps no list, and this journal has none: nothing can\n"
            "be undone. What waits in the source queue: redrive dlq show SOURCE. What its consumer has done stays done."
        )
    elif is_by_task:
        click.echo("SQS has moved the queue by a message move task: messages are found again by their content.")
    elif not found.answers and not repairs:
        click.echo("The run has sent and discarded nothing.", err=True)
    rows = [(str(count), _shown(to), answer.value) for (answer, to), count in sorted(found.counts.items(), key=str)]
    if rows:
        print_table(("letters", "sent to", "undo"), rows, right=("letters",))
    for repair in repairs:
        click.echo(f"Repair: {repair.deed}; undone by: {repair.undoing}.")


def _shown(to: str) -> str:
    """A destination without account and region."""
    if not to:
        return ""
    named = read_destination(to)
    return " ".join(filter(None, (named.kind.value, name_of(named.name), named.operation)))
