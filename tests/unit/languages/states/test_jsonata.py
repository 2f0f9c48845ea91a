"""JSONata gives what it should, with Step Functions' functions, and no expression stalls its process."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive.languages.states.jsonata import (
    UNDEFINED,
    FailedEvaluation,
    UnsupportedResult,
    budget,
    evaluate,
    fault_of,
)
from tests.unit.languages.states.worlds import NOW, bindings

ROOT = {"input": {"a": None, "list": [None, 1, None], "order": {"lines": [{"n": 2, "p": 3}, {"n": 1, "p": 5}]}}}


def _value(text: str) -> object:
    return evaluate(text, ROOT, bindings(v={"x": [1, None]}))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$states.input.order.lines.(n * p)", [6, 5]),
        ("$sum($states.input.order.lines.(n * p))", 11),
        ("$states.input.a", None),
        ("$states.input.list", [None, 1, None]),
        ("$count($states.input.list)", 3),
        ("$states.input.list = [null, 1, null]", True),
        ("$states.input.nowhere", UNDEFINED),
        ("$v.x", [1, None]),
        ("$states.context.Execution.Name", "x"),
        ("{'a': $states.input.nowhere, 'b': null}", {"b": None}),
        ("3.0", 3),
        ("10 / 4", 2.5),
        ("$now()", "2023-11-14T22:13:20.000Z"),
        ("$millis()", NOW),
        ("$partition([1..5], 2)", [[1, 2], [3, 4], [5]]),
        ("$range(0, 1, 0.5)", [0, 0.5, 1]),
        ("$range(5, 1, -2)", [5, 3, 1]),
        ("$range(1, 0, 1)", []),
        ("$hash('input data', 'SHA-1')", "aaff4a450a104cd177d28d18d74485e8cae074b7"),
        ("$length($hash('a'))", 64),
        ("$parse('{\"a\": [null]}')", {"a": [None]}),
        ("$map(['1', '{}'], $parse)", [1, {}]),
        ("$random(7) = $random(7)", True),
        ("$distinct([1, 1.0, '1', true, null, null])", [1, "1", True, None]),
        ("$sort($shuffle([1..20])) = [1..20]", True),
        ("$match('ab12', /[a-z]+/).match", "ab"),
        ("$replace('aAb', /a+/i, '-')", "-b"),
        ("$split('a1b22c', /[0-9]+/)", ["a", "b", "c"]),
        ("$toMillis('2024-01-02', '[Y0001]-[M01]-[D01]')", 1704153600000),
        ("($f := function($n) { $n <= 1 ? 1 : $n * $f($n - 1) }; $f(10))", 3628800),
    ],
)
def test_expression_gives_its_value(text: str, value: object) -> None:
    assert _value(text) == value


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("$eval('1')", "T1006"),
        ("1 / 0", "D1001"),
        ("$power(10, 400)", "D1001"),
        ("$error('boom')", "D3137: boom"),
        ("'a' + 1", "T2001"),
        ("$hash('a', 'CRC')", "The second argument"),
        ("$parse('x')", "The argument of the parse function is not JSON"),
        ("$partition([1], 0)", "D3050"),
        ("$range(1, 2, 0)", "D3050"),
        ("$range(1, 10000000, 1)", "D2014"),
        ("$uuid(1)", "T0410"),
        ("$contains('ab', /(?=b)/)", "S0301"),
        ("1 +", "S0207"),
    ],
)
def test_expression_that_fails_says_the_code_of_jsonata(text: str, code: str) -> None:
    with pytest.raises(FailedEvaluation) as raised:
        _value(text)

    assert str(raised.value).startswith(code)


@pytest.mark.parametrize("text", ["function($x){$x}", "{'f': $sum}", "[$string]", "($p := /a/; [$p])"])
def test_functions_and_patterns_are_no_result(text: str) -> None:
    with pytest.raises(UnsupportedResult):
        _value(text)


@pytest.mark.parametrize(
    "text",
    [
        "($f := function() { $f() }; $f())",
        "($f := function($n) { 1 + $f($n) }; $f(1))",
        "($f := function($n) { $map([1], function($x) { $f($n) }) }; $f(1))",
        "($d := function($s, $n) { $n = 0 ? $s : $d($s & $s, $n - 1) }; $d('aa', 60))",
        "($d := function($s, $n) { $n = 0 ? $s : $d([$s, $s], $n - 1) }; $d(1, 60))",
        "($d := function($s, $n) { $n = 0 ? $s : $d({'a': $s, 'b': $s}, $n - 1) }; $string($d(1, 60)))",
        "($d := function($s, $n) { $n = 0 ? $s : $d({'a': $s, 'b': $s}, $n - 1) }; $d(1, 60))",
        "($d := function($s, $n) { $n = 0 ? $s : $d($s * $s, $n - 1) }; $d(9, 60))",
        "[1..10000000]",
        "[1..1000].([1..1000].([1..1000]))",
        "$pad('a', 1000000000)",
        "$replace($pad('', 999999, 'a'), 'a', $pad('', 999999, 'b'))",
        "$replace($pad('', 999999, 'a'), /a/, $pad('', 999999, 'b'))",
        "$join([1..99999].'', $pad('', 999999, 'b'))",
        "$map([1..100000], function($i) { $sum([1..1000]) })",
        "$map([1..10000].[[1..1000]], $sum)",
        "$toMillis($pad('', 90, 'a') & '!', '[MNn][MNn][MNn][MNn][MNn][MNn][MNn][MNn][MNn]x')",
        "$toMillis('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', '(a+)+b')",
        "$fromMillis(1, $pad('', 100000, '[Y]'))",
        "$match($pad('', 100000, 'a') & 'b', /(a+)+$/)",
        "1" + " + 1" * 2000,
        "$formatInteger(1e300, 'I')",
        "($__evaluate_entry := null; $f := function() { $f() }; $f())",
    ],
)
def test_expression_without_bounds_ends_with_an_error_or_a_value_soon(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it may do is counted (`budget.py`); this test would not come back otherwise. Less is allowed here."""
    monkeypatch.setattr(budget, "WORK_MAX", 50_000)

    try:
        evaluate(text, ROOT, bindings())
    except (FailedEvaluation, UnsupportedResult):
        return


