"""Packages that a handler imports and that are not installed: what to type to have them.

Source: the names of distributions are those of https://pypi.org
"""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from redrive.prove.guess.reading import FILES_MAX, own_files, parsed

_DISTRIBUTIONS: Mapping[str, str] = {
    "Crypto": "pycryptodome", "MySQLdb": "mysqlclient", "OpenSSL": "pyOpenSSL", "PIL": "Pillow",
    "attr": "attrs", "aws_encryption_sdk": "aws-encryption-sdk", "aws_lambda_powertools": "aws-lambda-powertools",
    "aws_requests_auth": "aws-requests-auth", "aws_xray_sdk": "aws-xray-sdk", "awswrangler": "awswrangler",
    "boto": "boto", "bs4": "beautifulsoup4", "cfnresponse": "cfnresponse", "chardet": "chardet", "crhelper": "crhelper",
    "cv2": "opencv-python-headless", "dateutil": "python-dateutil", "decouple": "python-decouple",
    "distutils": "setuptools",
    "dns": "dnspython", "docx": "python-docx", "dotenv": "python-dotenv", "elasticsearch": "elasticsearch",
    "fitz": "PyMuPDF", "git": "GitPython", "github": "PyGithub", "google.cloud": "google-cloud", "jose": "python-jose",
    "jwt": "PyJWT", "kafka": "kafka-python", "lambda_decorators": "lambda-decorators", "ldap": "python-ldap",
    "magic": "python-magic", "markdown": "Markdown", "mysql": "mysql-connector-python", "nacl": "PyNaCl",
    "opensearchpy": "opensearch-py", "pkg_resources": "setuptools", "pptx": "python-pptx",
    "psycopg2": "psycopg2-binary",
    "pycountry": "pycountry", "pymysql": "PyMySQL", "pytz": "pytz", "redis": "redis", "requests_aws4auth":
    "requests-aws4auth", "serial": "pyserial", "simplejson": "simplejson", "skimage": "scikit-image",
    "sklearn": "scikit-learn", "slack": "slackclient", "slack_sdk": "slack-sdk", "slugify": "python-slugify",
    "snowflake": "snowflake-connector-python", "socketio": "python-socketio", "telegram": "python-telegram-bot",
    "usb": "pyusb", "websocket": "websocket-client", "yaml": "PyYAML", "zmq": "pyzmq",
}  # fmt: skip
"""The distributions of modules that have another name."""
_NO_MODULE = re.compile(r"No module named '(?P<name>[\w.]+)'")
_NO_NAME = re.compile(r"cannot import name '\w+' from '(?P<name>[\w.]+)' \((?P<place>[^)]*)\)")
_OF_PYTHON_2 = frozenset({
    "urllib2", "urlparse", "ConfigParser", "StringIO", "cStringIO", "Queue", "httplib", "HTMLParser", "commands",
    "cPickle", "cookielib", "Cookie", "__builtin__", "xmlrpclib", "SimpleHTTPServer", "BaseHTTPServer", "thread",
})  # fmt: skip
"""Modules of Python 2's standard library; packages of these names are something else."""
_REQUIREMENTS = "requirements.txt"
_SEARCHED_MAX = 4_000
_INSTALL = "Install"
_SKIPPED = frozenset(
    {
        "node_modules",
        ".venv",
        "venv",
        ".git",
        "site-packages",
        ".aws-sam",
        "cdk.out",
        ".tox",
        "tests",
        "test",
        "__pycache__",
    }
)


def advice_on_import(told: str, file: Path, folders: Sequence[Path]) -> str:
    """What to do about an import that failed; empty if it says nothing of a module that is not there.

    `told` is the error, `file` the handler's module, `folders` are those from which it imports, the first one its own.
    """
    failed = _NO_MODULE.search(told)
    if failed is None:
        return _advice_on_versions(told, file)
    name = failed["name"]
    if name in _OF_PYTHON_2:
        return f"The code is written for Python 2, which has {name}: port it to a Python that Lambda has."
    if not file.is_file() and name == file.stem:
        return (
            f"The function's handler names the module {name}, and its code has none. Inline code (ZipFile) is always "
            "the module index: its handler is index.NAME."
        )
    place = _place_of(name.partition(".")[0], folders[0])
    if place is not None:
        return f"{name} lies in {shortly(place)}: give that folder with --root {shortly(place)}."
    missing = list(dict.fromkeys([name.partition(".")[0], *missing_modules(file, folders)]))
    listed = _listing(missing, file)
    if listed is not None:
        return f"{_INSTALL} what the project asks for: {_pip()} -r {shortly(listed)}"
    names = " ".join(_DISTRIBUTIONS.get(one, one.replace("_", "-")) for one in missing)
    return f"{_INSTALL} what it imports: {_pip()} {names}"


