"""What AWS refuses of a template, with the change of the template after which it is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

from redrive.core.errors import UserError
from redrive.prove.search.options import Options
from redrive.prove.stage.deployed import VisibilityTooShort
from redrive.prove.tell.advice.case import TemplateText
from redrive.prove.tell.advice.changes.changes import Change, longer_visibility
from redrive.prove.world import World

Prepare = Callable[[Options], AbstractContextManager[World]]
"""Makes a world from options. Errors: UserError."""

TIMES_THE_TIMEOUT = 6
"""Source: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html"""
_QUEUES_MAX = 20


@contextmanager
def refusals_told(options: Options, prepare: Prepare) -> Iterator[None]:
    """While entered, a refusal says which change of the template ends it, if one was tried and does."""
    try:
        yield
    except VisibilityTooShort as error:
        change = _taken(error, options, prepare)
        if change is None:
            raise
        diff = "".join(f"\n  {line}" for line in change.diff.splitlines())
        raise UserError(error.what, next_step=f"{error.next_step}\n{diff}", exit_code=2) from None


def _taken(error: VisibilityTooShort, options: Options, prepare: Prepare) -> Change | None:
    """The change with which the template can be deployed, of all its queues that need one."""
    if options.template is None:
        return None
    before = options.template.read_text("utf-8")
    text = before
    for _ in range(_QUEUES_MAX):
        template = TemplateText(options.template, text)
        change = longer_visibility(template, error.queue, error.timeout_s * TIMES_THE_TIMEOUT)
        if change is None or change.after == text:
            return None
        text = change.after
        try:
            with prepare(replace(options, template_text=text, told_events=lambda _: None)):
                return replace(change, before=before)
        except VisibilityTooShort as another:
            error = another
        except UserError:  # Of the handler, behind the deployment.
            return replace(change, before=before)
    return None
