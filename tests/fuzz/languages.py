"""The languages that users write: who reads each, which errors it may answer with, the words of its texts."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Sequence

from redrive.core.documents import load_json
from redrive.core.entropy import SeededEntropy
from redrive.core.errors import ServiceError
from redrive.languages import dynamo, event_pattern, iam, log_filter, partiql, schedule, states, template
from redrive.languages.states import drawing, items
from redrive.languages.states.definition import ItemReader
from redrive.languages.states.intrinsics import MalformedCall, parse_call
from redrive.languages.states.jsonata import FailedEvaluation, UnsupportedResult, evaluate
from redrive.languages.states.lint import lint
from redrive.languages.states.paths import MalformedPath, NothingFound, parse_path
from redrive.testing.world import START
from redrive.wire.message import HttpRequest
from redrive.wire.model.files import Models
from redrive.wire.protocols import cbor_body
from redrive.wire.protocols.paths import PathTable
from redrive.wire.protocols.query import form_of
from redrive.wire.protocols.timestamps import read_text
from redrive.wire.route import Router, Unroutable
from redrive.wire.signatures.sigv4 import credential_of
from tests.fuzz import sentences, state_sentences
from tests.fuzz.template_texts import TEXTS as TEMPLATE_TEXTS
from tests.fuzz.values import Draw
from tests.fuzz.work import ending

VALUES = {":a": {"S": "1"}, ":b": {"N": "1"}, ":l": {"L": [{"S": "1"}]}, ":s": {"SS": ["1"]}}
NAMES = {"#a": "a", "#b": "b.c"}
ITEM = {"a": {"S": "x"}, "b": {"M": {"c": {"L": [{"N": "1"}, {"NULL": True}]}}}, "n": {"NS": ["1", "2"]}}
MESSAGES = (
    '{"a":{"b":[1,"x",null]},"c":"' + "a" * 300 + '"}',
    "a" * 300 + "!",
    "ERROR 1 x",
    "",
    "\0",
    "𝄞" * 40,
    "[" * 90,
)


EVENTS: tuple[dict[str, object], ...] = (
    {"a": {"b": [1, "x", None, {"c": True}]}, "b": "aab", "c": "10.0.0.1"},
    {"a": [{"b": 1, "c": 2}, {"b": 2}], "$or": "a", "a.b": 3},
    {},
)


def _placeholders() -> dynamo.Placeholders:
    return dynamo.Placeholders(NAMES, VALUES)


def _read_schedule(text: str) -> object:
    expression = schedule.parse_expression(text)
    return schedule.next_fire(expression, zone="Europe/Paris", anchor=START, after=START)


def _read_zone(text: str) -> object:
    return schedule.find_zone(text)


def _read_condition(text: str) -> object:
    return dynamo.holds(dynamo.parse_condition(text, _placeholders()), dynamo.read_item(ITEM))


def _read_key_condition(text: str) -> object:
    condition = dynamo.parse_key_condition(text, _placeholders(), "a", "n")
    return dynamo.bounds_of(condition.range) if condition.range is not None else None


def _read_update(text: str) -> object:
    item = dynamo.read_item(ITEM)
    update = dynamo.parse_update(text, _placeholders())
    return dynamo.apply_update(update, item), dynamo.touched_paths(update)


def _read_projection(text: str) -> object:
    return dynamo.project(dynamo.parse_projection(text, _placeholders()), dynamo.read_item(ITEM))


def _read_statement(text: str) -> object:
    parsed = partiql.parse(text)
    bound = partiql.bind(parsed, [dynamo.read_value({"S": "x"})] * parsed.parameters)
    where = bound.select.where if isinstance(bound, partiql.Exists) else getattr(bound, "where", None)
    if where is None:
        return bound
    keys = partiql.Keys("a", "S", "n", "N")
    return dynamo.holds(where, dynamo.read_item(ITEM)), partiql.reaches_of(where, keys)


def _read_value(text: str) -> object:
    return dynamo.read_value({"N": text}), dynamo.read_value({"S": text})


def _read_policy(text: str) -> object:
    policy = iam.parse_policy(text)
    principal = iam.PrincipalInfo.session("arn:aws:iam::000000000000:role/worker", "session")
    request = iam.AccessRequest("sqs:SendMessage", "arn:aws:sqs:us-east-1:000000000000:orders", principal)
    return iam.decide(request, [policy])


def _read_filter(text: str) -> object:
    matches = log_filter.parse_filter(text)
    return [matches(message) for message in MESSAGES]


def _read_event_pattern(text: str) -> object:
    pattern = event_pattern.parse(text)
    matcher = event_pattern.Matcher.of({"pattern": pattern})
    for event in EVENTS:
        assert (matcher.matching(event) != frozenset()) is event_pattern.matches(pattern, event)
        event_pattern.explain(pattern, event).text().encode()
    return pattern


def _read_event(text: str) -> object:
    return _MATCHER.matching_json(text)


def _read_template(text: str) -> object:
    read = template.load_template(text)
    pseudo = template.PseudoParameters("000000000000", "us-east-1", "made", "arn:made")
    parameters = template.resolve_parameters(read, {})
    active = template.activate(read, parameters, pseudo)
    return template.dependency_order(read, active)


def _read_definition(text: str) -> object:
    machine = states.read_definition(text)
    return lint(machine), drawing.draw_lines(machine, drawing.Trace()), drawing.draw_svg(machine, drawing.Trace())


def _read_states_path(text: str) -> object:
    return parse_path(text).find(EVENTS[0])


def _call(text: str) -> object:
    return parse_call(text).value(EVENTS[0], _BINDINGS)


def _evaluate(text: str) -> object:
    return evaluate(text, {"input": EVENTS[0]}, _BINDINGS)


def _read_rows(text: str) -> object:
    rows = items.read_items(text.encode("utf-8", "surrogatepass"), ItemReader("", None, "CSV"))
    return list(items.batches_of(rows, 2, 50))


def _read_cbor(text: str) -> object:
    value = cbor_body.parse(text.encode("latin-1", "replace"))
    return cbor_body.parse(cbor_body.dump(value))


def _read_form(text: str) -> object:
    return form_of(HttpRequest("POST", "/", "", {}, text.encode("utf-8", "surrogatepass")))


def _read_authorization(text: str) -> object:
    return credential_of(HttpRequest("POST", "/", "", {"authorization": _latin(text), "x-amz-date": "a"}, b""))


def _read_presigned(text: str) -> object:
    return credential_of(
        HttpRequest("GET", "/", _latin(f"X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={text}"), {}, b"")
    )


def _read_path(text: str) -> object:
    return _PATHS.match("GET", _latin(text), "")


def _route(text: str) -> object:
    return _ROUTER.route(HttpRequest("POST", "/", "", {"x-amz-target": _latin(text)}, b""))


def _latin(text: str) -> str:
    """A text as it comes in a header: bytes of UTF-8, read as Latin-1."""
    return text.encode("utf-8", "surrogatepass").decode("latin-1")


_MATCHER = event_pattern.Matcher.of({"pattern": event_pattern.parse('{"a":{"b":[1]},"c":[{"exists":false}]}')})
_BINDINGS = states.Bindings({"Execution": {"Id": "x"}}, SeededEntropy("fuzz"), START, {"v": [1, None]})
_MODELS = Models()
_ROUTER = Router(_MODELS)
_PATHS = PathTable(_MODELS.service("lambda").operations.values())


@dataclasses.dataclass(frozen=True, slots=True)
class Language:
    """A reader of texts, the errors that it may answer with, and the words of which texts are made.

    `sentence` makes well formed ones, where words alone hardly ever do.
    """

    read: Callable[[str], object]
    errors: tuple[type[Exception], ...]
    words: Sequence[str]
    sentence: Callable[[Draw], str] | None = None

    def holds(self, text: str) -> None:
        """Read a text. Errors: whatever is not the language's own."""
        with ending(), contextlib.suppress(*self.errors):
            self.read(text)


