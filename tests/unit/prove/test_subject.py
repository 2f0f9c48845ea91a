"""What names a handler under proof."""

from __future__ import annotations

import pytest

from redrive.core.errors import UserError
from redrive.prove.subject import subject_of
from tests.unit.prove.conftest import EXAMPLES


@pytest.mark.parametrize(
    ("name", "root"),
    [
        ("safe:handler", EXAMPLES),
        ("safe.handler", EXAMPLES),
        ("safe.py:handler", EXAMPLES),
        ("prove/safe.py:handler", EXAMPLES.parent),
    ],
)
def test_handler_is_named_by_module_or_by_file(name, root):
    assert subject_of(name, root).name == "safe:handler"


def test_file_that_is_not_there_is_said_so():
    with pytest.raises(UserError, match=r"There is no file .*nothing\.py"):
        subject_of("nothing.py:handler", EXAMPLES)
