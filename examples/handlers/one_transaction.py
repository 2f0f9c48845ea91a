"""Writing rows exactly once, by writing them together with the record that says so.

Why you would want it: between an effect and the note that it happened a process can die, and nobody can tell
afterwards. When the rows and the ledger are in one database there is no between: both are committed, or neither is. A
run that was taken for dead and wakes up again writes nothing.

Needs: DATABASE, the path of a file. With PostgreSQL it is the same with PostgresLedger.
"""

import os

from redrive.handler import SqliteLedger, current_execution, idempotent, schedule_occurrence

ledger = SqliteLedger(os.environ["DATABASE"])

with ledger.transaction() as connection:
    connection.execute("CREATE TABLE IF NOT EXISTS bookings (execution TEXT, cents INTEGER)")


@idempotent(key=schedule_occurrence(), ledger=ledger)
def handler(event: dict[str, dict[str, int]], _context: object) -> dict[str, int]:
    result = {"booked": event["payload"]["cents"]}
    execution = current_execution()
    with ledger.transaction() as connection:
        connection.execute("INSERT INTO bookings VALUES (?, ?)", [execution.key, result["booked"]])
        execution.finish(result)
    return result
