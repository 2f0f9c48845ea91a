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
from redrive.deadletters.targets import addressee_of

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
        by_target: dict[str, list[RedrivenLetter]] = {}
        for letter, new_id in letters:
            if new_id:
                by_target.setdefault(self._target(to, letter), []).append(_told(letter, new_id))
        try:
            for target, told in by_target.items():
                if not self._is_refused:
                    self._server.record_redrives(plan=self._plan, queue=self._queue_arn(), to=target, letters=told)
        except UserError as error:
            self._is_refused = True
            click.echo(f"`redrive runs show` does not know of this run: {error}", err=True)

    def _target(self, to: Destination, letter: Letter) -> str:
        """The ARN of a target: a request of an API names it, and a queue may be named by its name or its URL."""
        named = addressee_of(to, letter).id if to.kind is To.API else to.name
        if named.startswith("arn:"):
            return named
        if to.kind is To.QUEUE or "://" in named:
            return f"{self._queue_arn().rsplit(':', 1)[0]}:{named.rsplit('/', 1)[-1]}"
        return to.text


def _told(letter: Letter, new_id: str) -> RedrivenLetter:
    return {"message_id": letter.message_id, "sent_as": new_id, "work_id": letter.work.id}