LANGUAGES = {
    "schedule": Language(
        _read_schedule,
        (schedule.InvalidExpression,),
        (
            "cron(",
            "rate(",
            "at(",
            ")",
            " ",
            "*",
            "?",
            "L",
            "W",
            "#",
            "/",
            "-",
            ",",
            "0",
            "5",
            "31",
            "2199",
            "MON",
            "JAN",
            "1",
            "minutes",
            "hour",
            "2025-01-01T00:00:00",
            "cron(0 0 * * ? *)",
            "cron(0 0 29 2 ? *)",
            "LW",
            "99999999999",
            "٣",
        ),
        sentences.schedule,
    ),
    "event pattern": Language(
        _read_event_pattern,
        (event_pattern.PatternError,),
        (
            '{"a":[',
            '{"b":{',
            '{"$or":[',
            '{"a":["x"]},{"b":[1]}',
            "]}",
            "}",
            "]",
            ",",
            '"',
            "\\",
            "\ud800",
            " ",
            '{"prefix":"a"}',
            '{"suffix":{"equals-ignore-case":"B"}}',
            '{"anything-but":',
            '["x",',
            '{"wildcard":"*a*"}',
            '{"numeric":[">",0,"<=",5]}',
            '{"cidr":"10.0.0.0/8"}',
            '{"exists":false}',
            "null",
            "true",
            "-1e999",
            "1.5",
            '{"a":["x",1,null,{"prefix":"a"}]}',
            '{"a":{"b":[{"anything-but":{"wildcard":["*x","a*"]}}]}}',
            "a.b",
            ":",
        ),
    ),
    "event": Language(
        _read_event, (ValueError,), ('{"a":', '{"b":', "}", "[", "]", "1", ",", '"c":1', "null", "\\ud800", '"a.b":1')
    ),
    "zone": Language(
        _read_zone, (schedule.InvalidTimezone,), ("Europe", "/", "Paris", "..", "UTC", "Etc/GMT+1", ".", "\0", "posix")
    ),
    "condition": Language(
        _read_condition,
        (ServiceError,),
        (
            "a",
            "b",
            "c",
            "#a",
            "#b",
            ":a",
            ":b",
            ":l",
            ".",
            "[0]",
            "[99999999999]",
            "(",
            ")",
            ",",
            " ",
            "=",
            "<>",
            "<=",
            "AND",
            "OR",
            "NOT",
            "BETWEEN",
            "IN",
            "attribute_exists(",
            "size(",
            "contains(",
            "begins_with(",
            "attribute_type(",
            "-",
            "{",
        ),
        sentences.condition,
    ),
    "key condition": Language(
        _read_key_condition,
        (ServiceError,),
        ("a", "n", "#a", ":a", ":b", "=", "<", "AND", "BETWEEN", "begins_with(", "(", ")", ",", " "),
        sentences.key_condition,
    ),
    "update": Language(
        _read_update,
        (ServiceError,),
        (
            "SET",
            "REMOVE",
            "ADD",
            "DELETE",
            "a",
            "b",
            "#a",
            "#b",
            ".c",
            "[0]",
            "[5]",
            "=",
            "+",
            "-",
            ":a",
            ":b",
            ":l",
            ":s",
            ",",
            "if_not_exists(",
            "list_append(",
            ")",
            " ",
            "(",
            "n",
        ),
        sentences.update,
    ),
    "projection": Language(
        _read_projection,
        (ServiceError,),
        ("a", "b", "#a", "#b", ".", "[0]", "[1]", ",", " ", "c", "n", "["),
        sentences.projection,
    ),
    "partiql": Language(
        _read_statement,
        (ServiceError,),
        tuple(
            """
            SELECT * FROM t WHERE UPDATE SET REMOVE INSERT INTO VALUE DELETE EXISTS( ORDER BY RETURNING ALL OLD LIMIT a
            n b.c [0] "q" 'x' ' " ? 1 -2.5 1e999999999999 = <> < <= AND OR NOT IN BETWEEN IS MISSING NULL ( ) [ ] { }
            << >> : , ; . -- /* */ # @ size( contains( begins_with( set_add( list_append( + - *
            """.split()
        ),
        sentences.partiql,
    ),
    "value": Language(
        _read_value,
        (ServiceError,),
        ("1", "0", "-", "+", ".", "e", "E", "9" * 38, "0" * 130, "e125", "e-130", "_", " ", "NaN", "٣", "Infinity"),
        sentences.number,
    ),
    "policy": Language(
        _read_policy,
        (iam.PolicyError,),
        (
            '{"Version":"2012-10-17","Statement":[',
            '{"Effect":"Allow","Action":"sqs:*","Resource":"*"',
            ',"Condition":{',
            '"StringLike":{"aws:PrincipalArn":"*a*a*a*b"}',
            '"NumericLessThan":{"aws:x":"1e999"}',
            '"IpAddress":{"aws:SourceIp":"::/999"}',
            '"DateLessThan":{"aws:CurrentTime":"9"}',
            "}",
            "]",
            "{",
            "[",
            ",",
            ":",
            '"',
            '"Sid":"',
            '"NotAction":"',
            '"${aws:x}"',
            "*",
            "?",
            '"Statement":{}',
            "1",
            "null",
        ),
        sentences.policy,
    ),
    "log filter": Language(
        _read_filter,
        (log_filter.MalformedFilter,),
        (
            "{",
            "}",
            "$",
            ".a",
            ".b",
            "[0]",
            "[*]",
            " ",
            "=",
            "!=",
            "<",
            "&&",
            "||",
            "(",
            ")",
            "1",
            "1e400",
            '"',
            "x",
            "*",
            "IS NULL",
            "NOT EXISTS",
            "IS TRUE",
            "EXISTS",
            "ERROR",
            "-",
            "?",
            "%",
            "^",
            "a+",
            "\\",
            "[",
            "]",
            "|",
        ),
        sentences.log_filter,
    ),
    "template": Language(
        _read_template,
        (template.TemplateError,),
        (
            *TEMPLATE_TEXTS[:18],
            "Resources:\n",
            "  A:\n",
            "    Type: AWS::SQS::Queue\n",
            "    Properties:\n",
            "      QueueName: ",
            "!Ref ",
            "!Sub ",
            "!GetAtt ",
            "${",
            "}",
            "A",
            "'",
            '"',
            "[",
            "]",
            ":",
            "\n",
            "  ",
            "- ",
            "|",
            ">",
            "&",
            "*",
            "!",
            "#",
            "%",
        ),
    ),
    "state machine": Language(
        _read_definition,
        (states.MalformedDefinition,),
        (
            '{"StartAt":"A","States":{',
            '{"StartAt":"A","States":{"A":{"Type":"Pass","End":true}}}',
            '"A":{"Type":"Task","Resource":"arn:aws:states:::sqs:sendMessage","End":true}',
            '"A":{"Type":"Choice","Choices":[{"Variable":"$.a","IsNull":true,"Next":"A"}]}',
            '"A":{"Type":"Map","End":true,"ItemProcessor":{"StartAt":"B","States":{"B":{"Type":"Succeed"}}}}',
            '"B":{"Type":"Parallel","Branches":[',
            '"Type":"Wait",',
            '"Seconds":',
            '"Next":"A"',
            '"End":true',
            '"Retry":[{"ErrorEquals":["States.ALL"],"BackoffRate":',
            '"Catch":[',
            '"QueryLanguage":"JSONata",',
            '"Output":"{% $states.input.a %}"',
            '"Parameters":{"a.$":"States.Array($.a)"}',
            "}",
            "]",
            ",",
            ":",
            "1e400",
            "null",
            "\ud800",
            '"',
        ),
        state_sentences.machine,
    ),
    "states path": Language(
        _read_states_path,
        (MalformedPath, NothingFound),
        (
            "$",
            "$$",
            "$v",
            ".a",
            ".b",
            "..",
            "*",
            "[0]",
            "[-1]",
            "[1:]",
            "['a','b']",
            "[?(",
            "@.b",
            "==",
            "=~ /(a+)+/",
            "&&",
            "||",
            "!",
            "(",
            ")",
            "]",
            "[",
            "in ['x']",
            "1",
            "'",
            '"',
            ".length()",
            ".sum()",
            " ",
            "\\",
            "𝄞",
        ),
        state_sentences.path,
    ),
    "intrinsic function": Language(
        _call,
        (MalformedCall, states.StatesError),
        (
            "States.Format('",
            "States.Array(",
            "States.ArrayRange(",
            "States.MathRandom(",
            "States.StringToJson(",
            "States.Hash(",
            "States.JsonMerge(",
            "States.UUID()",
            "$.a.b",
            "$$.Execution.Id",
            "$v",
            "'",
            "{}",
            "\\",
            ",",
            ")",
            "(",
            "1",
            "-1e400",
            "9999999999",
            "null",
            "true",
            "false",
            " ",
            "𝄞",
        ),
        state_sentences.call,
    ),
    "jsonata": Language(
        _evaluate,
        (FailedEvaluation, UnsupportedResult),
        (
            "$states.input.a",
            "$v",
            ".b",
            "**",
            "*",
            "%",
            "[",
            "]",
            "(",
            ")",
            "{",
            "}",
            "'a'",
            ":",
            ",",
            ";",
            "$x",
            ":=",
            "function($x){",
            "$map(",
            "$sum(",
            "$string(",
            "$toMillis(",
            "$formatNumber(",
            "$replace(",
            "$match(",
            "$parse(",
            "$range(",
            "/a+/",
            "~>",
            "|",
            "^",
            "?",
            "&",
            "=",
            "!=",
            "<",
            "in",
            "and",
            "[1..",
            "1",
            "-1e308",
            "9",
            "`",
            "@$i",
            "#$i",
            "null",
            "\\",
            " ",
            "\ud800",
        ),
        state_sentences.jsonata,
    ),
    "item file": Language(
        _read_rows, (states.StatesError,), ("a", ",", '"', "\n", "\r", "\0", "𝄞", "\ud800", "é", " ", "a,a", ";")
    ),
    "cbor": Language(
        _read_cbor,
        (cbor_body.Malformed,),
        (
            "\x00",
            "\x18",
            "\x1b",
            "\x20",
            "\x3b",
            "\x40",
            "\x5f",
            "\x60",
            "\x61a",
            "\x7f",
            "\x80",
            "\x81",
            "\x9f",
            "\xa0",
            "\xa1",
            "\xbf",
            "\xc1",
            "\xc2",
            "\xd8",
            "\xf4",
            "\xf6",
            "\xf9\x7e\x00",
            "\xfb",
            "\xff",
            "\x00" * 8,
            "\xff" * 8,
            "\x9b",
            "\xbb",
            "\x7b",
        ),
        sentences.cbor_text,
    ),
    "json": Language(
        load_json,
        (ValueError,),
        ("{", "}", "[", "]", '"a"', ":", ",", "1", "NaN", '"\\ud800"', "1e400", "null", " ", "\\", '"', "-", "9" * 20),
        sentences.nested_json,
    ),
    "form": Language(
        _read_form,
        (ServiceError,),
        ("a", "=", "&", ";", "%", "%00", "%ff", "%ud800", "+", ".1", ".member", "𝄞", "\ud800"),
    ),
    "authorization": Language(
        _read_authorization,
        (ServiceError,),
        (
            "AWS4-HMAC-SHA256 ",
            "AWS4-ECDSA-P256-SHA256 ",
            "Credential=",
            "a/20250101/us-east-1/sqs/aws4_request",
            "/",
            ",",
            " ",
            "SignedHeaders=",
            "host",
            "Signature=",
            "00",
            "=",
            "Basic ",
            "Bearer ",
            "é",
            "\ud800",
        ),
        sentences.authorization,
    ),
    "presigned": Language(
        _read_presigned, (ServiceError,), ("a/20250101/us-east-1/sqs/aws4_request", "%2F", "/", "&", "=", "%", "𝄞")
    ),
    "path": Language(
        _read_path, (), ("/2015-03-31", "/functions", "/", "a", "%2F", "%", "..", "{", "/versions", "/code", "𝄞", "//")
    ),
    "target": Language(_route, (Unroutable,), ("AmazonSQS", ".", "ListQueues", "DynamoDB_20120810", "𝄞", " ", "\0")),
    "timestamp": Language(
        read_text,
        (ValueError, OverflowError),
        ("2025", "-", "01", "T", ":", "Z", "00", "+", ".", "9" * 20, "1735689600", "Wed, 01 Jan", " GMT", "٣", "e5"),
    ),
}
