"""Answers of AWS services that the engine does not have: made up from their models, so that a handler can continue.

Each member of an answer's shape stands in it once. What a call that changes something answers has ids that follow from
its parameters, so that two calls are told apart, and what was asked for comes back under its name. The user is told of
made-up answers to calls that read.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import datetime

from botocore.model import StructureShape

from redrive.prove.calls.calls import Call, Params, mapping_of, members_of
from redrive.prove.calls.given import GivenReply
from redrive.prove.calls.models import answer_of_model
from redrive.prove.guess.answers import Made, whole_answer

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$")
_BODIES = frozenset({("bedrock-runtime", "InvokeModel"), ("bedrock-runtime", "InvokeModelWithResponseStream")})


def made_up_answer(
    call: Call, output: StructureShape | None, serial: int, read: Mapping[str, object] | None = None,
    given: GivenReply | None = None,
) -> Params:  # fmt: skip
    """The answer to a call; `output` is the shape of its output, `read` what the handler reads of JSON bodies, and
    `given` what somebody has said of it.
    """
    lengths = [len(members_of(call.params, name)) for name in call.params if members_of(call.params, name)]
    is_batch = "Batch" in call.operation and len(lengths) == 1
    made = Made(
        service=call.service,
        asked=call.params,
        mark="" if not call.changes else _mark(call, serial),
        length=lengths[0] if is_batch else 1,
        body=answer_of_model(call, read or {}, is_model=(call.service, call.operation) in _BODIES),
    )
    answer = whole_answer(output, made)
    return answer if given is None else mapping_of(completed(given.members, answer, is_partial=given.is_partial))


def completed(given: object, made: object, *, is_partial: bool = False) -> object:
    """What is given, with what was made up for the members of which it says nothing.

    A list has as many members as are given, or if what is given `is_partial`, at least as many as were made up.
    """
    match given, made:
        case dict(), dict():
            both = {name: completed(value, made.get(name), is_partial=is_partial) for name, value in given.items()}
            return {**made, **both}
        case list(), list() if made:
            like = [made[min(number, len(made) - 1)] for number in range(len(given))]
            members = [completed(one, each, is_partial=is_partial) for one, each in zip(given, like, strict=True)]
            return [*members, *made[len(members) :]] if is_partial else members
        case str(), datetime():
            return datetime.fromisoformat(given) if _TIME.match(given) else given
        case _:
            return given


def _mark(call: Call, serial: int) -> str:
    text = repr((call.name, sorted(call.params.items(), key=str)))
    return f"{hashlib.sha256(text.encode()).hexdigest()[:8]}-{serial}"
