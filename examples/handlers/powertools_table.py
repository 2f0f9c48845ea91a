"""Looking for work that died, in the idempotency table of AWS Lambda Powertools.

Why you would want it: a run that dies leaves its record INPROGRESS. If its message was taken for a duplicate meanwhile,
or has gone to a dead-letter queue, nobody runs it again, and nothing says so. This function, on a schedule, lists the
records whose run is over by their own account and that nobody has finished. It only reads.

Needs: POWERTOOLS_TABLE.
"""

import os

from redrive.handler import PowertoolsReader

records = PowertoolsReader(os.environ["POWERTOOLS_TABLE"])


def handler(_event: object, _context: object) -> dict[str, list[str]]:
    return {"stuck": sorted(record.id for record in records.scan() if record.is_stuck)}
