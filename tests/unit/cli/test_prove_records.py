"""What proofs leave in a project is what `redrive dlq check` reads."""

from __future__ import annotations

import json
from pathlib import Path

from redrive.cli.prove_records import code_digest, record_verdicts
from redrive.core.clock import parse_instant
from redrive.deadletters.findings import Answer
from redrive.deadletters.proofs import proof_of, read_proofs
from redrive.deadletters.targets import FunctionState
from redrive.packaging.own_files import VERDICTS
from redrive.prove.process.subject import subject_of
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.tell.result import Result, conclusion_of

AT = parse_instant("2026-01-01T00:00:00Z")
REPEATS = """
import json, boto3
def handler(event, context):
    for record in event["Records"]:
        boto3.client("sns").publish(TopicArn="arn:aws:sns:us-east-1:000000000000:told", Message=record["body"])
"""
SAFE = """
import json, boto3
def handler(event, context):
    for record in event["Records"]:
        boto3.client("dynamodb").put_item(TableName="done", Item={"id": {"S": record["body"]}})
"""


def result(folder: Path, source: str, name: str = "app", faults: int = 1) -> Result:
    (folder / f"{name}.py").write_text(source, "utf-8")
    verdict = prove(subject_of(f"{name}.py:handler", folder), Options(faults=faults))
    return Result(verdict.handler, conclusion_of(verdict), verdict.sentence, "", 0.1, "", None, verdict)


def deployed(handler: str, digest: str) -> FunctionState:
    return FunctionState("orders", "arn", handler, digest, None, "")


def test_verdicts_are_those_that_a_check_of_dead_letters_reads(tmp_path: Path) -> None:
    bad, good = result(tmp_path, REPEATS), result(tmp_path, SAFE, "other")
    record_verdicts([bad, good], tmp_path, AT)

    proofs = read_proofs(tmp_path / VERDICTS)
    digest = code_digest(tmp_path)  # The file itself is left out of it: it is in no package.
    answers = [proof_of(deployed(name, digest), proofs) for name in ("app.handler", "other.handler", "third.handler")]
    elsewhere = proof_of(deployed("other.handler", "another"), proofs)

    assert [None if one is None else one.answer for one in answers] == [Answer.REFUSE, Answer.GO, None]
    assert elsewhere is not None
    assert elsewhere.answer is Answer.CAUTION
    assert (tmp_path / ".redrive" / ".gitignore").read_text() == "*\n"


def test_latest_verdict_on_a_handler_replaces_the_earlier_one(tmp_path: Path) -> None:
    record_verdicts([result(tmp_path, REPEATS)], tmp_path, AT)
    record_verdicts([result(tmp_path, SAFE, faults=0)], tmp_path, AT + 1)

    (only,) = json.loads((tmp_path / VERDICTS).read_text())["verdicts"]

    assert (only["verdict"], only["faults"]) == ("unfinished", 0)  # Without a fault nothing is proved.
