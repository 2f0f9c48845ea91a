"""The order of hash keys, also of those that an older store has kept."""

from __future__ import annotations

import sqlite3

from redrive.store.migrate import APPLICATION_ID, migrate, migrations
from redrive.store.slots import slot_of


def test_slots_are_the_first_bytes_of_a_salted_digest():
    """MD5 of `OutliersA` is 0cb5bbe4…, computed by another tool."""
    assert f"{slot_of(b'A'):08x}" == "0cb5bbe4"


def test_items_of_an_older_store_are_found_in_their_new_slots():
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for number, sql in migrations():
        if number < 15:
            connection.executescript(sql)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute("PRAGMA user_version = 14")
    for slot, key in enumerate((b"A", b"B", b"C")):
        row = ("t", slot, key, b"", 1, None, b"{}")
        connection.execute("INSERT INTO items VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    migrate(connection, "memory")

    found = connection.execute("SELECT slot, hash_key FROM items ORDER BY hash_key").fetchall()
    assert found == [(slot_of(key), key) for key in (b"A", b"B", b"C")]
