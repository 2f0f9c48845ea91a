"""The packages of AWS's SDK that Node.js code finds in its runtime on AWS, and would miss here.

    CODE/<code of a function>/index.mjs    import … from "@aws-sdk/client-s3"
    CODE/node_modules/@aws-sdk/client-s3   where Node.js looks after the function's own node_modules

They are installed when a function that names them is started first, and kept for all servers of this user. Which they
are follows from the code of the function alone, not from who calls the function.
"""

from __future__ import annotations

import re
import threading
from pathlib import Path

from redrive.core.errors import UserError
from redrive.invoke.runtime.npm import MODULES, Npm, own_sources, sdk_packages

_NAMED_LATER = re.compile(r"""@aws-sdk/client-(?:\$\{|["'`]\s*(?:\+|\.concat\())""")
"""Code that makes up the name of a client when it runs, as the CDK's handler of AwsCustomResource does."""

_CLIENTS = (
    "cloudformation", "cloudtrail", "cloudwatch", "cloudwatch-logs", "dynamodb", "ecr", "eventbridge", "iam", "kinesis",
    "kms", "lambda", "s3", "scheduler", "secrets-manager", "sns", "sqs", "ssm", "sts",
)  # fmt: skip
"""The clients of what this server serves: such code can have use for no others."""

_SOURCE_FILES_MAX = 10_000
"""A function with more files is not searched: it has brought its packages."""


class NodeSdk:
    """Installs what functions name. May be used from many threads: they wait for each other."""

    def __init__(self, npm: Npm, code: Path, *, fetches: bool = True) -> None:
        """`code` is the directory under which the code of each function has a directory of its own.

        If it does not fetch, functions find only what was installed before.
        """
        self._npm = npm
        self._fetches = fetches
        self._modules = code / MODULES
        self._turn = threading.Lock()
        self._known: dict[tuple[Path, Path | None], str] = {}

    def provide(self, task_root: Path, runtime: str, opt_root: Path | None = None) -> str:
        """Let the code of a function find the SDK's packages that it names. Returns a warning if it will not.

        What the function's layers have, below `opt_root`, is not installed.
        """
        if not runtime.startswith("nodejs"):
            return ""
        with self._turn:
            if (task_root, opt_root) not in self._known:
                self._known[task_root, opt_root] = self._provided(task_root, runtime, opt_root)
            return self._known[task_root, opt_root]

    def _provided(self, task_root: Path, runtime: str, opt_root: Path | None) -> str:
        files = {str(path.relative_to(task_root)): path for path in task_root.rglob("*") if path.is_file()}
        if len(files) > _SOURCE_FILES_MAX:
            return ""
        wanted = sdk_packages(files, runtime)
        if any(_NAMED_LATER.search(path.read_text("utf-8", errors="replace")) for path in own_sources(files)):
            wanted |= {f"@aws-sdk/client-{name}": "^3" for name in _CLIENTS}
        missing = {
            name: version for name, version in wanted.items()
            if not (self._modules / name).exists() and not _has(opt_root, name)
        }  # fmt: skip
        if not missing:
            return ""
        try:
            place = self._place(missing, runtime)
        except UserError as error:
            return f"{error.what} The function will not find {', '.join(missing)}."
        if place is None:
            return (
                f"The function will not find {', '.join(missing)}: packages are not installed, as "
                "--no-install-packages says. Pack them with the function, or put them into a layer."
            )
        for name in missing:
            link = self._modules / name
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(place / name)
        return ""

    def _place(self, names: dict[str, str], runtime: str) -> Path | None:
        """The node_modules with these packages; None if they are missing and may not be fetched. Errors: UserError."""
        if not self._fetches:
            return self._npm.kept_packages(names)
        return self._npm.packages(names, f"{', '.join(names)}, which AWS has in the runtime {runtime},")


def _has(opt_root: Path | None, name: str) -> bool:
    """Whether the layers of a function bring this package."""
    return opt_root is not None and (opt_root / "nodejs" / MODULES / name).exists()
