"""What a proof leaves for others: JUnit's XML, SARIF, Markdown, its exit code, and its result after Ctrl-C."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema  # type: ignore[import-untyped]
import pytest

from redrive.prove.judge.judge import Rule, Violation
from redrive.prove.process.subject import Place
from redrive.prove.stage.trigger import Kind
from redrive.prove.tell.junit import as_junit
from redrive.prove.tell.result import Conclusion, Result, exit_code
from redrive.prove.tell.sarif import SCHEMA, as_sarif
from redrive.prove.tell.story import Step
from redrive.prove.tell.summary import BYTES_MAX, as_summary
from redrive.prove.tell.verdict import Bounds, Counterexample, Verdict
from tests.unit.prove.project.conftest import SENDS, STORES, Command, Project
from tests.unit.prove.project.test_whole import BROKEN, FILES, NODE, READING, SENDING, TEMPLATE

INTERRUPTING = """
import signal

seen = []

def holds(world):
    if not seen:
        seen.append(1)
        signal.raise_signal(signal.SIGINT)
"""
"""An invariant at whose first look somebody presses Ctrl-C."""

_TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
_PHYSICAL = {
    "type": "object", "additionalProperties": False, "required": ["artifactLocation", "region"],
    "properties": {
        "artifactLocation": {"type": "object", "required": ["uri"], "properties": {"uri": {"pattern": "^[^/\\\\ ]"}}},
        "region": {
            "type": "object", "additionalProperties": False, "required": ["startLine"],
            "properties": {"startLine": {"type": "integer", "minimum": 1}, "snippet": _TEXT},
        },
    },
}  # fmt: skip
_STEP = {
    "type": "object", "additionalProperties": False, "required": ["location"],
    "properties": {
        "location": {"type": "object", "properties": {"message": _TEXT, "physicalLocation": _PHYSICAL}},
        "executionOrder": {"type": "integer"},
        "importance": {"enum": ["important", "essential", "unimportant"]},
    },
}  # fmt: skip
_THREAD = {"type": "object", "required": ["locations"], "properties": {"locations": {"minItems": 1, "items": _STEP}}}
_FLOW = {"type": "object", "required": ["threadFlows"], "properties": {"threadFlows": {"items": _THREAD}}}
_RESULT = {
    "type": "object", "required": ["message", "ruleId", "locations"],
    "properties": {
        "ruleId": {"type": "string"}, "ruleIndex": {"type": "integer"}, "message": _TEXT,
        "level": {"enum": ["none", "note", "warning", "error"]},
        "locations": {"minItems": 1, "items": {"properties": {"physicalLocation": _PHYSICAL}}},
        "codeFlows": {"items": _FLOW},
        "partialFingerprints": {"additionalProperties": {"type": "string"}},
    },
}  # fmt: skip
_RULE = {
    "type": "object", "required": ["id"],
    "properties": {"shortDescription": _TEXT, "fullDescription": _TEXT, "help": _TEXT},
}  # fmt: skip
_NOTE = {"required": ["message"], "properties": {"message": _TEXT, "level": {"enum": ["warning", "error"]}}}
_RUN = {
    "type": "object", "required": ["tool"],
    "properties": {
        "tool": {"properties": {"driver": {"required": ["name"], "properties": {"rules": {"items": _RULE}}}}},
        "invocations": {
            "items": {"required": ["executionSuccessful"],
                      "properties": {"toolExecutionNotifications": {"items": _NOTE}}},
        },
        "results": {"type": "array", "items": _RESULT},
    },
}  # fmt: skip
SARIF = {
    "type": "object", "additionalProperties": False, "required": ["version", "runs"],
    "properties": {"$schema": {"const": SCHEMA}, "version": {"const": "2.1.0"}, "runs": {"items": _RUN}},
}  # fmt: skip
"""What of the standard's schema is used here."""


def sarif(text: str) -> Any:
    """A log's only run, after its form was checked."""
    log = json.loads(text)
    jsonschema.validate(log, SARIF)
    return log["runs"][0]


