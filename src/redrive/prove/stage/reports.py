"""Whether the mapping that was made for a handler has ReportBatchItemFailures: as the handler's answers say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from redrive.core.documents import load_json
from redrive.prove.guess.answer_names import FAILURES, misspelt_names
from redrive.prove.guess.reading import read_handler
from redrive.prove.stage.stage import Stage
from redrive.prove.stage.trigger import Trigger
from redrive.services.lambda_.model.batch import reported_failures
from redrive.services.lambda_.model.mapping import REPORT_BATCH_ITEM_FAILURES

WITHOUT = "no ReportBatchItemFailures"
MISSPELT = "misspelt "
"""How the name of a note begins that is about a name in the answer."""


def refitted(stage: Stage, trigger: Trigger, answers: Sequence[str]) -> str:
    """Change the mapping if the handler's answers do not fit it; says why, or nothing if they fit.

    Only a mapping that no template declares is changed.
    """
    if not trigger.kind.is_queue or not trigger.mapping:
        return ""
    reports = bool(stage.call("lambda", "GetEventSourceMapping", UUID=trigger.mapping).get("FunctionResponseTypes"))
    malformed = next((one for one in answers if reported_failures(one.encode()) is None), None)
    if reports and malformed is not None and not any(map(_names_failures, answers)):
        _set(stage, trigger, [])
        return f"{WITHOUT}, because the handler returns {malformed}, which a mapping with them would take for a failure"
    if not reports and any(map(_names_failures, answers)):
        _set(stage, trigger, [REPORT_BATCH_ITEM_FAILURES])
        return f"ReportBatchItemFailures, because the handler returns {FAILURES}"
    return ""


def notes_of(stage: Stage, trigger: Trigger, file: Path, function: str) -> dict[str, str]:
    """What the code says in its answers that the function's mapping does not read as it is meant."""
    if not (trigger.kind.is_queue or trigger.is_stream):
        return {}
    notes = {f"{MISSPELT}{name}": why for name, why in misspelt_names(file).items()}
    source = trigger.stream_arn or trigger.queue_arn
    mappings = stage.call("lambda", "ListEventSourceMappings", EventSourceArn=source)["EventSourceMappings"]
    reports = any(one.get("FunctionResponseTypes") for one in mappings)
    if mappings and not reports and read_handler(file, function).reports_failures:
        notes["FunctionResponseTypes"] = f"the mapping has none, so Lambda does not read {FAILURES} in the answer"
    return notes


def unread_by(stage: Stage, names: Mapping[str, str]) -> frozenset[str]:
    """The functions with a mapping that does not read which messages have failed; `names` are told by physical name."""
    mappings = stage.call("lambda", "ListEventSourceMappings")["EventSourceMappings"]
    silent = {str(one["FunctionArn"]).split(":")[6] for one in mappings if not one.get("FunctionResponseTypes")}
    return frozenset(told for name, told in names.items() if name in silent)


def _set(stage: Stage, trigger: Trigger, types: list[str]) -> None:
    stage.call("lambda", "UpdateEventSourceMapping", UUID=trigger.mapping, FunctionResponseTypes=types)
    stage.settle()


def _names_failures(answer: str) -> bool:
    try:
        document = load_json(answer.encode())
    except ValueError:
        return False
    return isinstance(document, dict) and FAILURES in document
