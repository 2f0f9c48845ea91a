"""A counterexample as a test: it plays the same history, and fails until the handler is fixed."""

from __future__ import annotations

import json
import os.path
import re
from pathlib import Path

from redrive.core.errors import Bug
from redrive.prove.search.options import Options
from redrive.prove.tell.verdict import Verdict

_NO_NAME = re.compile("[^a-z0-9]+")

_CALL_OF_HANDLER = """redrive.testing.prove.replay(
        {handler},"""
_CALL_OF_SYSTEM = "redrive.testing.prove.replay_system("

_TEMPLATE = '''"""{title}

Written by redrive prove. Each step as it was found:

{story}
"""

from __future__ import annotations
{before}
import redrive.testing
{imports}{here}

def test_{name}() -> None:
    {call}
        messages={messages},
        history={history},
        seed={seed},{more}
    )
'''


def as_test(verdict: Verdict, options: Options, *, file: Path | None = None, root: Path | None = None) -> str:
    """A pytest file; `options` are those of the search.

    With `file`, the path of the test, the test finds the template and the modules under `root` from any working
    directory; without it, only from the current one. Errors: Bug if there is no counterexample.
    """
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
        call=_CALL_OF_SYSTEM if options.is_system else _CALL_OF_HANDLER.format(handler=json.dumps(verdict.handler)),
        messages=_listed(list(verdict.bodies)),
        history=_listed([str(leg) for leg in found.history]),
        seed=verdict.bounds.seed,
        imports="".join(f"from {one.__module__} import {one.__name__}\n" for one in options.invariants),
        before="" if file is None else "\nfrom pathlib import Path\n",
        here="" if file is None else "\nHERE = Path(__file__).parent\n",
        more="".join(f"\n        {name}={value}," for name, value in _settings(verdict, options, file, root).items()),
    )


def _settings(verdict: Verdict, options: Options, file: Path | None, root: Path | None) -> dict[str, str]:
    """The arguments that differ from their defaults, as Python source.

    Without a template, what feeds the handler was perhaps guessed from its source, which may change: so it is written.
    """
    is_told = options.trigger is not None or (options.template is None and not verdict.trigger.is_queue)
    settings: dict[str, object] = {
        "entrance": options.entrance or options.rule or "",
        "trigger": verdict.trigger.value if is_told and not options.is_system else "",
        "function": options.function,
        "env": dict(options.variables),
        "parameters": dict(options.parameters),
        "effects": list(options.effects),
        "ignore": list(options.ignored),
        "ledgers": list(options.ledgers),
        "stable_results": options.stable_results,
        "given": dict(options.given.document),
        "concurrent": 0 if options.concurrent == 1 else options.concurrent,
    }
    places = {"template": options.template, "root": None if file is None or options.is_system else root}
    written = {name: _written(place, file) for name, place in places.items() if place is not None}
    written |= {name: repr(value) for name, value in settings.items() if value}
    if options.invariants:
        written["invariants"] = f"[{', '.join(one.__name__ for one in options.invariants)}]"
    return written


def _written(place: Path, file: Path | None) -> str:
    if file is None:
        return repr(str(place))
    relative = Path(os.path.relpath(place.resolve(), file.resolve().parent)).as_posix()
    return "HERE" if relative == "." else f'HERE / "{relative}"'


def _listed(texts: list[str]) -> str:
    inner = "".join(f"            {text!r},\n" for text in texts)
    return f"[\n{inner}        ]"
