"""Run AWS's translator on a SAM template. The first such template imports this module.

The translator would ask boto3 for a region and credentials. It gets the region from us, and no client to call.
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

# The translator logs warnings about settings that only CloudFormation's own service has; it raises real errors.
logging.getLogger("samtranslator").setLevel(logging.CRITICAL)

_TURN = threading.Lock()
"""Serializes translations, because the translator keeps the region in a class attribute."""


class RefusedBySam(Exception):
    """The template is not a valid SAM template; the text is SAM's message."""


class InternalFailure(Exception):
    """The translator failed with an unexpected error."""


def run_translator(
    root: Mapping[str, Node], parameters: Mapping[str, ParameterValue], pseudo: PseudoParameters
) -> dict[str, Node]:
    """Return the template as plain CloudFormation. Errors: RefusedBySam; InternalFailure."""
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
            metrics.publish()  # Published to nobody; otherwise the translator warns about unpublished metrics.


class _Session:
    """A replacement for a boto3 session: the translator reads only the region."""

    def __init__(self, region: str) -> None:
        self.region_name = region
