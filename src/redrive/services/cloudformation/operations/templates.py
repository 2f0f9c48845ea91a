"""The operations on templates: read back, summarise, validate."""

from __future__ import annotations

from redrive.core.documents import Document, dump_json
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.template import Template
from redrive.services.cloudformation.model.requests import refuse_given, without_empty
from redrive.services.cloudformation.model.stack import stack_arn
from redrive.services.cloudformation.operations.change_sets import find_change_set
from redrive.services.cloudformation.operations.stacks import existing_stack
from redrive.services.cloudformation.templates import (
    asked_template,
    capabilities_reason,
    needed_capabilities,
    read_template,
    template_of,
    unknown_types,
    validation_error,
)
from redrive.services.cloudformation.types import CUSTOM_NAMES
from redrive.store.api import Transaction


@operation("GetTemplate")
def get_template(
    tx: Transaction, caller: Caller, *,
    stack_name: str | None = None, change_set_name: str | None = None,
    template_stage: str | None = None,
) -> Document:  # fmt: skip
    """Return the template of a stack or change set, as given (Original, the default) or after its transforms.

    Without transforms both stages are the same.

    Errors: ValidationError (no such stack, or no such stage yet); ChangeSetNotFoundException.
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_GetTemplate.html
    """
    if change_set_name is not None:
        blueprint = find_change_set(tx, caller, change_set_name, stack_name, "GetTemplate").blueprint
    else:
        blueprint = existing_stack(tx, caller, stack_name, "GetTemplate").blueprint
    stages = ["Original", "Processed"] if blueprint.is_whole else ["Original"]
    if template_stage not in (None, *stages):
        raise validation_error(f"The template stage {template_stage} is not available.")
    body = blueprint.body if template_stage == "Processed" else blueprint.template_body
    return {"TemplateBody": body, "StagesAvailable": stages}


@operation("GetTemplateSummary")
def get_template_summary(
    tx: Transaction, caller: Caller, *,
    template_body: str | None = None, template_url: str | None = None, stack_name: str | None = None,
    stack_set_name: str | None = None, call_as: str | None = None, template_summary_config: Document | None = None,
) -> Document:  # fmt: skip
    """Return what a template declares and needs: parameters, types, capabilities, identifiers of its resources.

    Types are not checked, as on AWS; on request, unsupported types are reported as warnings.

    Errors: ValidationError (template; no such stack).
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_GetTemplateSummary.html
    """
    refuse_given(StackSetName=stack_set_name, CallAs=call_as if call_as != "SELF" else None)
    if stack_name is not None:
        if template_body is not None or template_url is not None:
            raise validation_error("Only one of StackName, TemplateBody and TemplateURL may be specified.")
        stack = existing_stack(tx, caller, stack_name, "GetTemplateSummary")
        template = read_template(stack.blueprint.template_body)
    else:
        arn = stack_arn(caller.scope, "*", "*")
        tx.services.authorize(tx, caller, "cloudformation:GetTemplateSummary", arn)
        template = read_template(template_of(asked_template(tx, caller, template_body, template_url)))
    warns = bool((template_summary_config or {}).get("TreatUnrecognizedResourceTypesAsWarnings"))
    return _needs(template) | without_empty(
        {
            "Parameters": _parameters(template),
            "ResourceTypes": sorted({resource.type for resource in template.resources.values()}),
            "Version": template.format_version,
            "Metadata": dump_json(template.metadata) if template.metadata else None,
            "ResourceIdentifierSummaries": _identifiers(template),
            "DeclaredTransforms": list(template.transforms) or None,
            "Warnings": {"UnrecognizedResourceTypes": unknown_types(template)} if warns else None,
        }
    )


@operation("ValidateTemplate")
def validate_template(
    tx: Transaction, caller: Caller, *, template_body: str | None = None, template_url: str | None = None
) -> Document:
    """Check a template's structure and references; returns its parameters and the capabilities it needs.

    Errors: ValidationError.
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_ValidateTemplate.html
    """
    arn = stack_arn(caller.scope, "*", "*")
    tx.services.authorize(tx, caller, "cloudformation:ValidateTemplate", arn)
    template = read_template(template_of(asked_template(tx, caller, template_body, template_url)))
    shown = ("ParameterKey", "DefaultValue", "NoEcho", "Description")
    parameters = [
        {name: value for name, value in parameter.items() if name in shown} for parameter in _parameters(template)
    ]
    transforms = {"DeclaredTransforms": list(template.transforms)} if template.transforms else {}
    return {"Parameters": parameters, **_needs(template), **transforms}


def _needs(template: Template) -> Document:
    needed = needed_capabilities(template)
    reason = capabilities_reason(template) if needed else None
    return without_empty(
        {"Description": template.description, "Capabilities": needed or None, "CapabilitiesReason": reason}
    )


def _parameters(template: Template) -> list[Document]:
    return [
        without_empty(
            {
                "ParameterKey": name, "ParameterType": declared.type, "NoEcho": declared.no_echo,
                "Description": declared.description,
                "ParameterConstraints": {"AllowedValues": list(declared.allowed_values)}
                if declared.allowed_values is not None
                else {},
            }
        )
        | ({} if declared.default is None else {"DefaultValue": declared.default})
        for name, declared in template.parameters.items()
    ]  # fmt: skip


def _identifiers(template: Template) -> list[Document]:
    """Return, for each type with a name property, that property and the template's resources of the type."""
    summaries = []
    for type_name in sorted({resource.type for resource in template.resources.values()} & CUSTOM_NAMES.keys()):
        members = [name for name, resource in template.resources.items() if resource.type == type_name]
        summaries.append(
            {
                "ResourceType": type_name,
                "LogicalResourceIds": members,
                "ResourceIdentifiers": [CUSTOM_NAMES[type_name]],
            }
        )
    return summaries
