"""Answers of AWS services that the engine does not have: made up from their models, so that a handler can continue.

Each member of an answer's shape stands in it once. What a call that changes something answers has ids that follow from
its parameters, so that two calls are told apart, and what was asked for comes back under its name. The user is told of
made-up answers to calls that read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from botocore.model import StructureShape

from redrive.prove.calls.calls import Call, Params, members_of
from redrive.prove.calls.models import answer_of_model
from redrive.prove.guess.answers import Made, whole_answer

_BODIES = frozenset({("bedrock-runtime", "InvokeModel"), ("bedrock-runtime", "InvokeModelWithResponseStream")})


def made_up_answer(
    call: Call, output: StructureShape | None, serial: int, read: Mapping[str, object] | None = None
) -> Params:
    """The answer to a call; `output` is the shape of its output, and `read` what the handler reads of JSON bodies."""
    lengths = [len(members_of(call.params, name)) for name in call.params if members_of(call.params, name)]
    is_batch = "Batch" in call.operation and len(lengths) == 1
    made = Made(
        service=call.service,
        asked=call.params,
        mark="" if not call.changes else _mark(call, serial),
        length=lengths[0] if is_batch else 1,
        body=answer_of_model(call, read or {}, is_model=(call.service, call.operation) in _BODIES),
    )
    return whole_answer(output, made)


def _mark(call: Call, serial: int) -> str:
    text = repr((call.name, sorted(call.params.items(), key=str)))
    return f"{hashlib.sha256(text.encode()).hexdigest()[:8]}-{serial}"
