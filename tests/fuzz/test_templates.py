"""Templates, whatever they say: a ValidationError, or a stack that comes to an end."""

from __future__ import annotations

import functools

import pytest

from redrive.wire.model.files import Models
from tests.fuzz.conftest import Cases
from tests.fuzz.protocols import request_of
from tests.fuzz.shrinking import shrink, snippet
from tests.fuzz.template_texts import TEXTS, Templates
from tests.fuzz.values import Draw
from tests.fuzz.watch import Watched
from tests.fuzz.work import HangError

REFUSALS = frozenset({"ValidationError", "InsufficientCapabilitiesException", "InsufficientCapabilities"})
CAPABILITIES = ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"]
STACKS_PER_WORLD = 20
IMPORTS = "from tests.fuzz.test_templates import play\nfrom tests.fuzz.watch import Watched\n"


@functools.cache
def models() -> Models:
    return Models()


def test_template_makes_a_stack_that_ends_or_is_refused(cases: Cases) -> None:
    """No stack stays in progress, whatever its template says, and neither does its update or its deletion."""
    watched = Watched()
    for number, seed in enumerate(cases(400)):
        draw = Draw(seed)
        templates = Templates(draw, draw.one_of(0.0, 0.0, 0.05, 0.3))
        texts = [templates.text(), templates.text()]
        try:
            play(watched, texts)
        except (Exception, HangError) as error:
            smallest = shrink(texts, functools.partial(_fails, kind=type(error)), tries_max=200)
            said = f"{type(error).__name__}: {error}"[:600]
            raise AssertionError(f"{said}\n\n{snippet(IMPORTS, 'play(Watched(), {})', smallest)}") from error
        if number % STACKS_PER_WORLD == STACKS_PER_WORLD - 1:
            watched.world.close()
            watched = Watched()
    watched.world.close()


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_text_that_is_hostile_in_its_way_is_refused_or_ends(text: str) -> None:
    watched = Watched()

    play(watched, [text, text])

    watched.world.close()


def play(watched: Watched, texts: list[str]) -> None:
    """Validate, create, update and delete a stack of these templates; every beat of it has an end."""
    for text in texts:
        call(watched, "ValidateTemplate", TemplateBody=text)
        call(watched, "GetTemplateSummary", TemplateBody=text)
    for operation, text in zip(("CreateStack", "UpdateStack"), texts, strict=False):
        call(watched, operation, StackName="made", TemplateBody=text, Capabilities=CAPABILITIES)
        check_ended(watched)
    call(
        watched,
        "CreateChangeSet",
        StackName="made",
        ChangeSetName="c",
        TemplateBody=texts[0],
        Capabilities=CAPABILITIES,
    )
    watched.pass_time(seconds=0)
    call(watched, "DeleteStack", StackName="made")
    check_ended(watched)


def call(watched: Watched, name: str, **params: object) -> dict[str, object]:
    """Make a call that is answered, or refused as a template is."""
    service = models().service("cloudformation")
    request = request_of(service, service.operations[name], "query", params, Draw(0))
    answer: dict[str, object] = watched.call(request, operation=service.operations[name], protocol="query")
    error = answer.get("Error")
    assert error is None or (isinstance(error, dict) and error["Code"] in REFUSALS), error
    return answer


def check_ended(watched: Watched) -> None:
    """Let happen what happens at once, and what waits: no stack is in progress then."""
    watched.pass_time(seconds=0)
    statuses = _statuses(watched)
    if any(status.endswith("IN_PROGRESS") for status in statuses):
        watched.pass_time(seconds=3 * 3_600)
        statuses = _statuses(watched)
    assert not any(status.endswith("IN_PROGRESS") and status != "REVIEW_IN_PROGRESS" for status in statuses), statuses


def _statuses(watched: Watched) -> list[str]:
    found = watched.world.call("cloudformation", "DescribeStacks")
    return [str(stack["StackStatus"]) for stack in found["Stacks"]]


def _fails(texts: list[str], kind: type[BaseException]) -> bool:
    if len(texts) != 2:
        return False
    watched = Watched()
    try:
        play(watched, texts)
    except (Exception, HangError) as error:  # noqa: BLE001 - as above.
        return isinstance(error, kind)
    return False
