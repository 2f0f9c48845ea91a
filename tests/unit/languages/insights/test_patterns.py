"""The patterns of texts."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from redrive.languages.insights.patterns import WILD, Clusters

TEXTS = st.text(st.sampled_from('ab1 2_.:/@+-\t\n{}"é٣<*>'), max_size=40) | st.text(max_size=20)


def read_part_by_part(text: str) -> str:
    """The pattern of a single text: words with a figure vary, spaces are one."""
    parts = re.findall(r"[A-Za-z0-9_.:/@+-]+|\s+|.", text.strip(), re.DOTALL)
    shown = [WILD if re.search(r"\d", part) else " " if part[0].isspace() else part for part in parts]
    return re.sub(r"(?:<\*>){2,}", WILD, "".join(shown))


@given(TEXTS.filter(lambda text: not re.search("[\0\x1c-\x1f]", text)))
def test_pattern_of_a_text_is_that_of_its_parts(text: str) -> None:
    clusters = Clusters()

    clusters.add(text, is_earlier=False)

    assert [cluster.text for cluster in clusters.all] == [read_part_by_part(text)]