def _advice_on_versions(told: str, file: Path) -> str:
    """What to do about a name that an installed package does not have: it may be of another version."""
    failed = _NO_NAME.search(told)
    if failed is None or "site-packages" not in failed["place"]:
        return ""
    listed = _listing([failed["name"].partition(".")[0]], file)
    if listed is None:
        return f"Install the version of {failed['name'].partition('.')[0]} for which the code is written."
    return f"{_INSTALL} the versions that the project asks for: {_pip()} -r {shortly(listed)}"


def together(advices: Iterable[str]) -> str:
    """One command for what several functions lack; empty if fewer than two of them ask for different ones."""
    asked = list(dict.fromkeys(one.partition(": ")[2] for one in advices if one.startswith(_INSTALL)))
    if len(asked) < 2:
        return ""
    words = [word for one in asked for word in _arguments(one)]
    return f"{_pip()} {' '.join(dict.fromkeys(words))}"


def _arguments(command: str) -> list[str]:
    """What a command of ours installs: a list of requirements is one word with its option."""
    _, _, named = command.partition(" install ")
    named = re.sub(r"^--python \S+ ", "", named)
    return [named] if named.startswith("-r ") else named.split()


def missing_modules(file: Path, folders: Sequence[Path]) -> list[str]:
    """The modules that a file and its own imports ask for, without a fallback, and that nobody finds."""
    waiting, seen, names = [file], {file}, dict[str, None]()
    while waiting and len(seen) <= FILES_MAX:
        for own in own_files(waiting.pop()):
            for name in _imported(own):
                names[name] = None
                found = [path for folder in folders for path in _files_of(folder, name) if path not in seen]
                seen.update(found)
                waiting += found
    return [name for name in names if not _is_found(name, folders)]


def _files_of(folder: Path, name: str) -> list[Path]:
    """The file of a module, or those of a package, in a folder of the user's."""
    files = [folder / f"{name}.py", *sorted((folder / name).glob("*.py"))]
    return [file for file in files if file.is_file()]


def _imported(file: Path) -> Iterator[str]:
    tree = parsed(file)
    if tree is None:
        return
    tried = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.Try) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in tried:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def _is_found(name: str, folders: Sequence[Path]) -> bool:
    if name in sys.stdlib_module_names or name in sys.modules:
        return True
    if any((folder / name).is_dir() or (folder / f"{name}.py").is_file() for folder in folders):
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _place_of(name: str, root: Path) -> Path | None:
    """The folder of the project in which a module of this name lies."""
    top = Path.cwd() if root.resolve().is_relative_to(Path.cwd()) else root.resolve().parent
    for number, found in enumerate(folders_below(top)):
        if number > _SEARCHED_MAX:
            return None
        if (found / f"{name}.py").is_file() or (found / name / "__init__.py").is_file():
            return found
    return None


def folders_below(top: Path, without: Collection[Path] = ()) -> Iterator[Path]:
    """A folder and those below it, nearest first, but for those of packages, of builds and of tests."""
    waiting = [top]
    while waiting:
        current = waiting.pop(0)
        yield current
        try:
            inner = sorted(one for one in current.iterdir() if one.is_dir() and not one.is_symlink())
        except OSError:
            continue
        waiting.extend(one for one in inner if one.name not in _SKIPPED and one not in without)


def _listing(missing: Sequence[str], file: Path) -> Path | None:
    """The requirements of the project, beside the code or above it, that name a missing package."""
    wanted = {re.sub("[-_.]+", "-", _DISTRIBUTIONS.get(one, one)).lower() for one in missing}
    wanted |= {re.sub("[-_.]+", "-", one).lower() for one in missing}
    top = Path.cwd()
    folder = file.resolve().parent
    while True:
        listed = folder / _REQUIREMENTS
        if listed.is_file() and wanted & set(_names_in(listed)):
            return listed
        if folder in {top, folder.parent} or not folder.is_relative_to(top):
            return None
        folder = folder.parent


def _names_in(listed: Path) -> Iterator[str]:
    try:
        lines = listed.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return
    for line in lines:
        named = re.match(r"\s*([A-Za-z0-9][\w.-]*)", line)
        if named is not None:
            yield re.sub("[-_.]+", "-", named[1]).lower()
            if named[1].lower().startswith("psycopg2"):
                yield "psycopg2-binary"


def _pip() -> str:
    """The command that installs where redrive runs."""
    python = shortly(Path(sys.executable))
    has_pip = importlib.util.find_spec("pip") is not None
    return f"{python} -m pip install" if has_pip else f"uv pip install --python {python}"


def shortly(path: Path) -> str:
    """A path below the working directory without it. A link stays: the interpreter of a virtual environment is one."""
    absolute = path.absolute()
    return str(absolute.relative_to(Path.cwd())) if absolute.is_relative_to(Path.cwd()) else str(absolute)
