"""Where models come from."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from redrive.core.errors import UserError
from redrive.wire.model.files import Models
from redrive.wire.services import ServiceSpec

SPEC = ServiceSpec(name="toy", protocols=("json",))


def write_model(folder: Path, version: str) -> None:
    path = folder / "toy" / version
    path.mkdir(parents=True)
    shapes = {"Tree": {"type": "structure", "members": {"Left": {"shape": "Tree"}}}}
    document = {"metadata": {"apiVersion": version}, "operations": {}, "shapes": shapes}
    (path / "service-2.json.gz").write_bytes(gzip.compress(orjson.dumps(document)))


def test_newest_version_of_a_model_is_read(tmp_path: Path) -> None:
    """Botocore keeps old versions beside new ones."""
    write_model(tmp_path, "2014-11-11")
    write_model(tmp_path, "2015-03-31")

    models = Models([SPEC], folder=tmp_path)

    assert (models.api_version("toy"), models.service("toy").api_version) == ("2015-03-31", "2015-03-31")


def test_shape_may_contain_itself(tmp_path: Path) -> None:
    """The graph of shapes has circles."""
    write_model(tmp_path, "2015-03-31")

    tree = Models([SPEC], folder=tmp_path).service("toy").shapes["Tree"]

    assert tree.members["Left"].shape is tree


def test_model_is_read_once(tmp_path: Path) -> None:
    """All callers share one model, so that what is compiled from it is shared as well."""
    write_model(tmp_path, "2015-03-31")
    models = Models([SPEC], folder=tmp_path)

    assert models.service("toy") is models.service("toy")


def test_missing_model_says_what_to_do(tmp_path: Path) -> None:
    """An old botocore lacks newer services."""
    with pytest.raises(UserError, match="no model of the service toy"):
        Models([SPEC], folder=tmp_path).service("toy")


def test_botocore_itself_is_not_imported() -> None:
    """Its import costs more than the server may take to start."""
    program = (
        "import sys; from redrive.wire.model.files import Models; from redrive.wire.route import Router;"
        "Router(Models()).codec('sqs', 'json'); sys.exit('botocore' in sys.modules)"
    )

    assert (
        subprocess.run([sys.executable, "-c", program], check=False, env={"PYTHONPATH": ":".join(sys.path)}).returncode
        == 0
    )
