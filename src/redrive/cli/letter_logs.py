"""The option `--logs` of commands on dead-letter queues: letters without an error get the one that a log tells."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import click

from redrive.cli.clients import Place
from redrive.cli.reading_letters import clock_of, counted, look_at, queue_url
from redrive.core.documents import Document
from redrive.deadletters.evidence import Certainty, Evidence, Logs, lacks_error
from redrive.deadletters.letter import Letter
from redrive.deadletters.sources import Source, find_sources
from redrive.deadletters.triage import Triage

logs_option = click.option(
    "--logs", "with_logs", is_flag=True, help="Look for the errors of letters that hold none in their functions' logs."
)


class Evidences:
    """The letters of a queue with the errors that logs tell, and how many those are."""

    def __init__(self, place: Place, queue: str) -> None:
        self._logs = Logs(place.client, clock_of(place), sources_of(place, queue))
        self.without = 0
        """How many letters hold no error themselves."""
        self.found = dict.fromkeys(Certainty, 0)

    def refined(self, letters: Iterator[Letter]) -> Iterator[Letter]:
        """The letters, one by one as they come."""
        for letter in letters:
            self.without += lacks_error(letter)
            refined, evidence = self._logs.refined(letter)
            if evidence is not None:
                self.found[evidence.certainty] += 1
            yield refined

    def of(self, letter: Letter) -> tuple[Letter, Evidence | None]:
        """One letter, and what was found."""
        return self._logs.refined(letter)

    def tell(self) -> None:
        """Say on stderr what the logs told, and which could not be read."""
        by_id, by_time = self.found[Certainty.BY_ID], self.found[Certainty.BY_TIME]
        more = f" For {by_time} more, all errors of the function at that time were the same." if by_time else ""
        click.echo(f"{self.without} letters hold no error; the logs have the error of {by_id}.{more}", err=True)
        for group, why in self._logs.refused.items():
            click.echo(f"The log {group} was not read whole: {why}", err=True)


def triaged(place: Place, queue: str, *, with_logs: bool, count: int | None = None) -> Triage:
    """The groups of the letters of a queue, with a progress bar; `with_logs` says on stderr what the logs told."""
    found = Triage()
    evidences = Evidences(place, queue) if with_logs else None
    with look_at(place, queue, count) as (look, depth):
        length = depth.visible if count is None else min(count, depth.visible)
        letters = counted(look.letters(count), length, "reading")
        for letter in letters if evidences is None else evidences.refined(letters):
            found.add(letter)
    if evidences is not None:
        evidences.tell()
    return found


def told_evidence(evidence: Evidence) -> Document:
    """What a log told, as JSON."""
    return {
        "log_group": evidence.log_group, "request_id": evidence.request_id, "certainty": evidence.certainty.value,
    }  # fmt: skip


def sources_of(place: Place, queue: str) -> Callable[[], list[Source]]:
    """Finds the sources of a queue's letters, once and if it is called: all services are asked."""

    def find() -> list[Source]:
        sqs = place.client("sqs")
        told = sqs.get_queue_attributes(QueueUrl=queue_url(sqs, queue), AttributeNames=["QueueArn"])["Attributes"]
        return find_sources(place.client, {}).of(told["QueueArn"])

    return functools.cache(find)
