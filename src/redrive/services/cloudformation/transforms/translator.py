"""AWS's translator of SAM templates, run on one template. It is imported when the first such template comes.

The translator would ask boto3 for a region and for credentials: it is told the region, and is given nothing to call.
"""

from __future__ import annotations

import copy
import logging
import threading
from collections.abc import Mapping
from typing import cast

from samtranslator.metrics.metrics import DummyMetricsPublisher, Metrics
from samtranslator.model.exceptions import ExceptionWithMessage, InvalidDocumentException
from samtranslator.parser.parser import Parser
from samtranslator.translator.arn_generator import ArnGenerator
from samtranslator.translator.translator import Translator
from samtranslator.utils.py27hash_fix import to_py27_compatible_template, undo_mark_unicode_str_in_template

from redrive.languages.template import ParameterValue, PseudoParameters
from redrive.languages.template.source import Node

# It warns of switches that only CloudFormation's own service has; what is wrong with a template, it raises.
logging.getLogger("samtranslator").setLevel(logging.CRITICAL)

_TURN = threading.Lock()
"""Held while a template is translated: the translator keeps the region in a class of its own."""


class RefusedBySam(Exception):
    """The template is no SAM template; the text says why, in SAM's words."""


class InternalFailure(Exception):
    """The translator met what it was not written for."""


def run_translator(
    root: Mapping[str, Node], parameters: Mapping[str, ParameterValue], pseudo: PseudoParameters
) -> dict[str, Node]:
    """The template as plain CloudFormation. Errors: RefusedBySam; InternalFailure."""
    template = copy.deepcopy(dict(root))
    known = pseudo.values()
    values = {
        **parameters,
        **{name: known[name] for name in ("AWS::Region", "AWS::Partition", "AWS::AccountId", "AWS::URLSuffix")},
    }
    metrics = Metrics("redrive", DummyMetricsPublisher())
    with _TURN:
        ArnGenerator.BOTO_SESSION_REGION_NAME = pseudo.region
        try:
            to_py27_compatible_template(template, values)
            translator = Translator(None, Parser(), boto_session=_Session(pseudo.region), metrics=metrics)
            translated = translator.translate(template, parameter_values=values)
            return cast("dict[str, Node]", undo_mark_unicode_str_in_template(translated))
        except InvalidDocumentException as error:
            raise RefusedBySam(" ".join([error.message, *(cause.message for cause in error.causes)])) from None
        except ExceptionWithMessage as error:
            raise RefusedBySam(error.message) from None
        except Exception as error:
            raise InternalFailure from error
        finally:
            metrics.publish()  # To nobody; else it would warn that they were not published.


class _Session:
    """What the translator takes for a session of boto3: it asks for the region, and for nothing else."""

    def __init__(self, region: str) -> None:
        self.region_name = region
