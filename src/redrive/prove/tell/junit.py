"""Results as JUnit's XML, as GitLab, Jenkins and GitHub's actions read it: each function is a test case.

A counterexample is a failure, with its story as the text; what could not be proved, or was not finished, is an error;
what has nothing to lose is skipped.

Source: https://docs.gitlab.com/ci/testing/unit_test_reports/, https://plugins.jenkins.io/junit/
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from redrive.prove.tell.result import Conclusion, Result, file_of, story_of

_SUITE = "redrive prove"
_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Source: https://www.w3.org/TR/xml/#charsets"""
_SKIPPED = frozenset({Conclusion.NOTHING, Conclusion.NOT_PYTHON})


def as_junit(results: Sequence[Result], base: Path) -> str:
    """The XML; files are named from `base`."""
    cases = [_case(one, base) for one in results]
    counts = {
        "tests": str(len(cases)),
        "failures": str(sum(case.find("failure") is not None for case in cases)),
        "errors": str(sum(case.find("error") is not None for case in cases)),
        "skipped": str(sum(case.find("skipped") is not None for case in cases)),
        "time": f"{sum(one.seconds for one in results):.3f}",
    }
    suites = ET.Element("testsuites", {"name": _SUITE, **counts})
    suite = ET.SubElement(suites, "testsuite", {"name": _SUITE, **counts})
    suite.extend(cases)
    ET.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suites, encoding="unicode")}\n'


def _case(result: Result, base: Path) -> ET.Element:
    case = ET.Element("testcase", classname="redrive.prove", name=_clean(result.name), time=f"{result.seconds:.3f}")
    found = result.found
    if found is not None:
        file = "" if found.culprit is None else file_of(found.culprit, base)
        if file:
            case.set("file", file)
        failure = ET.SubElement(
            case, "failure", type=found.violation.rule.value, message=_clean(found.violation.sentence)
        )
        diff = "" if found.change is None else f"\n\n{found.change.diff}"
        failure.text = _clean(f"{result.sentence}\n\n{story_of(found)}\n\n{found.advice}{diff}\n\n{result.command}\n")
    elif result.conclusion in _SKIPPED:
        ET.SubElement(case, "skipped", message=_clean(result.sentence))
    elif not result.is_fine:
        error = ET.SubElement(case, "error", type=result.conclusion.value, message=_clean(result.sentence))
        error.text = _clean(result.add)
    else:
        ET.SubElement(case, "system-out").text = _clean(result.sentence)
    return case


def _clean(text: str) -> str:
    """A text without the characters that XML cannot hold."""
    return _NOT_IN_XML.sub("\ufffd", text)
