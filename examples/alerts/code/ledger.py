"""Each minute: how many executions are stuck, and how many fail again and again."""

from __future__ import annotations

import os

from redrive.handler import LedgerReader, ledger_metrics

handler = ledger_metrics(LedgerReader(os.environ["EXECUTIONS_TABLE"]))
