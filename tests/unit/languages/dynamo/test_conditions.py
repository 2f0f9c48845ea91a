"""Condition and filter expressions: what is well formed, what each mistake is called, what holds for an item."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.core.errors import ServiceError
from redrive.languages.dynamo import (
    AttributeValue,
    Condition,
    Placeholders,
    holds,
    parse_condition,
    parse_key_condition,
    parse_projection,
    parse_update,
)
from redrive.languages.dynamo.expressions.reserved import RESERVED_WORDS
from redrive.languages.dynamo.expressions.tree import (
    And,
    AttributeExists,
    Between,
    Comparator,
    Comparison,
    Literal,
    Not,
    Or,
    Path,
    Size,
)
from tests.unit.languages.dynamo.printing import Printer
from tests.unit.languages.dynamo.refused import refusal
from tests.unit.languages.dynamo.strategies import CONDITIONS, ITEMS

TOO_MANY = "The expression contains too many operators; operator count: 301"
NAMES = {"#a": "a", "#status": "status", "#dots": "with.dots"}
VALUES: dict[str, object] = {
    ":n": {"N": "1"},
    ":two": {"N": "2"},
    ":s": {"S": "abc"},
    ":b": {"B": b"ab"},
    ":bool": {"BOOL": True},
    ":null": {"NULL": True},
    ":ss": {"SS": ["a"]},
    ":ns": {"NS": ["1"]},
    ":bs": {"BS": [b"a"]},
    ":m": {"M": {}},
    ":l": {"L": []},
    ":type": {"S": "N"},
}
ITEM: dict[str, AttributeValue] = {
    "n": {"N": "1"},
    "ten": {"N": "10"},
    "s": {"S": "abcdef"},
    "b": {"B": b"\x80ab"},
    "t": {"BOOL": True},
    "nothing": {"NULL": True},
    "ss": {"SS": ["abc", "x"]},
    "ns": {"NS": ["1", "2", "3"]},
    "bs": {"BS": [b"ab"]},
    "m": {"M": {"inside": {"L": [{"N": "5"}, {"S": "abc"}]}, "with.dots": {"N": "1"}}},
    "status": {"S": "open"},
}

PIECES = (
    "a b #a :n :s SET REMOVE ADD DELETE AND OR NOT BETWEEN IN ( ) [ ] [0] . , = <> < + - 7 abort size( contains( "
    "attribute_exists( if_not_exists( list_append( #x :x"
).split()


def parse(text: str, kind: str = "FilterExpression") -> Condition:
    return parse_condition(text, Placeholders(NAMES, VALUES), kind)


def refused(text: str) -> str:
    message = refusal(lambda: parse(text))
    assert message.startswith("Invalid FilterExpression: ")
    return message.removeprefix("Invalid FilterExpression: ")


@pytest.mark.parametrize(
    "text",
    [
        "n = :n",
        "n=:n",
        ":n = n",
        "(n) = (:n)",
        "n <> :two",
        "n <> :s",
        "gone <> :n",
        "gone <> absent",
        "n < :two",
        "n < ten",
        "ten > n",
        "n <= :n",
        "n >= :n",
        "s >= :s",
        "b > :b",
        "n BETWEEN :n AND :two",
        "n between :n and ten",
        "n IN (:two, :n)",
        "n IN (:s, ten, :n)",
        "attribute_exists(m.inside[1])",
        "attribute_exists(m.#dots)",
        "attribute_not_exists(m.elsewhere)",
        "attribute_not_exists(m.inside[2])",
        "attribute_not_exists(s.inside)",
        "attribute_not_exists(m[0])",
        "attribute_type(n, :type)",
        "begins_with(s, :s)",
        "begins_with(:s, :s)",
        "contains(s, :s)",
        "contains(ss, :s)",
        "contains(ns, :n)",
        "contains(bs, :b)",
        "contains(m.inside, :s)",
        "contains(b, :b)",
        "size(s) > :two",
        "size(b) > size(:b)",
        "size(ns) > :two",
        "size(m) = :two",
        "size(m.inside) = :two",
        "size(t) <> :n",
        "NOT n = :two",
        "not not n = :n",
        "NOT (n = :two OR n = ten)",
        "n = :two AND n = :two OR n = :n",
        "n = :n OR n = :n AND n = :two",
        "NOT n = :two AND n = :n",
        "(n = :two OR n = :n) AND n = :n",
        "begins_with(#status, :s) OR n = :n",
        "t = :bool",
        "nothing = :null",
        "((n = :n) AND (n = :n))",
    ],
)
def test_condition_holds(text: str) -> None:
    """Match list: these hold for the item."""
    assert holds(parse(text), ITEM)


@pytest.mark.parametrize(
    "text",
    [
        "n = :s",
        "n = :two",
        "n <> :n",
        "gone = :n",
        "gone = absent",
        "gone < :n",
        "gone > absent",
        "n < :s",
        "s > :n",
        "t < n",
        "ten < :two",
        "b < :b",
        "n BETWEEN :two AND ten",
        "n BETWEEN ten AND :two",
        "gone BETWEEN :n AND :two",
        "n IN (:two, :s)",
        "gone IN (absent)",
        "attribute_exists(gone)",
        "attribute_exists(m.inside[2])",
        "attribute_exists(n[0])",
        "attribute_not_exists(n)",
        "attribute_type(s, :type)",
        "attribute_type(gone, :type)",
        "begins_with(s, :b)",
        "begins_with(n, :s)",
        "begins_with(gone, :s)",
        "begins_with(:s, s)",
        "contains(s, :n)",
        "contains(n, :n)",
        "contains(ss, :n)",
        "contains(m.inside, :n)",
        "contains(gone, :s)",
        "contains(s, gone)",
        "size(n) > :n",
        "size(t) = :n",
        "size(gone) = :n",
        "size(s) < :two",
        "NOT n = :n",
        "NOT n = :n OR n = :two",
        "n = :n AND NOT n = :n",
        "(n = :n OR n = :n) AND n = :two",
    ],
)
def test_condition_does_not_hold(text: str) -> None:
    """Not-match list: these do not hold for the item, and none of them is an error."""
    assert not holds(parse(text), ITEM)


def test_precedence_is_not_before_and_before_or() -> None:
    """`NOT` binds tighter than `AND`, `AND` tighter than `OR`."""
    a, b, c = (AttributeExists(Path((name,))) for name in "abc")
    text = "NOT attribute_exists(a) AND attribute_exists(b) OR attribute_exists(c)"

    assert parse(text) == Or((And((Not(a), b)), c))


def test_and_inside_between_belongs_to_the_bounds() -> None:
    """The first `AND` after `BETWEEN` joins the bounds, the next one joins conditions."""
    one, two = Literal({"N": "1"}), Literal({"N": "2"})

    assert parse("n BETWEEN :n AND :two AND attribute_exists(a)") == And(
        (Between(Path(("n",)), one, two), AttributeExists(Path(("a",))))
    )


def test_keywords_have_any_case_and_functions_have_one() -> None:
    """Keywords are not case-sensitive; names and functions are."""
    assert parse("size(#a[0].b) >= :n aNd nOt attribute_exists(A)") == And(
        (
            Comparison(Comparator.GE, Size(Path(("a", 0, "b"))), Literal({"N": "1"})),
            Not(AttributeExists(Path(("A",)))),
        )
    )
    assert refused("Attribute_Exists(a)") == "Invalid function name; function: Attribute_Exists"


@given(CONDITIONS)
def test_printed_condition_is_read_as_the_same_condition(condition: Condition) -> None:
    """Reading is the inverse of writing."""
    printer = Printer()
    text = printer.node(condition)

    placeholders = printer.placeholders()
    assert parse_condition(text, placeholders) == condition
    placeholders.check_all_used()


@given(CONDITIONS, ITEMS)
def test_not_is_the_opposite(condition: Condition, item: dict[str, AttributeValue]) -> None:
    """For every item, either a condition holds or its negation does."""
    assert holds(Not(condition), item) is not holds(condition, item)


@pytest.mark.parametrize(
    ("text", "token", "near"),
    [
        ("a b :n", "b", "a b :n"),
        ("a = ", "<EOF>", "="),
        ("a = 4", "4", "= 4"),
        ("a-b", "-", "a-b"),
        ('a = "x"', '"', '= "x'),
        ("_a = :n", "_", "_a"),
        ("a", "<EOF>", "a"),
        ("a AND b", "AND", "a AND b"),
        ("attribute_exists(a) AND NOT #a", "<EOF>", "#a"),
        ("size()", ")", "()"),
        ("a IN ()", ")", "()"),
        ("a IN (:n,)", ")", ",)"),
        ("a in b", "b", "in b"),
        ("(a = :n", "<EOF>", ":n"),
        ("a = :n)", ")", ":n)"),
        ("a..b = :n", ".", "..b"),
        ("a[b] = :n", "b", "[b]"),
        ("a[:n] = :n", ":n", "[:n]"),
        ("a[4.5] = :n", ".", "4.5"),
        ("#$.b = :n", "#", "#$"),
        (":n.b = :n", ".", ":n.b"),
        ("ü = :n", "ü", "ü ="),
        ("a > between", "between", "> between"),
        ("size(a)[0] > :n", "[", ")[0"),
        ("(size(a)).b > :n", ".", ").b"),
        ("(a = :n) = :n", "=", ") = :n"),
        ("attribute_exists(a = :n)", "=", "a = :n"),
        ("a = :n OR", "<EOF>", "OR"),
        ("AND a = :n", "AND", "AND a"),
        ("a BETWEEN :n OR :n", "OR", ":n OR :n"),
        ("(a)between(b.c.d)and((c)", "<EOF>", ")"),
    ],
)
def test_syntax_error_shows_the_token_and_its_neighbours(text: str, token: str, near: str) -> None:
    """A syntax error names the token that cannot stand there, and the text from the one before to the one after."""
    assert refused(text) == f'Syntax error; token: "{token}", near: "{near}"'


@pytest.mark.parametrize(
    "text",
    [
        "a = :n AND a > ((views))",
        "((a = :n))",
        "a > whatever((:n), ((a)))",
        "a = :n AND ((a = :n AND a = :n)) AND a = :n",
        "a = :n OR ((a = :n OR (a = :n OR a = :n)))",
        "(a)between(((b.c)).d)and(c)",
        "(((a = :n) AND (a = :n)))",
    ],
)
def test_parentheses_directly_within_parentheses_are_redundant(text: str) -> None:
    """AWS refuses parentheses that add nothing to another pair."""
    assert refused(text) == "The expression has redundant parentheses;"


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("a = :n AND attribute_exists((views), (#x)) > b", "attribute_exists"),
        ("begins_with(things, a) > b", "begins_with"),
        ("size(contains(a, b)) > a", "contains"),
        ("size(things)", "size"),
        ("NOT size(things)", "size"),
        ("a BETWEEN b AND attribute_exists(things)", "attribute_exists"),
        ("a IN (b, attribute_exists(things))", "attribute_exists"),
    ],
)
def test_function_in_the_wrong_place_is_refused(text: str, function: str) -> None:
    """`size` is an operand, every other function is a condition."""
    message = "The function is not allowed to be used this way in an expression"

    assert refused(text) == f"{message}; function: {function}"


def test_unknown_functions_are_refused() -> None:
    """Functions that do not exist, and functions of updates, are no functions of conditions."""
    assert refused("a = :n AND whatever(:n) > a") == "Invalid function name; function: whatever"
    assert refused("if_not_exists(a, :n) = :n") == (
        "The function is not allowed in a condition expression; function: if_not_exists"
    )


@pytest.mark.parametrize("word", ["views", "abOrT", "Status", "zone", "size"])
def test_reserved_word_needs_a_placeholder(word: str) -> None:
    """Reserved words are no attribute names, in any case and at any depth of a path."""
    message = f"Attribute name is a reserved keyword; reserved keyword: {word}"

    assert refused(f"{word} = :n") == message
    assert refused(f"a.{word} = :n") == message


def test_there_are_573_reserved_words() -> None:
    """The list is AWS's whole list."""
    assert len(RESERVED_WORDS) == 573
    assert {"ABORT", "FLATTERN", "ZONE"} <= RESERVED_WORDS


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "attribute_exists(#Pictures.RearView, :x)",
            "An expression attribute name used in the document path is not defined; attribute name: #Pictures",
        ),
        (
            "(a)between(b.c[45].#d)and(:x)",
            "An expression attribute name used in the document path is not defined; attribute name: #d",
        ),
        (
            ":x < :n AND #x = :n",
            "An expression attribute value used in expression is not defined; attribute value: :x",
        ),
    ],
)
def test_undefined_placeholder_is_refused(text: str, message: str) -> None:
    """Every placeholder must be defined; the first one that is not is named."""
    assert refused(text) == message