def result(sentence: str = "item in reports is missing.", *, steps: int = 2, name: str = "Sending") -> Result:
    place = Place("app.py", 3, "send(`x`)", Path("app.py"))
    told = [Step("+0s", f"step {number}", place, is_fault=True) for number in range(steps)]
    found = Counterexample((), Violation(Rule.ALL, sentence, "item in reports"), told, "Do | this.", culprit=place)
    verdict = Verdict("app:handler", Bounds(1, 2, 3, 4, 0), {}, None, {}, (), found, Kind.SQS, roots=(Path(),))
    return Result(name, Conclusion.FOUND, verdict.sentence, "", 1.5, "redrive prove app:handler", verdict=verdict)


def test_junit_has_a_case_for_each_function_of_a_project(project: Project, prove: Command) -> None:
    project({"template.yaml": TEMPLATE + SENDING + NODE + BROKEN + READING, **FILES})

    found = prove("--junit", "reports/junit.xml")

    suite = ET.parse("reports/junit.xml").getroot().find("testsuite")
    assert suite is not None
    cases = {case.get("name"): case for case in suite}
    assert found.exit_code == 1
    assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "5", "failures": "1", "errors": "1", "skipped": "2",
    }  # fmt: skip
    assert [child.tag for child in cases["Storing"]] == ["system-out"]
    failure = cases["Sending"].find("failure")
    assert failure is not None
    assert failure.get("type") == "repeated"
    assert "1. +0s" in str(failure.text)
    assert cases["Sending"].get("file") == "sending/app.py"
    assert "nobody-has-this" in str(cases["Broken"].findtext("error"))


def test_junit_holds_what_xml_cannot() -> None:
    text = as_junit([result("\x00 <missing> & \x1b[31mred")], Path())

    failure = ET.fromstring(text).find(".//failure")

    assert failure is not None
    assert failure.get("message") == "� <missing> & �[31mred"


def test_sarif_names_the_line_of_the_call_and_tells_the_story(project: Project, prove: Command) -> None:
    project({"template.yaml": TEMPLATE + SENDING + BROKEN, **FILES})

    prove("--sarif", "reports/redrive.sarif")

    run = sarif(Path("reports/redrive.sarif").read_text("utf-8"))
    (found,) = run["results"]
    where = found["locations"][0]["physicalLocation"]
    steps = found["codeFlows"][0]["threadFlows"][0]["locations"]
    assert found["ruleId"] == "redrive/repeated"
    assert run["tool"]["driver"]["rules"][found["ruleIndex"]]["id"] == found["ruleId"]
    assert where["artifactLocation"]["uri"] == "sending/app.py"
    assert "send_message" in Path("sending/app.py").read_text("utf-8").splitlines()[where["region"]["startLine"] - 1]
    assert "run 1 begins" in steps[0]["location"]["message"]["text"]
    assert any(step["importance"] == "essential" for step in steps)
    assert run["invocations"][0]["executionSuccessful"] is False
    assert "Broken" in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]


def test_finding_keeps_its_fingerprint_when_the_history_changes() -> None:
    first = sarif(as_sarif([result(steps=2)], Path(), "1.0"))["results"][0]["partialFingerprints"]

    assert sarif(as_sarif([result(steps=5)], Path(), "1.1"))["results"][0]["partialFingerprints"] == first
    assert sarif(as_sarif([result(name="Other")], Path(), "1.0"))["results"][0]["partialFingerprints"] != first


def test_finding_whose_file_is_elsewhere_stands_in_its_template() -> None:
    found = sarif(as_sarif([result()], Path("/"), "1.0"))["results"][0]

    assert found["locations"][0]["physicalLocation"]["region"] == {"startLine": 1}


def test_summary_has_a_table_and_each_story_unfolds(
    project: Project, prove: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = project({"template.yaml": TEMPLATE + SENDING + BROKEN, **FILES, "summary.md": "before\n"})
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))

    prove("--summary")

    text = (folder / "summary.md").read_text("utf-8")
    assert text.startswith("before\n### redrive prove: 1 of 3 functions with a counterexample, 1 without\n")
    assert "| ❌ | Sending | sqs | repeated: in a history with 1 fault" in text
    assert "| ✅ | Storing | sqs |" in text
    assert "<details><summary>Sending: message to" in text
    assert "**Broken**: Install what it imports" in text


