"""Writes the names of all resource types that AWS has, from the schemas that cfn-lint ships.

`make docs` runs it; a test fails when the file is not what it would write.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

TARGET = Path(__file__).parents[1] / "src/redrive/services/cloudformation/types/known_types.json"


def known_types() -> str:
    """The file: the types of all regions, in order of the alphabet."""
    spec = importlib.util.find_spec("cfnlint")
    if spec is None or spec.origin is None:
        raise SystemExit("cfn-lint is not installed: make setup")
    names: set[str] = set()
    for region in (Path(spec.origin).parent / "data" / "schemas" / "providers").glob("*.json"):
        names |= json.loads(region.read_text("utf-8")).keys()
    return json.dumps(sorted(name for name in names if not name.endswith("::MODULE")), indent=0) + "\n"


def main() -> None:
    """Write it."""
    TARGET.write_text(known_types(), encoding="utf-8")


if __name__ == "__main__":
    main()
