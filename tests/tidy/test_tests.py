"""A test says its rule, in its name or in the sentence of its docstring; and what the tests cost is told."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.support.cpu import table
from tests.tidy.source import TESTS, Source, findings

RULE_WORDS_MIN = 4


def unspoken_rules(source: Source) -> Iterator[str]:
    """A test without a docstring has a name of at least four words after `test_`."""
    for name, function in source.functions.items():
        test = name.rpartition(".")[2]
        if not test.startswith("test_") or ast.get_docstring(function) is not None:
            continue
        if len([word for word in test.split("_")[1:] if word]) < RULE_WORDS_MIN:
            yield f"{source.path}:{name} does not say its rule: lengthen its name, or write the sentence"


def test_every_test_says_its_rule() -> None:
    assert findings(unspoken_rules, TESTS) == []


@pytest.mark.parametrize(
    "text",
    [
        "def test_send(): ...",
        "def test_send_and_receive(): ...",
        "class TestQueue:\n    def test_send(self): ...",
    ],
)
def test_name_that_says_no_rule_is_seen(text: str) -> None:
    assert len(list(unspoken_rules(Source("unit/test_x.py", text)))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "def test_expired_lease_settles_nothing(): ...",
        'def test_lease():\n    """An attempt whose lease has passed settles nothing."""',
        "def send(): ...",
    ],
)
def test_spoken_rules_and_other_functions_pass(text: str) -> None:
    assert list(unspoken_rules(Source("unit/test_x.py", text))) == []


def test_files_with_the_most_cpu_are_named_after_the_sum() -> None:
    cpu_s = {"unit/test_cheap.py": 1.0, "unit/test_dear.py": 60.0, "unit/test_middling.py": 9.5}

    assert list(table(cpu_s, shown=2)) == [
        "   70.5 s in all; the files with the most:", "   60.0 s unit/test_dear.py", "    9.5 s unit/test_middling.py",
    ]  # fmt: skip


def test_run_that_costs_little_names_no_file() -> None:
    assert list(table({"unit/test_cheap.py": 59.0})) == []
