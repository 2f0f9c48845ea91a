"""Tells a server which dead letters a run has sent again, so that the timelines of their executions go on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

from redrive.cli.clients import Place
from redrive.cli.surface import RedrivenLetter, Surface
from redrive.core.errors import UserError
from redrive.deadletters.destinations import Destination, To
from redrive.deadletters.letter import Letter
from redrive.deadletters.ports import Tell, told_nobody

PLAN_CHARS_MAX = 255


def teller(place: Place, plan: str, queue_arn: Callable[[], str]) -> Tell:
    """Tells the server at a place; AWS has nothing like it. `plan` is the name of the plan's file.

    A server that refuses it, such as an older one, is told once to the user, and the run goes on.
    """
    if place.endpoint_url is None:
        return told_nobody
    return _Teller(Surface(place.endpoint_url), plan[:PLAN_CHARS_MAX], queue_arn).tell


class _Teller:
    def __init__(self, server: Surface, plan: str, queue_arn: Callable[[], str]) -> None:
        self._server = server
        self._plan = plan
        self._queue_arn = queue_arn
        self._is_refused = False

    def tell(self, to: Destination, letters: Sequence[tuple[Letter, str]]) -> None:
        told = [_told(letter, new_id) for letter, new_id in letters if new_id]
        if self._is_refused or not told:
            return
        try:
            self._server.record_redrives(plan=self._plan, queue=self._queue_arn(), to=self._arn(to), letters=told)
        except UserError as error:
            self._is_refused = True
            click.echo(f"`redrive runs show` does not know of this run: {error}", err=True)

    def _arn(self, to: Destination) -> str:
        """The ARN of a destination: a queue may be named by its name or its URL."""
        if to.kind is To.QUEUE and not to.name.startswith("arn:"):
            return f"{self._queue_arn().rsplit(':', 1)[0]}:{to.name.rsplit('/', 1)[-1]}"
        return to.name if to.name.startswith("arn:") else to.text


def _told(letter: Letter, new_id: str) -> RedrivenLetter:
    return {"message_id": letter.message_id, "sent_as": new_id, "work_id": letter.work.id}
