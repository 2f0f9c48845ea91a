"""The processes of one sandbox: measured, frozen between two runs, and ended together.

    keeper ──► runtime ──► whatever the function starts

The engine holds the writing end of a pipe, the lifeline. When the engine closes it, the keeper ends everything
(`launch.py`).
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading

from redrive.invoke.sandbox import descendants
from redrive.invoke.sandbox.memory import memory_kb, memory_kb_at_most
from redrive.invoke.sandbox.program import Program, start

PROCESSES_MAX = 1_024
"""Processes and threads of a sandbox. https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html"""

PROCESSES_PER_LOOK = 16
"""Measuring the memory of a process takes time, and delays it: more processes than this are measured less often."""

END_WAIT_S = 5.0
"""How long the keeper may take to end all others. After that (it was stopped or killed) the engine ends them itself."""


class Processes:
    """The keeper and its descendants. Any thread may call `end`; one thread at a time may call the rest."""

    def __init__(self, program: Program, runtime_api: str) -> None:
        """Start the keeper and the runtime. Errors: OSError."""
        self.memory_kb = 0
        self._looks = 0
        self._tree = descendants.Tree()
        self._frozen: tuple[int, ...] = ()
        self._guard = threading.Lock()
        self._marks = [
            f"AWS_LAMBDA_RUNTIME_API={runtime_api}".encode(),
            f"AWS_LAMBDA_LOG_STREAM_NAME={program.variables.get('AWS_LAMBDA_LOG_STREAM_NAME', '')}".encode(),
        ]
        reading_end, writing_end = os.pipe()
        self._lifeline: int | None = writing_end
        try:
            self._keeper = start(program, runtime_api, reading_end)
        except BaseException:
            os.close(writing_end)
            raise
        finally:
            os.close(reading_end)
        assert self._keeper.stdout is not None
        self.output = self._keeper.stdout.fileno()
        os.set_blocking(self.output, False)

    @property
    def are_alive(self) -> bool:
        """Whether the runtime runs: the keeper ends after it."""
        return self._keeper.poll() is None

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes under the keeper now, the runtime first."""
        self._look()
        return self._tree.pids

    @property
    def are_too_many(self) -> bool:
        """Whether the last measurement found more processes and threads than Lambda allows."""
        return self._tree.threads > PROCESSES_MAX

    def measure(self) -> None:
        """Measure the number of processes, and update the peak of their memory."""
        self._look()
        pids = self._tree.pids
        self._looks += 1
        if self.are_too_many or memory_kb_at_most(pids) <= self.memory_kb:
            return
        if self._looks * PROCESSES_PER_LOOK >= len(pids):
            self._looks = 0
            self.memory_kb = max(self.memory_kb, memory_kb(pids))

    def freeze(self) -> None:
        """Stop the current processes where listing them is fast; otherwise those of the last measurement.

        The keeper is not stopped, and can end them.
        """
        if descendants.HAS_PROC:
            self._look()
        self._frozen = self._tree.pids
        descendants.signal_all(self._frozen, signal.SIGSTOP)

    def thaw(self) -> None:
        """Continue the stopped processes."""
        frozen, self._frozen = self._frozen, ()
        descendants.signal_all(reversed(frozen), signal.SIGCONT)

    def end(self) -> None:
        """Make all processes end soon."""
        with self._guard:
            lifeline, self._lifeline = self._lifeline, None
        if lifeline is not None:
            os.close(lifeline)
            descendants.signal_all([self._keeper.pid], signal.SIGCONT)  # The function may have stopped it.

    def close(self) -> None:
        """End all processes, and wait for their end. Their last output can still be read."""
        if self.are_too_many:
            self.freeze()  # They must not start more processes while the keeper ends them.
        self.end()
        try:
            self._keeper.wait(END_WAIT_S)
        except subprocess.TimeoutExpired:
            descendants.signal_all(self.pids, signal.SIGKILL)
            self._keeper.kill()
            self._keeper.wait()
        if self._keeper.returncode < 0:
            # Perhaps the keeper was killed, and not the runtime; then the keeper has not ended the others.
            descendants.end_marked(self._marks)

    def let_go(self) -> None:
        """Close the output."""
        assert self._keeper.stdout is not None
        self._keeper.stdout.close()

    @property
    def exit_reason(self) -> str:
        """How the runtime ended, in Lambda's words."""
        status = self._keeper.returncode
        if status == 0:
            return "Runtime exited without providing a reason"
        if status > 0:
            return f"Runtime exited with error: exit status {status}"
        name = signal.strsignal(-status) or str(-status)
        return f"Runtime exited with error: signal: {name.lower()}"

    def _look(self) -> None:
        if self.are_alive:
            self._tree = descendants.look(self._keeper.pid)
