"""`unnest` of PostgreSQL, which makes rows of arrays, for SQLite: an array is a text in JSON there."""

from __future__ import annotations

from sqlglot import exp


def unnest_columns(tree: exp.Expression) -> frozenset[str]:
    """The names of the columns that arrays become."""
    aliases = [one.args.get("alias") for one in tree.find_all(exp.Unnest)]
    return frozenset(
        column.name for alias in aliases if alias is not None for column in alias.args.get("columns") or ()
    )


def settle_arrays(tree: exp.Expression) -> None:
    """Replace each `unnest` of a tree: in its FROM, and among what it selects from nothing."""
    for one in list(tree.find_all(exp.Unnest)):
        alias = one.args.get("alias")
        table = alias.name if alias is not None and alias.name else "unnest"
        named = [column.name for column in alias.args.get("columns") or ()] if alias is not None else []
        count = len(one.expressions)
        usual = [table] if count == 1 else [f"column{number}" for number in range(1, count + 1)]
        offset = one.args.get("offset")
        names = [*named[:count], *usual[len(named) :]]
        rows = _rows(one.expressions, names, offset.name if isinstance(offset, exp.Identifier) else "")
        one.replace(rows.subquery(table))
    for select in list(tree.find_all(exp.Select)):
        _settle_selected(select)


def _settle_selected(select: exp.Select) -> None:
    """`SELECT unnest(a), unnest(b)`: the arrays go side by side."""
    arrays = [one.find(exp.Explode) for one in select.expressions]
    if not any(arrays) or select.args.get("from_") is not None or select.args.get("from") is not None:
        return
    held = [one for one in arrays if one is not None]
    names = [f"redrive_{number}" for number in range(len(held))]
    rows = _rows([one.this for one in held], names, "")
    for one, name in zip(held, names, strict=True):
        one.replace(exp.column(name))
    select.from_(rows.subquery("redrive_arrays"), copy=False)


def _rows(arrays: list[exp.Expression], names: list[str], ordinal: str) -> exp.Select:
    """The members of arrays side by side, under these names."""
    made = exp.Select()
    for number, (array, name) in enumerate(zip(arrays, names, strict=True)):
        each = f"redrive_array_{number}"
        made = made.select(exp.alias_(exp.column("value", table=each), name, quoted=True))
        held = exp.Anonymous(this="json_each", expressions=[_bare(array)])
        source = exp.Table(this=held, alias=exp.TableAlias(this=exp.to_identifier(each)))
        if number == 0:
            made = made.from_(source)
        else:
            same = exp.EQ(this=exp.column("key", table="redrive_array_0"), expression=exp.column("key", table=each))
            made = made.join(source, on=same)
    if ordinal:
        key = exp.Add(this=exp.column("key", table="redrive_array_0"), expression=exp.Literal.number(1))
        made = made.select(exp.alias_(key, ordinal, quoted=True))
    return made


def _bare(held: exp.Expression) -> exp.Expression:
    while isinstance(held, exp.Paren | exp.Cast):
        held = held.this
    return held