@pytest.mark.parametrize(
    ("text", "function", "count"),
    [
        ("attribute_exists(things, a)", "attribute_exists", 2),
        ("attribute_not_exists(things, b)", "attribute_not_exists", 2),
        ("attribute_type(things)", "attribute_type", 1),
        ("begins_with(things, size(a), b)", "begins_with", 3),
        ("contains(things)", "contains", 1),
        ("size(things, a) > b", "size", 2),
    ],
)
def test_function_has_a_number_of_operands(text: str, function: str, count: int) -> None:
    """Every function takes one number of operands."""
    assert refused(text) == (
        "Incorrect number of operands for operator or function; "
        f"operator or function: {function}, number of operands: {count}"
    )


@pytest.mark.parametrize(
    ("text", "operator", "name"),
    [
        ("attribute_type(a, size(a)) AND a = :n", "attribute_type", "N"),
        ("attribute_type(a, :bool)", "attribute_type", "BOOL"),
        ("attribute_type(a, b)", "attribute_type", "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"),
        ("begins_with(a, size(a))", "begins_with", "N"),
        ("begins_with(a, :n)", "begins_with", "N"),
        ("begins_with(:ss, a)", "begins_with", "SS"),
        ("size(size(a)) > :n", "size", "N"),
        ("size(:bool) > a", "size", "BOOL"),
        ("attribute_not_exists(size(:null))", "size", "NULL"),
        ("a < :bool", "<", "BOOL"),
        (":l <= a", "<=", "L"),
        ("a > :m", ">", "M"),
        ("a >= :ns", ">=", "NS"),
        ("a BETWEEN :null AND :null", "BETWEEN", "NULL"),
    ],
)
def test_operand_of_a_wrong_type_is_refused(text: str, operator: str, name: str) -> None:
    """A value that came with the request must have a type that the operator takes."""
    assert refused(text) == (
        f"Incorrect operand type for operator or function; operator or function: {operator}, operand type: {name}"
    )


