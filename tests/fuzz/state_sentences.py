"""Sentences of the Amazon States Language and of what stands inside of it: well formed, mostly."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.fuzz.values import Draw

FUNCTIONS = (
    "sum",
    "count",
    "max",
    "string",
    "substring",
    "uppercase",
    "length",
    "trim",
    "pad",
    "match",
    "contains",
    "replace",
    "split",
    "join",
    "formatNumber",
    "formatBase",
    "formatInteger",
    "parseInteger",
    "number",
    "floor",
    "round",
    "abs",
    "sqrt",
    "power",
    "boolean",
    "not",
    "map",
    "zip",
    "filter",
    "single",
    "reduce",
    "sift",
    "keys",
    "lookup",
    "append",
    "exists",
    "spread",
    "merge",
    "reverse",
    "each",
    "assert",
    "type",
    "sort",
    "shuffle",
    "distinct",
    "base64decode",
    "encodeUrl",
    "decodeUrl",
    "toMillis",
    "fromMillis",
    "clone",
    "now",
    "millis",
    "random",
    "uuid",
    "hash",
    "parse",
    "partition",
    "range",
    "eval",
    "error",
)
CALLS = (
    "Array",
    "ArrayContains",
    "ArrayGetItem",
    "ArrayLength",
    "ArrayPartition",
    "ArrayRange",
    "ArrayUnique",
    "Base64Decode",
    "Base64Encode",
    "Format",
    "Hash",
    "JsonMerge",
    "JsonToString",
    "MathAdd",
    "MathRandom",
    "StringSplit",
    "StringToJson",
    "UUID",
)


def path(draw: Draw, depth: int = 0) -> str:
    """A path, with filters in it."""
    steps = [
        draw.one_of(
            ".a",
            ".b",
            "['a']",
            "['a','b']",
            "[0]",
            "[-1]",
            "[0,1]",
            "[1:]",
            ".*",
            "[*]",
            "..a",
            "..*",
            ".length()",
            ".sum()",
            f"[?({_filter(draw, depth)})]" if depth < 3 else "[?(@.c)]",
        )
        for _ in range(draw.randrange(5))
    ]
    return draw.one_of("$", "$", "$$", "$v") + "".join(steps)


def _filter(draw: Draw, depth: int) -> str:
    sign = draw.one_of("==", "!=", "<", ">=", "in", "nin", "subsetof", "anyof", "noneof", "size", "empty", "contains")
    value = draw.one_of("1", "'x'", "null", "true", "['x', 1]", "x", path(draw, depth + 1), "@.b")
    one = draw.one_of(
        f"@.a {sign} {value}", "@.b", "!@.a", "@.a =~ /(a+)+b?/i", f"({_filter(draw, depth + 1)})" if depth < 3 else "@"
    )
    return f"{one} {draw.one_of('&&', '||')} @.c" if draw.chance(0.3) else one


def call(draw: Draw, depth: int = 0) -> str:
    """A call of an intrinsic function with arguments of any kind."""
    arguments = [
        draw.one_of(
            "'a{}b'",
            "'{'",
            "$.a",
            "$.a.b",
            "1",
            "-3",
            "2.5",
            "1e9",
            "null",
            "false",
            "'MD5'",
            path(draw),
            call(draw, depth + 1) if depth < 4 else "''",
        )
        for _ in range(draw.randrange(4))
    ]
    return f"States.{draw.choice(CALLS)}({', '.join(arguments)})"


def jsonata(draw: Draw, depth: int = 0) -> str:
    """An expression of JSONata."""
    if depth > 4 or draw.chance(0.2):
        return draw.one_of(
            "$states.input.a",
            "$states.input",
            "$v",
            "$",
            "null",
            "1",
            "-2.5",
            "1e300",
            "'a'",
            "'2024-01-01'",
            "'[Y]-[M]'",
            "true",
            "[]",
            "{}",
            "[1..5]",
            "/a+/",
            "$sum",
            "$string",
            "function($x, $y){$x}",
            "$nowhere",
            "**",
            "a.b",
            "''",
            "'#,##0.00'",
            "'w'",
        )

    def inner() -> str:
        return jsonata(draw, depth + 1)

    signs = ("+", "-", "*", "/", "%", "&", "=", "!=", "<", ">=", "and", "or", "in", "~>")
    made: list[Callable[[], str]] = [
        lambda: f"${draw.choice(FUNCTIONS)}({', '.join(inner() for _ in range(draw.randrange(4)))})",
        lambda: f"({inner()}) {draw.choice(signs)} ({inner()})",
        lambda: f"({inner()}).({inner()})",
        lambda: f"({inner()})[{inner()}]",
        lambda: f"({inner()})^(>{inner()})",
        lambda: f"{{'k': {inner()}, $string({inner()}): {inner()}}}",
        lambda: f"[{inner()}, {inner()}]",
        lambda: f"({inner()}) ? ({inner()}) : ({inner()})",
        lambda: f"($x := {inner()}; $x)",
        lambda: f"$map({inner()}, function($x){{{inner()}}})",
        lambda: f"[{inner()}..{inner()}]",
        lambda: f"({inner()}) ~> |$|{{'a': {inner()}}}|",
    ]
    return draw.choice(made)()


def machine(draw: Draw) -> str:
    """A state machine, with faults here and there."""
    return json.dumps(_branch(draw, "", 0), default=str)


def _branch(draw: Draw, prefix: str, depth: int) -> dict[str, object]:
    names = [f"{prefix}{number}" for number in range(draw.randrange(1, 4))]
    return {"StartAt": names[0], "States": {name: _state(draw, name, names, depth) for name in names}}


def _state(draw: Draw, name: str, names: list[str], depth: int) -> dict[str, object]:
    kind = draw.one_of("Task", "Pass", "Wait", "Choice", "Succeed", "Fail", *(["Parallel", "Map"] if depth < 2 else []))
    state: dict[str, object] = {"Type": kind}
    onward: dict[str, object] = {"Next": draw.choice(names)} if draw.chance(0.6) else {"End": True}
    match kind:
        case "Task":
            state |= {
                "Resource": draw.one_of(
                    "arn:aws:states:::sqs:sendMessage", "arn:aws:lambda:us-east-1:0:function:f", "x"
                )
            } | onward
            state |= draw.one_of(
                {},
                {
                    "Parameters": {"a.$": path(draw), "b.$": call(draw)},
                    "ResultPath": draw.one_of(None, "$.a", path(draw)),
                },
                {"QueryLanguage": "JSONata", "Arguments": {"a": f"{{% {jsonata(draw)} %}}"}},
                {"Retry": [{"ErrorEquals": ["States.ALL"], "BackoffRate": draw.anything()}]},
                {
                    "Catch": [{"ErrorEquals": ["States.ALL"], "Next": draw.choice(names)}],
                    "TimeoutSeconds": draw.anything(),
                },
            )
        case "Pass":
            state |= onward | draw.one_of(
                {}, {"Result": draw.anything()}, {"Parameters": draw.anything()}, {"Assign": {"v.$": path(draw)}}
            )
        case "Wait":
            state |= onward | draw.one_of(
                {"Seconds": draw.one_of(1, -1, "1")}, {"SecondsPath": path(draw)}, {"Timestamp": "2024-01-01T00:00:00Z"}
            )
        case "Choice":
            rule: dict[str, object] = {
                "Variable": path(draw),
                draw.one_of("StringEquals", "IsNull", "NumericLessThanPath"): draw.one_of("a", True, "$.b"),
            }
            tests: list[dict[str, object]] = [rule, {"Not": rule}, {"And": [rule, rule]}]
            state |= {"Choices": [{**draw.choice(tests), "Next": draw.choice(names)}]}
        case "Parallel":
            state |= {"Branches": [_branch(draw, f"{name}.", depth + 1)]} | onward
        case "Map":
            state |= {
                "ItemProcessor": _branch(draw, f"{name}.", depth + 1),
                "MaxConcurrency": draw.one_of(0, 5, -1),
            } | onward
        case _:
            pass
    return state
