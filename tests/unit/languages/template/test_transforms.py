"""Which transforms a template asks for, in their order, and what each is given."""

from __future__ import annotations

from typing import Any

import pytest

from redrive.languages.template import TemplateError
from redrive.languages.template.transforms import (
    Transform,
    declared_transforms,
    fragment_of,
    next_transform,
    replaced,
)

EMBEDDED = {"Name": "Inner", "Parameters": {"Key": "value"}}


def answered(root: dict[str, Any], transform: Transform, result: Any) -> dict[str, Any]:
    made: Any = replaced(root, transform, result)
    return dict(made)


def test_embedded_transforms_come_before_declared_ones_and_inner_ones_before_outer_ones() -> None:
    inner: Any = {"Fn::Transform": {"Name": "Inner"}, "Beside": 1}
    root: dict[str, Any] = {
        "Transform": ["First", "Second"],
        "Resources": {"Fn::Transform": {"Name": "Outer"}, "A": inner},
    }
    order: list[str] = []

    while (transform := next_transform(root)) is not None:
        order.append(transform.name)
        root = answered(root, transform, fragment_of(root, transform))

    assert order == ["Inner", "Outer", "First", "Second"]
    assert root == {"Resources": {"A": {"Beside": 1}}}


def test_embedded_transform_is_given_what_stands_beside_it() -> None:
    root: dict[str, Any] = {"Resources": {"A": {"Fn::Transform": EMBEDDED, "Type": "T"}}}

    transform = next_transform(root)

    assert transform is not None
    assert transform == Transform("Inner", {"Key": "value"}, ("Resources", "A"), is_embedded=True)
    assert fragment_of(root, transform) == {"Type": "T"}


def test_embedded_transform_may_be_replaced_by_a_text() -> None:
    root: dict[str, Any] = {"Resources": {"A": [{"Fn::Transform": EMBEDDED}]}}

    transform = next_transform(root)

    assert transform is not None
    assert replaced(root, transform, "text") == {"Resources": {"A": ["text"]}}


def test_declared_transform_is_given_the_template_without_the_section() -> None:
    root: dict[str, Any] = {"Transform": "One", "Resources": {}}

    transform = next_transform(root)

    assert transform is not None
    assert fragment_of(root, transform) == {"Resources": {}}


@pytest.mark.parametrize("section", [{"Name": {"Ref": "P"}}, [["AWS::LanguageExtensions"]], [1], {"Parameters": {}}])
def test_name_of_a_transform_is_a_literal_text(section: Any) -> None:
    with pytest.raises(TemplateError, match=r"Key Name of transform definition must be a string\."):
        declared_transforms({"Transform": section})
