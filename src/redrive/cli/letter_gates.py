"""The gates that the commands on letters ask: the options that name the ledger, and the gates that follow from them."""

from __future__ import annotations

import functools
import importlib
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from redrive.cli.clients import Place
from redrive.cli.durations import Duration
from redrive.cli.letter_logs import sources_of
from redrive.cli.reading_letters import queue_url
from redrive.core.clock import SECOND_MS, Instant
from redrive.core.errors import UserError
from redrive.deadletters.execution_keys import KeySource, compiled
from redrive.deadletters.letter import name_of
from redrive.deadletters.memories import POWERTOOLS_MEMORY_MS, EffectMemory, LedgerMemory, Memory, PowertoolsMemory
from redrive.deadletters.preflight import Gates
from redrive.deadletters.proofs import read_proofs
from redrive.deadletters.streams import Streams
from redrive.handler.ledger import KEEP_S_DEFAULT
from redrive.packaging.own_files import VERDICTS

_OPTIONS = (
    click.option("--ledger", metavar="TABLE", help="The DynamoDB table of the handler's ledger."),
    click.option("--powertools", metavar="TABLE", help="The table of Powertools' idempotency; with --name."),
    click.option(
        "--name", metavar="TEXT", help="How Powertools' ids begin: FUNCTION.MODULE.HANDLER, or the key prefix."
    ),
    click.option(
        "--key",
        "keys",
        metavar="[SOURCE=]JMESPATH",
        multiple=True,
        help="Where the key is in the work, as event_key_jmespath of Powertools; of one source: orders=body.id",
    ),
    click.option("--prefix", default="", metavar="TEXT", help="What the handler puts before each key in the ledger."),
    click.option("--keep", type=Duration(), help="How long rows are kept.  [default: 30d; of Powertools 1h]"),
    click.option(
        "--key-memory",
        multiple=True,
        metavar="EFFECT=TIME",
        help="How long the downstream of an effect knows its keys, such as charge=24h; 24h alone: of all.",
    ),
    click.option("--parse", metavar="MODULE:FUNCTION", help="The handler's own parser: it gets the text of each work."),
)


@dataclass(frozen=True, slots=True)
class WantedGates:
    """What the options say of the ledger, of the keys in it, and of the handler's parser."""

    ledger: str | None
    powertools: str | None
    name: str | None
    keys: tuple[str, ...]
    prefix: str
    keep: float | None
    key_memory: tuple[str, ...]
    parse: str | None

    def gates(
        self, place: Place, queue: str, now: Callable[[], Instant], planned: Mapping[str, str] | None = None
    ) -> Gates:
        """The gates for the letters of a queue. `planned` are the keys of a plan; an option counts more.

        Errors: UserError if the options do not fit together.
        """
        usual, by_source = keys_of(self.keys)
        if (usual is not None or by_source) and not (self.ledger or self.powertools):
            raise UserError("--key needs a ledger.", next_step="Name its table: --ledger TABLE", exit_code=2)
        named = {} if usual is not None else dict(planned or {})
        for source in by_source:
            named = {arn: text for arn, text in named.items() if source not in {arn, name_of(arn)}}
        keys = KeySource(usual, self.prefix, named | by_source)
        effects = _effects(self.key_memory)
        memory = _memory(place, keys, now, self.ledger, self.powertools, self.name, self.keep, effects)
        return Gates(
            memory, None if self.parse is None else _parser(self.parse), Streams(place.client, now).finding,
            sources_of(place, queue), proofs=read_proofs(VERDICTS), retention_ms=_retention_ms(place, queue),
        )  # fmt: skip


def gate_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of the gates, as its parameter `wanted`."""

    @functools.wraps(function)
    def given(
        *args: Any, ledger: str | None, powertools: str | None, name: str | None, keys: tuple[str, ...], prefix: str,
        keep: float | None, key_memory: tuple[str, ...], parse: str | None, **options: Any,
    ) -> Any:  # fmt: skip
        wanted = WantedGates(ledger, powertools, name, keys, prefix, keep, key_memory, parse)
        return function(*args, wanted=wanted, **options)

    for option in reversed(_OPTIONS):
        given = option(given)
    return given


def _memory(
    place: Place, keys: KeySource, now: Callable[[], Instant], ledger: str | None, powertools: str | None,
    name: str | None, keep: float | None, effects: EffectMemory,
) -> Memory | None:  # fmt: skip
    """The ledger that the options name. Errors: UserError if they do not fit together."""
    if ledger and powertools:
        raise UserError("--ledger and --powertools are two ledgers.", next_step="Name one of them.", exit_code=2)
    if powertools:
        if not name:
            raise UserError(
                "--powertools needs --name: how its ids begin.",
                next_step="Look at an id of the table, before its #: --name FUNCTION.MODULE.HANDLER", exit_code=2,
            )  # fmt: skip
        horizon_ms = POWERTOOLS_MEMORY_MS if keep is None else round(keep * SECOND_MS)
        return PowertoolsMemory(place.client("dynamodb"), powertools, name, keys, now, horizon_ms=horizon_ms)
    if ledger:
        horizon_ms = round((KEEP_S_DEFAULT if keep is None else keep) * SECOND_MS)
        return LedgerMemory(place.client("dynamodb"), ledger, keys, now, horizon_ms=horizon_ms, effects=effects)
    return None


_OF_SOURCE = re.compile(r"(?P<source>[\w.:/$+-]+)=(?!=)(?P<expression>.*)", re.DOTALL)
"""`orders=body.id`. JMESPath has no single `=`, and `a==b` is a comparison."""


def keys_of(options: Sequence[str]) -> tuple[str | None, dict[str, str]]:
    """The expression for all letters, and those for the letters of one source. Errors: UserError."""
    usual, by_source = None, dict[str, str]()
    for option in options:
        told = _OF_SOURCE.fullmatch(option)
        source, expression = (None, option) if told is None else (told["source"], told["expression"])
        if (usual is not None) if source is None else source in by_source:
            whom = "all letters" if source is None else source
            raise UserError(f"--key names two keys for {whom}.", next_step="Name one: a || b", exit_code=2)
        compiled(expression)
        if source is None:
            usual = expression
        else:
            by_source[source] = expression
    return usual, by_source


def _effects(options: tuple[str, ...]) -> EffectMemory:
    """`charge=24h` for an effect, `24h` for all others."""
    by_name, usual_ms = {}, None
    for option in options:
        effect, _, text = option.rpartition("=")
        told_ms = round(Duration().convert(text, None, None) * SECOND_MS)
        if effect:
            by_name[effect] = told_ms
        else:
            usual_ms = told_ms
    return EffectMemory(by_name, usual_ms)


def _parser(place: str) -> Callable[[str], Any]:
    """The function `module:name.name`. Errors: UserError."""
    module, _, names = place.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = importlib.import_module(module)
        for name in names.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError, ValueError, SyntaxError) as error:
        raise UserError(
            f"There is no parser {place} ({type(error).__name__}: {error}).",
            next_step="Write module:function, such as app:parse or app:Order.model_validate_json", exit_code=2,
        ) from error  # fmt: skip
    finally:
        sys.path.pop(0)
    if not callable(found):
        raise UserError(f"{place} is no function.", next_step="Name a function of one text.", exit_code=2)
    parser: Callable[[str], Any] = found
    return parser


def _retention_ms(place: Place, queue: str) -> int:
    sqs = place.client("sqs")
    names = ["MessageRetentionPeriod"]
    told = sqs.get_queue_attributes(QueueUrl=queue_url(sqs, queue), AttributeNames=names)["Attributes"]
    return int(told[names[0]]) * SECOND_MS