def test_attribute_type_takes_the_ten_type_names() -> None:
    """The second operand of attribute_type is the name of a type."""
    assert refused("attribute_type(a, :s)") == (
        "Invalid attribute type name found; type: abc, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}"
    )


@pytest.mark.parametrize("text", ["attribute_exists(:s)", "attribute_exists(size(:s))"])
def test_existence_is_asked_of_a_path(text: str) -> None:
    """attribute_exists takes a document path."""
    assert refused(text) == ("Operator or function requires a document path; operator or function: attribute_exists")


@pytest.mark.parametrize(
    ("text", "operator", "first"),
    [
        ("a = a AND #a = b", "=", "[a]"),
        ("#a <> a", "<>", "[a]"),
        ("((a=a) OR (a=a))", "=", "[a]"),
        ("contains(ab.bc[1].a, ab.bc[1].#a)", "contains", "[ab, bc, [1], a]"),
        ("attribute_type(x.#a, x.a)", "attribute_type", "[x, a]"),
        ("begins_with(a, #a)", "begins_with", "[a]"),
        ("a BETWEEN b AND a", "BETWEEN", "[a]"),
        ("a IN (b, a)", "IN", "[a]"),
    ],
)
def test_path_compared_with_itself_is_refused(text: str, operator: str, first: str) -> None:
    """The first operand is not among the others."""
    assert refused(text) == (
        "The first operand must be distinct from the remaining operands for this operator or function; "
        f"operator: {operator}, first operand: {first}"
    )


