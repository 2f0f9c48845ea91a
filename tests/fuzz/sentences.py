"""Sentences of the languages that users write: well formed, mostly, so that what evaluates them is reached too."""

from __future__ import annotations

import json

from tests.fuzz.protocols import cbor_bytes
from tests.fuzz.values import Draw

PATHS = ("a", "b", "#a", "#b", "b.c", "b.c[0]", "b.c[9]", "n", "z", "a[0].b")
VALUES = (":a", ":b", ":l", ":s")
OPERATORS = (
    "StringEquals", "StringNotLike", "StringLikeIfExists", "ForAllValues:StringLike", "ForAnyValue:StringEquals",
    "NumericLessThan", "NumericEquals", "DateGreaterThan", "Bool", "IpAddress", "NotIpAddress", "ArnLike",
    "ArnNotEquals", "Null", "BinaryEquals", "StringEqualsIgnoreCase",
)  # fmt: skip
KEYS = ("aws:PrincipalArn", "aws:SourceIp", "aws:CurrentTime", "aws:x", "aws:userid", "AWS:PRINCIPALACCOUNT")
ACTIONS = ("*", "sqs:*", "sqs:Send*", "sqs:" + "*?" * 20, "SQS:sendmessage", "iam:PassRole", "sqs:*e*e*e*e*z")
RESOURCES = (
    "*",
    "arn:aws:sqs:*:*:*",
    "arn:aws:sqs:us-east-1:000000000000:" + "*o" * 20,
    "arn:aws:sqs:*:*:${aws:userid}",
)
PATTERNS = (
    "*",
    "a*b*c*d",
    "arn:aws:*:*:*:*",
    "${aws:userid}",
    "${aws:x, 'd'}",
    "?" * 40,
    "*?" * 20,
    "sqs:Send*",
    "::/0",
    "1e9",
    "",
)


def schedule(draw: Draw) -> str:
    """`cron` with six fields, `rate` or `at`."""
    fields = (
        "0",
        "*",
        "?",
        "1-5",
        "0/15",
        "5,10",
        "L",
        "LW",
        "15W",
        "MON-FRI",
        "2#5",
        "6L",
        "2200",
        "2026-2199/7",
        "JAN",
        "60",
        "SUN",
    )
    return draw.one_of(
        f"cron({' '.join(draw.choice(fields) for _ in range(6))})",
        f"cron(0 {draw.randrange(24)} {draw.choice(fields)} {draw.choice(fields)} ? {draw.choice(fields)})",
        f"rate({draw.one_of(0, 1, 2, 10**12)} {draw.one_of('minute', 'minutes', 'hours', 'days', 'weeks')})",
        f"at({draw.randrange(1, 10_000):04}-{draw.randrange(14):02}-{draw.randrange(32):02}T23:59:59)",
    )


def condition(draw: Draw, depth: int = 0) -> str:
    """A condition of DynamoDB."""
    path, value, other = draw.choice(PATHS), draw.choice(VALUES), draw.choice((*VALUES, *PATHS))
    plain = draw.one_of(
        f"{path} {draw.one_of('=', '<>', '<', '<=', '>', '>=')} {other}",
        f"{path} BETWEEN {value} AND {draw.choice(VALUES)}",
        f"{path} IN ({', '.join(draw.choice(VALUES) for _ in range(draw.one_of(1, 3, 101)))})",
        f"{draw.one_of('contains', 'begins_with', 'attribute_type')}({path}, {value})",
        f"{draw.one_of('attribute_exists', 'attribute_not_exists')}({path})",
        f"size({path}) > {value}",
    )
    if depth > 3 or draw.chance(0.5):
        return plain
    first, second = condition(draw, depth + 1), condition(draw, depth + 1)
    return draw.one_of(
        f"({first})", f"NOT {first}", f"{first} AND {second}", f"({first}) OR ({second})", "(" * 30 + first + ")" * 30
    )


