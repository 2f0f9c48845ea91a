"""Each recipe of docs/guide/testing.md is a file of tests that pass."""

from __future__ import annotations

import importlib.util
import re
import shutil
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

GUIDE = (Path(__file__).parents[3] / "docs" / "guide" / "testing.md").read_text("utf-8")
RECIPE = re.compile(r"^## (\d+\. [^\n]*)\n.*?^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
RECIPES = dict(RECIPE.findall(GUIDE))
NEEDED = {"7": "aioboto3"}
TEMPLATES = {"5": "template_with_function.yaml"}


def test_every_block_of_the_guide_is_a_recipe() -> None:
    assert (len(RECIPES), GUIDE.count("```python")) == (10, 10)


@pytest.mark.parametrize("heading", RECIPES)
def test_recipe_of_the_guide_is_a_file_of_tests_that_pass(heading: str, pytester: pytest.Pytester) -> None:
    number = heading.partition(".")[0]
    needed = NEEDED.get(number)
    if needed is not None and importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed here; make floors has it")
    template = Path(__file__).with_name(TEMPLATES.get(number, "template.yaml"))
    shutil.copy(template, pytester.path / "template.yaml")
    pytester.makepyfile(RECIPES[heading])

    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--strict-markers")

    result.assert_outcomes(passed=RECIPES[heading].count("def test_"))