def test_between_has_bounds_in_order_and_of_one_type() -> None:
    """The lower bound is not greater than the upper one, and both have one type."""
    assert refused("a BETWEEN :two AND :n") == (
        "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; "
        "lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}"
    )
    assert refused("a BETWEEN :n AND :b") == (
        "The BETWEEN operator requires same data type for lower and upper bounds; "
        "lower bound operand: AttributeValue: {N:1}, upper bound operand: AttributeValue: {B:YWI=}"
    )
    assert holds(parse("n BETWEEN :n AND :n"), ITEM)


def test_in_takes_100_choices() -> None:
    """IN takes up to 100 values."""
    assert holds(parse(f"n IN ({', '.join([':two'] * 99 + [':n'])})"), ITEM)
    assert refused(f"n IN ({', '.join([':n'] * 101)})") == (
        "The IN operator is provided with too many operands; number of operands: 101"
    )


@pytest.mark.parametrize(("first", "later"), [("((a = :n))", "abort = :n"), ("a =", "abort = :n AND f(x)")])
def test_syntax_comes_before_meaning(first: str, later: str) -> None:
    """A text that cannot be read is not looked at any further."""
    assert "reserved" not in refused(f"{later} AND {first}")


def test_stages_come_in_the_order_of_aws() -> None:
    """Functions before reserved words, those before placeholders, those before operands, wherever they stand."""
    operands, placeholder, reserved, function = "a < :bool", "#x = :n", "abort = :n", "f(a) = :n"

    assert refused(f"{operands} AND {placeholder}").startswith("An expression attribute name")
    assert refused(f"{operands} AND {placeholder} AND {reserved}").startswith("Attribute name is a reserved")
    assert refused(f"{operands} AND {placeholder} AND {reserved} AND {function}").startswith("Invalid function")