def key_condition(draw: Draw) -> str:
    """A condition on `a`, and on `n`."""
    on_range = draw.one_of("n < :b", "n BETWEEN :a AND :b", "begins_with(n, :a)", "n <> :a", condition(draw))
    return draw.one_of("a = :a", f"a = :a AND {on_range}", f"{on_range} AND a = :a", f"(a = :a) AND ({on_range})")


def update(draw: Draw) -> str:
    """An update of DynamoDB."""
    path, other, value = draw.choice(PATHS), draw.choice(PATHS), draw.choice(VALUES)
    computed = (value, other, f"{other} + {value}", f"if_not_exists({other}, {value})", f"list_append(b.c, {value})")
    sections = draw.sample(
        [
            f"SET {path} = {draw.choice(computed)}",
            f"REMOVE {other}",
            f"ADD z {value}",
            f"DELETE n {value}",
        ],
        draw.randrange(1, 4),
    )
    return " ".join(sections)


def projection(draw: Draw) -> str:
    """Paths and commas."""
    return ", ".join(draw.choice(PATHS) for _ in range(draw.one_of(1, 2, 5)))


LITERALS = ("1", "-2.5e3", "'x'", "'it''s'", "NULL", "true", "?", "[1, ?]", "<<'a', 'b'>>", "{'a': [{'b': 1}]}", "''")
"""Values of PartiQL."""


def partiql(draw: Draw) -> str:
    """A statement of PartiQL."""
    path, value = draw.one_of("a", "b.c", "b.c[0]", '"with space"', "n"), draw.choice(LITERALS)
    key = draw.one_of("a = 'x'", "a = 'x' AND n = 1", "a IN ['x', 'y']", "a = 'x' OR a = 'y'", "n > 1")
    where = draw.one_of("", f" WHERE {key}", f" WHERE {key} AND {_clause(draw)}", f" WHERE {_clause(draw)}")
    returning = draw.one_of("", " RETURNING ALL OLD *", " RETURNING MODIFIED NEW *")
    changed = draw.one_of(f"SET {path} = {value}", f"SET n = n + {value}", f"REMOVE {path}",
                          f"SET {path} = list_append({path}, {value})", f"SET n = set_add(n, {value})")  # fmt: skip
    return draw.one_of(
        f"SELECT {draw.one_of('*', path, f'{path}, a')} FROM t{where}{draw.one_of('', ' ORDER BY n DESC')}",
        f"INSERT INTO t VALUE {{'a': {value}, 'n': {draw.choice(LITERALS)}}}",
        f"UPDATE t {changed} {changed}{where}{returning}",
        f"DELETE FROM t{where}{returning}",
        f"EXISTS(SELECT * FROM t{where})",
    )


def _clause(draw: Draw, depth: int = 0) -> str:
    path, value = draw.one_of("a", "b.c", "n", "size(a)"), draw.choice(LITERALS)
    plain = draw.one_of(
        f"{path} {draw.one_of('=', '<>', '<', '>=', '!=')} {value}",
        f"{path} BETWEEN {value} AND {draw.choice(LITERALS)}",
        f"{path} {draw.one_of('IN', 'NOT IN')} [{value}, {draw.choice(LITERALS)}]",
        f"{path} IS {draw.one_of('MISSING', 'NOT MISSING', 'NULL', 'INT')}",
        f"{draw.one_of('contains', 'begins_with', 'attribute_type')}({path}, {value})",
    )
    if depth > 3 or draw.chance(0.5):
        return plain
    first, second = _clause(draw, depth + 1), _clause(draw, depth + 1)
    return draw.one_of(f"NOT {first}", f"{first} AND {second}", f"({first}) OR ({second})", "(" * 30 + first + ")" * 30)


def policy(draw: Draw) -> str:
    """A policy document."""
    statements = [_statement(draw) for _ in range(draw.one_of(1, 1, 2, 5))]
    return json.dumps(
        {"Version": draw.one_of("2012-10-17", "2008-10-17"), "Statement": draw.one_of(statements, statements[0])}
    )


