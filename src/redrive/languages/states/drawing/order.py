"""In which order and in which rows the states of a branch are drawn."""

from __future__ import annotations

from redrive.languages.states.definition import Branch
from redrive.languages.states.drawing.labels import ways_of


def reading_order(branch: Branch) -> list[str]:
    """The states along their regular ways first, as somebody reads a story; states that nothing leads to come last."""
    order: list[str] = []
    seen: set[str] = set()
    waiting = [*reversed(list(branch.states)), branch.start_at]
    while waiting:
        name = waiting.pop()
        if name in seen or name not in branch.states:
            continue
        seen.add(name)
        order.append(name)
        waiting.extend(reversed([way.target for way in ways_of(branch.states[name])]))
    return order


def rows_of(branch: Branch) -> dict[str, int]:
    """The row of each state: below all states that lead to it, apart from those to which it leads back itself."""
    forward = {name: set[str]() for name in branch.states}
    for name, target in _without_returns(branch):
        forward[name].add(target)
    entering = dict.fromkeys(branch.states, 0)
    for targets in forward.values():
        for target in targets:
            entering[target] += 1
    rows = dict.fromkeys(branch.states, 0)
    waiting = [name for name, count in entering.items() if not count]
    while waiting:
        name = waiting.pop()
        for target in forward[name]:
            rows[target] = max(rows[target], rows[name] + 1)
            entering[target] -= 1
            if not entering[target]:
                waiting.append(target)
    return rows


def _without_returns(branch: Branch) -> list[tuple[str, str]]:
    """The transitions without those that lead back to a state under way, so that no circle is left."""
    kept: list[tuple[str, str]] = []
    done: set[str] = set()
    for start in [branch.start_at, *branch.states]:
        if start not in branch.states or start in done:
            continue
        under_way = [start]
        open_states = {start}
        left = [[way.target for way in ways_of(branch.states[start])]]
        while under_way:
            if not left[-1]:
                done.add(under_way[-1])
                open_states.discard(under_way.pop())
                left.pop()
                continue
            target = left[-1].pop(0)
            if target not in branch.states or target in open_states:
                continue
            kept.append((under_way[-1], target))
            if target not in done:
                under_way.append(target)
                open_states.add(target)
                left.append([way.target for way in ways_of(branch.states[target])])
    return kept
