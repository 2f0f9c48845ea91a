"""Templates of input transformers: placeholders inside and outside of quotes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.languages.input_transformer import UnusableOutput, parse_template
from redrive.languages.json_path import MISSING, MalformedPath, find, parse_path

VALUES: dict[str, Any] = {
    "text": "baz", "number": 1.5, "flag": True, "nothing": None, "list": ["ACTIVE", "INACTIVE"],
    "object": {"acc_id": "0a787ecb-4015", "sf_id": "baz"}, "numbers": [1, 2],
}  # fmt: skip

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
)


def rendered(template: str) -> str:
    """The template with the values above."""
    return parse_template(template).render(lambda name: VALUES.get(name, MISSING))


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ('{"a": <text>}', '{"a": "baz"}'),
        ('{"a": "<text>"}', '{"a": "baz"}'),
        ('{"a": "users/<text>/x/<text>"}', '{"a": "users/baz/x/baz"}'),
        ('{"a": <list>, "b": <object>}', '{"a": ["ACTIVE","INACTIVE"], "b": {"acc_id":"0a787ecb-4015","sf_id":"baz"}}'),
        ('{"a": <number>, "b": <flag>, "c": <nothing>}', '{"a": 1.5, "b": true, "c": null}'),
        ('{"command": <gone>}', '{"command": ""}'),
        ('{"a": "x<gone>y"}', '{"a": "xy"}'),
        ('{"a": "<numbers>"}', '{"a": "[1,2]"}'),
        ("<text>", '"baz"'),
        ("<object>", '{"acc_id":"0a787ecb-4015","sf_id":"baz"}'),
        ('"<text> is <flag>"', '"baz is true"'),
        ('"<object>"', '"{acc_id:0a787ecb-4015,sf_id:baz}"'),
        ('"<list>"', '"[ACTIVE,INACTIVE]"'),
        ('"is <gone>."', '"is ."'),
        ('"one <text>"\n"two <flag>"', '"one baz"\n"two true"'),
        ('{"a": "1 < 2 and <text>"}', '{"a": "1 < 2 and baz"}'),
        ('{"a": "say \\"<text>\\""}', '{"a": "say \\"baz\\""}'),
    ],
)
def test_placeholders_become_what_their_place_asks_for(template: str, text: str) -> None:
    assert rendered(template) == text


@pytest.mark.parametrize("template", ['{"a": "<list>"}', '{"a": "<object>"}', "<list> single list item", "{", "plain"])
def test_template_that_gives_no_json_is_unusable(template: str) -> None:
    with pytest.raises(UnusableOutput):
        rendered(template)


@pytest.mark.parametrize(("template", "has_key"), [
    ('{<text>: 1}', True), ('{"<text>": 1}', True), ('{"a": <text>}', False), ('{"a": "<text>"}', False),
    ('{"a<text>": 1}', False), ('"<text>: 1"', False),
])  # fmt: skip
def test_placeholder_as_key_is_seen(template: str, has_key: bool) -> None:
    assert parse_template(template).has_key is has_key


@given(st.dictionaries(st.from_regex(r"[A-Za-z0-9_\-]{1,8}", fullmatch=True), JSON, max_size=5))
def test_unquoted_placeholders_give_the_values_back(values: dict[str, Any]) -> None:
    """Whatever JSON the values are, the template of all of them reads as an object of these values."""
    template = "{" + ", ".join(f'"k{name}": <{name}>' for name in values) + "}"

    text = parse_template(template).render(lambda name: values.get(name, MISSING))

    assert json.loads(text) == {f"k{name}": value for name, value in values.items()}


@given(st.text(st.characters(exclude_characters='<>"')), JSON)
def test_string_templates_bring_no_quotes_along(around: str, value: Any) -> None:
    text = parse_template(f'"{around}<v>"').render(lambda _: value if not isinstance(value, str) else 7)

    assert text.count('"') == 2
    assert text.startswith(f'"{around}')


@given(st.text(max_size=60))
def test_text_without_placeholders_stays(text: str) -> None:
    template = parse_template(text)

    assert "".join(part if isinstance(part, str) else f"<{part.name}>" for part in template.parts) == text


@pytest.mark.parametrize(("path", "value"), [
    ("$", {"a": {"b-c": [1, {"d": 2}]}, "e.f": 3}),
    ("$.a.b-c[0]", 1), ("$.a.b-c[1].d", 2), ("$['e.f']", 3), ('$["a"]["b-c"][0]', 1), ("$.a.b-c[*].d", [2]),
    ("$.a.*", [[1, {"d": 2}]]), ("$.a.gone", MISSING), ("$.a.b-c[7]", MISSING), ("$.a[0]", MISSING), ("$.e.f", MISSING),
])  # fmt: skip
def test_path_finds_its_value(path: str, value: Any) -> None:
    assert find({"a": {"b-c": [1, {"d": 2}]}, "e.f": 3}, parse_path(path)) == value


@pytest.mark.parametrize("path", ["", "detail", "$.", "$..a", "$a", "$.a[", "$.a[x]", "$.a[-1]", "$.a[?(@.b)]", "$ .a"])
def test_text_that_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(MalformedPath):
        parse_path(path)


@given(st.text(max_size=40))
def test_every_text_is_a_path_or_refused(text: str) -> None:
    try:
        steps = parse_path(text)
    except MalformedPath:
        return

    assert text.startswith("$")
    assert find({}, steps) in (MISSING, [], {})