@pytest.mark.parametrize("text", ["", "  "])
def test_empty_expression_is_refused(text: str) -> None:
    """An expression is not empty."""
    assert refused(text) == "The expression can not be empty;"


def test_expression_has_at_most_4_kb() -> None:
    """The limit counts UTF-8 bytes."""
    parse("n = :n".ljust(4096))
    assert refused("n = :n".ljust(4097)) == (
        "Expression size has exceeded the maximum allowed size; expression size: 4097"
    )


@pytest.mark.parametrize("text", ["(" * 4000, "NOT " * 1000 + "a = :n", "size(" * 800])
def test_deep_nesting_is_refused(text: str) -> None:
    """No text, however nested, exhausts the stack."""
    assert refused(text) == TOO_MANY


def nested(operators: int) -> str:
    """`n = :n AND (n = :n AND (…))`, with so many operators: an odd number."""
    return "n = :n AND (" * (operators // 2) + "n = :n" + ")" * (operators // 2)


@pytest.mark.parametrize("text", [nested(299), "NOT " * 299 + "n = :n", "NOT (" * 299 + "n = :n" + ")" * 299])
def test_300_operators_may_stand_together_however_they_nest(text: str) -> None:
    """The condition is read, judged, and read again from what was kept."""
    for _ in range(2):
        condition = parse_condition(text, Placeholders(None, {":n": {"N": "1"}}))

        assert holds(condition, {"n": {"N": "1"}}) == (not text.startswith("NOT"))


@pytest.mark.parametrize(
    "text", [nested(301), "NOT " * 300 + "n = :n", " OR ".join(["n = :n"] * 151), "n IN (:n) AND " * 150 + "n = :n"]
)
def test_301_operators_are_too_many(text: str) -> None:
    assert refused(text) == TOO_MANY


def test_type_of_a_value_may_be_asked() -> None:
    condition = parse_condition(
        "attribute_type(:n, :type)", Placeholders(None, {":n": {"N": "1"}, ":type": {"S": "N"}})
    )

    assert holds(condition, {})


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("a" + ".a" * 31, None),
        ("a" + ".a" * 32, "The document path has too many nesting elements; nesting levels: 33"),
        ("a[2147483647]", None),
        ("a[2147483648]", "List index is not within the allowable range; index: [2147483648]"),
        (f"a[{'9' * 4000}]", f"List index is not within the allowable range; index: [{'9' * 4000}]"),
    ],
)
def test_paths_have_32_levels_and_bounded_indexes(path: str, message: str | None) -> None:
    """Source: https://github.com/scylladb/scylladb/issues/25947"""
    if message is None:
        parse_projection(path, Placeholders())
        return
    with pytest.raises(ServiceError) as caught:
        parse_projection(path, Placeholders())
    assert caught.value.message == f"Invalid ProjectionExpression: {message}"


