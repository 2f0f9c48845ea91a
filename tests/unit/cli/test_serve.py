"""Options of `redrive serve` that are refused before anything is opened."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from redrive.cli.main import main


@pytest.mark.parametrize("host", ["https://example.com", "*.example.com", "user@example.com", ""])
def test_call_host_is_the_name_of_a_host(host: str) -> None:
    done = CliRunner().invoke(main, ["serve", "--port", "0", "--call-host", host])

    assert done.exit_code == 2
    assert "is no name of a host" in done.stderr
