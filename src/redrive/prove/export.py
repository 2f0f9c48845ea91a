"""A counterexample as a test: it plays the very history, and fails until the handler is mended."""

from __future__ import annotations

import json
import re

from redrive.core.errors import Bug
from redrive.prove.options import Options
from redrive.prove.verdict import Verdict

_NO_NAME = re.compile("[^a-z0-9]+")

_TEMPLATE = '''"""{title}

Written by redrive prove. Each step as it was found:

{story}
"""

from __future__ import annotations

import redrive.testing
{imports}

def test_{name}() -> None:
    redrive.testing.prove.replay(
        {handler},
        messages={messages},
        history={history},
        seed={seed},{more}
    )
'''


def as_test(verdict: Verdict, options: Options) -> str:
    """A pytest file; `options` are those of the search. Errors: Bug if there is no counterexample."""
    found = verdict.counterexample
    if found is None:
        raise Bug("there is no counterexample to write down")
    story = "\n".join(
        f"{number:>3}. {step.at:<10} {step.text}" + (f"\n{'':16}{step.place.told}" if step.place else "")
        for number, step in enumerate(found.steps, 1)
    )
    return _TEMPLATE.format(
        title=found.violation.sentence,
        story=story.replace("\\", "\\\\").replace('"""', "'''"),
        name=f"{_NO_NAME.sub('_', verdict.handler.lower()).strip('_')}_work_is_not_{found.violation.rule.value}",
        handler=json.dumps(verdict.handler),
        messages=_listed(list(verdict.bodies)),
        history=_listed([str(leg) for leg in found.history]),
        seed=verdict.bounds.seed,
        imports="".join(f"from {one.__module__} import {one.__name__}\n" for one in options.invariants),
        more="".join(f"\n        {name}={value}," for name, value in _settings(options).items()),
    )


def _settings(options: Options) -> dict[str, str]:
    """The arguments that are not what they are by default, as Python writes them."""
    settings: dict[str, object] = {
        "template": None if options.template is None else str(options.template),
        "parameters": dict(options.parameters),
        "effects": list(options.effects),
        "ignore": list(options.ignored),
        "ledgers": list(options.ledgers),
        "stable_results": options.stable_results,
    }
    written = {name: repr(value) for name, value in settings.items() if value}
    if options.invariants:
        written["invariants"] = f"[{', '.join(one.__name__ for one in options.invariants)}]"
    return written


def _listed(texts: list[str]) -> str:
    inner = "".join(f"            {text!r},\n" for text in texts)
    return f"[\n{inner}        ]"
