"""What can be said of the tree of a regular expression before any text is there."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.languages.matching.syntax import Captured, Chars, Either, Look, Point, Repeated, Sequenced, Tree


def uncaptured(tree: Tree) -> Tree:
    """The tree without its captures: it matches the same texts."""
    match tree:
        case Captured(part, _):
            return uncaptured(part)
        case Sequenced(parts):
            return Sequenced(tuple(map(uncaptured, parts)))
        case Either(branches):
            return Either(tuple(map(uncaptured, branches)))
        case Repeated(part, least, most):
            return Repeated(uncaptured(part), least, most)
        case Look(part, is_ahead, is_wanted):
            return Look(uncaptured(part), is_ahead, is_wanted)
        case _:
            return tree


def flat(tree: Tree) -> tuple[Tree, ...]:
    """The parts of a tree in sequence; sequences inside of sequences are opened, captures too."""
    match tree:
        case Captured(part, _):
            return flat(part)
        case Sequenced(parts):
            return tuple(one for part in parts for one in flat(part))
        case _:
            return (tree,)


def captured_names(tree: Tree) -> tuple[str, ...]:
    """The names of a tree's captures, in the order of their opening parentheses."""
    match tree:
        case Captured(part, name):
            return (name, *captured_names(part))
        case Sequenced(parts):
            return tuple(name for part in parts for name in captured_names(part))
        case Either(branches):
            return tuple(name for branch in branches for name in captured_names(branch))
        case Repeated(part) | Look(part):
            return captured_names(part)
        case _:
            return ()


def reversed_tree(tree: Tree) -> Tree:
    """The tree that matches a text read from its end. Points and looks stay unchanged."""
    match tree:
        case Sequenced(parts):
            return Sequenced(tuple(reversed_tree(part) for part in reversed(parts)))
        case Either(branches):
            return Either(tuple(map(reversed_tree, branches)))
        case Repeated(part, least, most):
            return Repeated(reversed_tree(part), least, most)
        case _:
            return tree


def required_text(tree: Tree) -> tuple[str, int | None]:
    """The longest text that every match of the tree obviously contains, and its largest offset from the match's start.

    The offset is None if there is no limit.
    """
    longest = current = ""
    longest_before: int | None = None
    before: int | None = None
    passed: int | None = 0
    for part in _parts(tree):
        only = part.set.only if isinstance(part, Chars) else None
        if only is None:
            current = ""
        else:
            before = passed if not current else before
            current += only
            if len(current) > len(longest):
                longest, longest_before = current, before
        passed = _sum(passed, length_max(part))
    return longest, longest_before


def length_max(tree: Tree) -> int | None:
    """The length of the longest match; None if there is no limit."""
    match tree:
        case Chars():
            return 1
        case Point() | Look():
            return 0
        case Sequenced(parts):
            total: int | None = 0
            for one in parts:
                total = _sum(total, length_max(one))
            return total
        case Either(branches):
            lengths = [length_max(branch) for branch in branches]
            return None if None in lengths else max(length for length in lengths if length is not None)
        case Captured(part, _):
            return length_max(part)
        case Repeated(part, _, most):
            length = length_max(part)
            return None if most is None or length is None else most * length


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def ends_at_end(tree: Tree) -> bool:
    """Whether a match can end only at the end of the text."""
    parts = _parts(tree)
    return bool(parts) and parts[-1] is Point.END


def is_plain_text(tree: Tree) -> bool:
    """Whether the tree is plain text."""
    return all(isinstance(part, Chars) and part.set.only is not None for part in _parts(tree))


def _parts(tree: Tree) -> Sequence[Tree]:
    return tree.parts if isinstance(tree, Sequenced) else (tree,)
