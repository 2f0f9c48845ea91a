"""`python -m redrive.cli`: the command, if its script is not on the path."""

from __future__ import annotations

from redrive.cli.main import main

main()
