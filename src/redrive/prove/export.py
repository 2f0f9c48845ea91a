"""A counterexample as a test: it plays the very history, and fails until the handler is mended."""

from __future__ import annotations

import json
import re

from redrive.core.errors import Bug
from redrive.prove.verdict import Verdict

_NO_NAME = re.compile("[^a-z0-9]+")

_TEMPLATE = '''"""{title}

Written by redrive prove. Each step as it was found:

{story}
"""

from __future__ import annotations

import redrive.testing


def test_{name}() -> None:
    redrive.testing.prove.replay(
        {handler},
        messages={messages},
        history={history},
        seed={seed},{template}
    )
'''


def as_test(verdict: Verdict, *, template: str = "") -> str:
    """A pytest file. Errors: Bug if there is no counterexample."""
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
        template=f"\n        template={json.dumps(template)}," if template else "",
    )


def _listed(texts: list[str]) -> str:
    inner = "".join(f"            {text!r},\n" for text in texts)
    return f"[\n{inner}        ]"
