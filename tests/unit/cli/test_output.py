"""Tables of texts that somebody else has written: they are shown as they are, and command nothing."""

from __future__ import annotations

import pytest

from redrive.cli.output import print_table, printable


@pytest.mark.parametrize("text", ["[/nothing] closes", "[red]markup[/red]", "[1, 2, 3]", "<b>"])
def test_markup_of_a_letter_is_shown_as_it_is(capsys: pytest.CaptureFixture[str], text: str) -> None:
    print_table(("work",), [(text,)])

    assert text in capsys.readouterr().out


def test_characters_that_command_a_terminal_are_shown_by_their_numbers() -> None:
    assert printable("a\x1b[31m\x9b2J\x07\tb\n日本") == "a\\x1b[31m\\x9b2J\\x07\tb\n日本"