def test_same_expression_ends_the_same_however_deep_its_caller_stands() -> None:
    text = "1" + " + 1" * 200

    def deep(frames: int) -> object:
        return _value(text) if not frames else deep(frames - 1)

    assert deep(0) == deep(150) == 201


def test_faults_of_an_expression_are_found_without_evaluating_it() -> None:
    assert fault_of("$states.input.a") is None
    assert fault_of("1 +") == "S0207: Unexpected end of expression"
    assert fault_of("(" * 5_000) is not None
    assert fault_of("'" + "a" * 200_000 + "'") is not None


def test_library_comes_with_the_first_expression_and_keeps_the_limits_of_the_process() -> None:
    script = (
        "import sys; import redrive.languages.states as s; limit = sys.getrecursionlimit();"
        "early = 'jsonata' in sys.modules;"
        "from redrive.languages.states.jsonata import fault_of; fault_of('1');"
        "print(early, 'jsonata' in sys.modules, sys.getrecursionlimit() == limit)"
    )

    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)

    assert ran.stdout.split() == ["False", "True", "True"]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(-1e9, 1e9, allow_nan=False)
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=80)
@given(JSON)
def test_any_json_goes_through_unchanged(value: object) -> None:
    surroundings = bindings(value=value)

    assert evaluate("{'v': $value}", {}, surroundings) == {"v": value}
    assert evaluate("$parse($text)", {}, bindings(text=json.dumps({"v": value}))) == {"v": value}
