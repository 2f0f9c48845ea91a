"""Groups texts that have the same form: their fixed parts are a pattern, and what differs stands as <*>.

Parts that look like figures, identifiers, addresses and times differ always. Texts of as many parts that have most of
the others in common are of one pattern; where they differ, <*> stands.

Source: He et al., Drain: An Online Log Parsing Approach with Fixed Depth Tree (ICWS 2017)
"""

from __future__ import annotations

import re

WILD = "<*>"
CLUSTERS_MAX = 5_000
"""How many patterns are held apart; when they are all there, a text that fits none joins the nearest of its length."""
NEAR_MAX = 50
"""With how many patterns a text is compared."""
COMMON_LEAST = 0.7
TEXT_MAX = 2_000

_MARK = "\0"
"""Stands for a part that varies, in a text whose parts are not separated yet."""

_WORD = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_.:/@+-"
_PARTS = re.compile(r"[A-Za-z_.:/@+-]+|.", re.DOTALL)
_FROM_A_FIGURE = re.compile(r"[0-9][A-Za-z0-9_.:/@+-]*")
_OTHER_FIGURES = re.compile(r"(?![0-9])\d")
_SEVERITIES = (
    ("Error", re.compile(r"\b(?:ERROR|FATAL|CRITICAL|SEVERE|Exception|Traceback|error|failed|FAILED)\b")),
    ("Warning", re.compile(r"\b(?:WARN|WARNING|warn|warning)\b")),
    ("Info", re.compile(r"\b(?:INFO|info)\b")),
    ("Debug", re.compile(r"\b(?:DEBUG|TRACE|debug|trace)\b")),
)


class Cluster:
    """A pattern: its parts, and how many texts have it, now and in the time that is compared with."""

    __slots__ = ("count", "earlier", "parts", "severity")

    def __init__(self, parts: list[str], severity: str) -> None:
        self.parts = parts
        self.severity = severity
        self.count = 0
        self.earlier = 0

    @property
    def text(self) -> str:
        """The pattern as it is shown."""
        return re.sub(r"(?:<\*>){2,}", WILD, "".join(self.parts))


class Clusters:
    """All patterns of the texts so far."""

    def __init__(self) -> None:
        self._by_form: dict[tuple[int, str], list[Cluster]] = {}
        self._known: dict[str, Cluster] = {}
        self.total = 0
        self.total_earlier = 0
        self._count = 0

    @property
    def all(self) -> list[Cluster]:
        """The patterns, the most frequent first."""
        found = [cluster for near in self._by_form.values() for cluster in near]
        return sorted(found, key=lambda cluster: (-cluster.count, -cluster.earlier, cluster.text))

    def add(self, text: str, *, is_earlier: bool) -> None:
        """Take a text."""
        marked = _marked(text[:TEXT_MAX])
        cluster = self._known.get(marked)
        if cluster is None:
            cluster = self._nearest([WILD if part == _MARK else part for part in _PARTS.findall(marked)], text)
            if len(self._known) < CLUSTERS_MAX:
                self._known[marked] = cluster
        if is_earlier:
            cluster.earlier += 1
            self.total_earlier += 1
        else:
            cluster.count += 1
            self.total += 1

    def _nearest(self, parts: list[str], text: str) -> Cluster:
        form = (len(parts), parts[0] if parts else "")
        near = self._by_form.setdefault(form, [])
        best: Cluster | None = None
        best_common = 0.0
        for cluster in near:
            common = _common(cluster.parts, parts)
            if common > best_common:
                best, best_common = cluster, common
        is_full = self._count >= CLUSTERS_MAX or len(near) >= NEAR_MAX
        if best is not None and (best_common >= COMMON_LEAST or is_full):
            best.parts = [one if one == other else WILD for one, other in zip(best.parts, parts, strict=True)]
            return best
        cluster = Cluster(parts, _severity(text))
        near.append(cluster)
        self._count += 1
        return cluster


def _marked(text: str) -> str:
    """A text in which a mark stands for each part that varies: a word with a figure in it.

    What stands before a figure is taken away afterwards: to look for whole words would cost twice as much.
    """
    *before, last = _FROM_A_FIGURE.split(" ".join(text.split()))
    marked = _MARK.join([*[piece.rstrip(_WORD) for piece in before], last])
    return marked if marked.isascii() else _OTHER_FIGURES.sub(_MARK, marked)


def _common(one: list[str], other: list[str]) -> float:
    words = [(first, second) for first, second in zip(one, other, strict=True) if first != " " or second != " "]
    return sum(first == second for first, second in words) / len(words) if words else 1.0


def _severity(text: str) -> str:
    return next((name for name, pattern in _SEVERITIES if pattern.search(text)), "")