def test_summary_needs_githubs_runner_or_a_file(
    project: Project, prove: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    project({"template.yaml": TEMPLATE, **FILES})
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)

    assert prove("--summary").exit_code == 2
    assert prove("--summary-to", "new/summary.md").exit_code == 0
    assert Path("new/summary.md").is_file()


def test_summary_is_never_longer_than_github_shows() -> None:
    text = as_summary([result(steps=1000, name=f"F{number}") for number in range(30)])

    assert len(text.encode()) < BYTES_MAX + 100
    assert "more do not fit here" in text


def test_summary_escapes_what_markdown_would_read() -> None:
    text = as_summary([result("<b>a|b</b>", name="a|b")])

    assert "| a\\|b |" in text
    assert "<summary>a|b: &lt;b&gt;a|b&lt;/b&gt;</summary>" in text
    assert "Do \\| this." in text


def test_one_handler_leaves_the_same_files(project: Project, prove: Command) -> None:
    project({"app.py": SENDS, "bad.py": "import nobody_has_this\n"})

    found = prove("app.py:handler", "--junit", "a/j.xml", "--sarif", "a/s.json", "--export", "new/test_app.py")
    refused = prove("bad.py:handler", "--junit", "a/bad.xml")

    assert found.exit_code == 1
    assert 'type="repeated"' in Path("a/j.xml").read_text("utf-8")
    assert sarif(Path("a/s.json").read_text("utf-8"))["results"]
    assert Path("new/test_app.py").is_file()
    assert refused.exit_code == 2
    assert 'type="not proved"' in Path("a/bad.xml").read_text("utf-8")


def test_search_that_is_stopped_passes_if_enough_faults_are_complete(project: Project, prove: Command) -> None:
    project({"app.py": STORES, "checks.py": "def holds(world): pass\n"})

    whole = prove("app.py:handler", "--pass-at", "1")
    stopped = prove("app.py:handler", "--pass-at", "1", "--seconds", "0.000001", "--junit", "j.xml")
    too_much = prove("app.py:handler", "--pass-at", "2")

    assert whole.exit_code == 0
    assert stopped.exit_code == 3
    assert 'type="not finished"' in Path("j.xml").read_text("utf-8")
    assert too_much.exit_code == 2


@pytest.mark.parametrize(("complete", "code"), [(0, 3), (1, 0), (2, 0)])
def test_pass_level_is_compared_with_the_complete_faults(complete: int, code: int) -> None:
    bounds = Bounds(3, 1, 1, 1, 0, complete_faults=complete, is_finished=False)
    verdict = Verdict("app:handler", bounds, {}, None, {}, (), None)
    stopped = Result("app", Conclusion.UNFINISHED, "", "", 0, "", verdict=verdict, pass_at=1)

    assert exit_code([stopped]) == code


def test_interrupted_search_gives_130_and_the_result_so_far(project: Project, prove: Command) -> None:
    project({"app.py": STORES, "interrupting_one.py": INTERRUPTING})

    found = prove("app.py:handler", "--invariant", "interrupting_one:holds", "-o", "json")

    assert found.exit_code == 130
    assert json.loads(found.stdout)["verdict"] == (
        "no counterexample in 1 history, search not finished: up to 0 faults complete"
    )


def test_interrupted_project_says_what_was_not_begun(project: Project, prove: Command) -> None:
    project({"template.yaml": TEMPLATE + SENDING, **FILES, "interrupting_all.py": INTERRUPTING})

    found = prove("--invariant", "interrupting_all:holds", "-o", "json", "--junit", "j.xml")

    rows = json.loads(found.stdout)
    assert found.exit_code == 130
    assert [row["outcome"] for row in rows] == ["not finished", "not finished"]
    assert rows[1]["verdict"] == "not begun: the command was interrupted"
    assert 'errors="2"' in Path("j.xml").read_text("utf-8")


def test_second_interruption_ends_at_once(project: Project, prove: Command) -> None:
    project({"app.py": STORES, "interrupting_twice.py": INTERRUPTING.replace("if not seen", "for _ in range(2)")})

    found = prove("app.py:handler", "--invariant", "interrupting_twice:holds")

    assert found.exit_code == 130
    assert found.stdout == ""