def _statement(draw: Draw) -> dict[str, object]:
    def some(patterns: tuple[str, ...]) -> object:
        return draw.one_of(draw.choice(patterns), [draw.choice(patterns) for _ in range(draw.randrange(1, 4))])

    statement: dict[str, object] = {
        "Effect": draw.one_of("Allow", "Deny"),
        draw.one_of("Action", "NotAction"): some(ACTIONS),
        draw.one_of("Resource", "NotResource"): some(RESOURCES),
    }
    if draw.chance(0.7):
        keys = {draw.choice(KEYS): some(PATTERNS) for _ in range(draw.randrange(1, 3))}
        statement["Condition"] = {draw.choice(OPERATORS): keys for _ in range(draw.randrange(3))}
    if draw.chance(0.1):
        statement[draw.one_of("Sid", "Principal", "NotPrincipal", "X")] = draw.one_of("a", "*", {"AWS": "*"}, 1)
    return statement


def log_filter(draw: Draw, depth: int = 0) -> str:
    """A pattern of terms, or of a JSON selector."""
    if depth == 0 and draw.chance(0.4):
        terms = ("ERROR", "-x", "?a", '"a b"', "%a+b%", "%a*%", "*", '"', "-", "?", "%^a$%", "%[a-z]+ %")
        return " ".join(draw.choice(terms) for _ in range(draw.one_of(1, 2, 5)))
    selector = draw.one_of("$.a", "$.a.b[0]", "$.a.b[1]", "$.c", "$['c']", "$", "$.a[*]", "$.z.z.z")
    wanted = draw.one_of("1", "-1.5e3", "x", "*a*", "x*", "%a+%", '"a*"')
    plain = draw.one_of(
        f"{selector} {draw.one_of('=', '!=', '<', '>', '<=', '>=')} {wanted}",
        f"{selector} {draw.one_of('IS NULL', 'IS TRUE', 'IS FALSE', 'EXISTS', 'NOT EXISTS')}",
    )
    if depth < 4 and draw.chance(0.4):
        joined = f" {draw.one_of('&&', '||')} ".join(log_filter(draw, depth + 1) for _ in range(2))
        plain = draw.one_of(joined, f"({joined})", f"({plain}) && {plain}")
    return f"{{ {plain} }}" if depth == 0 else plain


def cbor_text(draw: Draw) -> str:
    """Bytes of CBOR, each as the character of its number."""
    return cbor_bytes(draw.anything(), draw).decode("latin-1")


def number(draw: Draw) -> str:
    """A number as DynamoDB might take it."""
    digits = str(draw.randrange(10 ** draw.one_of(1, 5, 38, 39, 60)))
    exponent = draw.one_of("", "e5", "E-130", "e+125", "e126")
    return f"{draw.one_of('', '-', '+')}{digits}{draw.one_of('', '.', '.5', '.' + digits)}{exponent}"


def authorization(draw: Draw) -> str:
    """An Authorization header."""
    scope = draw.one_of(
        "a/20250101/us-east-1/sqs/aws4_request", "a/b/c/d/e/f", "a/20250101/sqs/aws4_request", "////", draw.text()
    )
    algorithm = draw.one_of("HMAC-SHA256", "ECDSA-P256-SHA256", "X")
    return f"AWS4-{algorithm} Credential={scope}, SignedHeaders=host, Signature={draw.text()}"


def nested_json(draw: Draw) -> str:
    """JSON of any shape."""
    value = draw.one_of("a", 1, None)
    depth = draw.one_of(1, 100, 199, 200, 201, 990, 5_000)
    return draw.one_of(
        "[" * depth + json.dumps(value) + "]" * depth, '{"a":' * depth + "1" + "}" * depth, json.dumps(draw.text())
    )
