"""Lays out a service in the one shape that all services have: `make new-service NAME=sns`.

The files say what belongs in them; delete workers/ and its test if the service has no due work.
"""

from __future__ import annotations

import argparse
import keyword
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

FILES = {
    "src/redrive/services/{name}/__init__.py": '''\
"""{name}: which AWS service this is, where AWS documents it, and what we leave out on purpose."""
''',
    "src/redrive/services/{name}/operations/__init__.py": '''\
"""The operations of {name} and their shared functions, all on a transaction."""
''',
    "src/redrive/services/{name}/operations/things.py": '''\
"""The operations on things: each checks meaning (not shape), calls model and tables, returns AWS's answer.

Name the module by its noun. It knows nothing of HTTP. The docstring of each has its `Errors:` and its `Source:`.
"""
''',
    "src/redrive/services/{name}/model/__init__.py": '''\
"""The stored documents of {name} and its pure rules; nothing here uses a transaction."""
''',
    "src/redrive/services/{name}/model/thing.py": '''\
"""The values and rules of things: frozen dataclasses and pure functions. No transaction, no clock."""
''',
    "src/redrive/services/{name}/limits.py": '''\
"""Quotas and defaults of {name}, each with its unit in the name and its AWS page beside it."""
''',
    "src/redrive/services/{name}/workers/__init__.py": '''\
"""The work that {name} does without a request."""
''',
    "tests/unit/services/{name}/test_things.py": '"""The operations of {name}, as AWS documents them."""\n',
    "tests/unit/services/{name}/test_model.py": '"""The rules of {name}, without a store."""\n',
    "tests/unit/services/{name}/test_workers.py": '"""The due work of {name}, beat by beat."""\n',
    "docs/semantics/{name}.md": """\
# {name}

Each row is one behaviour that we claim: AWS's rule, its page with the day it was read, its test.
How sure each row is stands in the words of [the legend](README.md).

| Rule | Source, date read | Confidence | Test |
|---|---|---|---|
""",
}

NEXT_STEPS = """
The service is registered nowhere yet, and `make check` fails until it is. Next:
  1. src/redrive/wire/services.py: an entry in SERVICES, in botocore's name of the service, with its protocols.
  2. src/redrive/engine/build.py: an entry in SERVICES, with each module of services/{name}/operations;
     its workers in engine/workers.py, if there is due work.
  3. Write the operations; give those that random parameters hardly satisfy an example in tests/fuzz/examples.py.
  4. docs/semantics/{name}.md: a row for each rule; `make docs` for the reference.
What else a service may have is in CONTRIBUTING.md, "A new service".
"""


def lay_out(name: str, root: Path) -> list[Path]:
    """Write the files of a new service under a root; none is overwritten. Errors: FileExistsError."""
    files = {root / path.format(name=name): text.format(name=name) for path, text in FILES.items()}
    for path in files:
        if path.exists():
            raise FileExistsError(path)
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(files)


def main() -> int:
    """Read the command line, lay out the service, print the paths and what is to be done next."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="?", default="", help="name of the package, lower case: sns")
    parser.add_argument("--root", type=Path, default=ROOT, help="where src, tests and docs are")
    arguments = parser.parse_args()
    if not re.fullmatch(r"[a-z][a-z0-9_]*", arguments.name) or keyword.iskeyword(arguments.name):
        print(f"{arguments.name!r} is no name for a package; say: make new-service NAME=sns", file=sys.stderr)
        return 2
    try:
        written = lay_out(arguments.name, arguments.root)
    except FileExistsError as error:
        print(f"{error} exists already, and nothing was written; choose another name", file=sys.stderr)
        return 2
    for path in written:
        print(path.relative_to(arguments.root))
    print(NEXT_STEPS.format(name=arguments.name), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