@given(st.lists(st.sampled_from(PIECES), max_size=14).map(" ".join) | st.text(max_size=12))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Nothing but a ValidationException comes of a text that is no expression, in any of the languages."""
    readers = (
        parse_condition,
        parse_projection,
        parse_update,
        lambda text, given: parse_key_condition(text, given, "a", "b"),
    )
    for read in readers:
        with suppress(ServiceError):
            read(text, Placeholders(NAMES, VALUES))


def test_error_names_the_parameter() -> None:
    """The text begins with the parameter that holds the expression."""
    message = refusal(lambda: parse_condition("a", Placeholders()))

    assert message == 'Invalid ConditionExpression: Syntax error; token: "<EOF>", near: "a"'


@pytest.mark.parametrize(
    ("names", "values", "message"),
    [
        ({}, None, "ExpressionAttributeNames must not be empty"),
        (None, {}, "ExpressionAttributeValues must not be empty"),
        ({"a": "a"}, None, 'ExpressionAttributeNames contains invalid key: Syntax error; key: "a"'),
        ({"#a-b": "a"}, None, 'ExpressionAttributeNames contains invalid key: Syntax error; key: "#a-b"'),
        (
            {"#" + "a" * 255: "a"},
            None,
            "ExpressionAttributeNames contains invalid key: It has more than 255 characters",
        ),
        (None, {"b": {"S": ""}}, 'ExpressionAttributeValues contains invalid key: Syntax error; key: "b"'),
        (
            None,
            {":b": {}},
            (
                "ExpressionAttributeValues contains invalid value: "
                "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes for key :b"
            ),
        ),
        (
            None,
            {":b": {"NS": []}},
            (
                "ExpressionAttributeValues contains invalid value: One or more parameter values were invalid: "
                "An number set  may not be empty for key :b"
            ),
        ),
    ],
)
def test_bad_placeholders_are_refused(
    names: dict[str, str] | None, values: dict[str, object] | None, message: str
) -> None:
    """Placeholders begin with # or :, and there is at least one if the parameter is there at all."""
    assert refusal(lambda: Placeholders(names, values)) == message


def test_placeholder_must_be_used_by_one_of_the_expressions() -> None:
    """Use counts over all expressions of a request, and names are looked at before values."""
    placeholders = Placeholders({"#a": "a", "#x": "x", "#y": "y"}, {":n": {"N": "1"}, ":x": {"N": "1"}})
    parse_condition("#a = :n", placeholders)

    assert refusal(placeholders.check_all_used) == (
        "Value provided in ExpressionAttributeNames unused in expressions: keys: {#x, #y}"
    )
    parse_condition("#x = #y", placeholders)
    assert refusal(placeholders.check_all_used) == (
        "Value provided in ExpressionAttributeValues unused in expressions: keys: {:x}"
    )
    parse_condition("#a = :x", placeholders)
    placeholders.check_all_used()
