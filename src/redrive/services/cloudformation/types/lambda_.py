"""AWS::Lambda::Function, EventSourceMapping, Permission and EventInvokeConfig.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_Lambda.html
"""

from __future__ import annotations

import dataclasses

from redrive.core.clock import SECOND_MS
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.cloudformation import limits
from redrive.services.cloudformation.types.inline_code import zip_inline
from redrive.services.cloudformation.types.resource import (
    Existing,
    Place,
    ResourceType,
    changed_keys,
    not_updatable,
    read,
    tag_changes,
    tags_of,
)
from redrive.services.cloudformation.types.schema import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    TAGS,
    TEXT,
    UNAVAILABLE,
    PropertyError,
    always_replacing,
    group,
    listing,
    mapping,
    replacing,
    required,
)

_MISSING = frozenset({"ResourceNotFoundException"})

# https://docs.aws.amazon.com/lambda/latest/api/API_CreateFunction.html
_NAME_LENGTH_MAX = 64
# https://docs.aws.amazon.com/lambda/latest/api/API_AddPermission.html
_STATEMENT_ID_LENGTH_MAX = 100

# The configuration properties of a function, with their default values.
# https://docs.aws.amazon.com/lambda/latest/api/API_UpdateFunctionConfiguration.html
_CONFIGURATION: Document = {
    "DeadLetterConfig": {"TargetArn": ""},
    "Description": "",
    "Environment": {"Variables": {}},
    "EphemeralStorage": {"Size": 512},
    "Handler": None,
    "ImageConfig": {},
    "KmsKeyArn": "",
    "Layers": [],
    "LoggingConfig": {"LogFormat": "Text"},
    "MemorySize": 128,
    "Role": None,
    "Runtime": None,
    "SnapStart": {"ApplyOn": "None"},
    "Timeout": 3,
    "TracingConfig": {"Mode": "PassThrough"},
    "VpcConfig": {"SubnetIds": [], "SecurityGroupIds": []},
}


def _configuration(properties: Document, names: set[str]) -> Document:
    """Return these properties as parameters; a removed property gets its default."""
    chosen = {name: properties.get(name, default) for name, default in _CONFIGURATION.items() if name in names}
    if "KmsKeyArn" in chosen:
        chosen["KMSKeyArn"] = chosen.pop("KmsKeyArn")
    return chosen


def _code(properties: Document) -> Document:
    """Return the code as the operations accept it: inline text as an archive; the name of an object as it is."""
    code: Document = dict(properties["Code"])
    if "ZipFile" not in code:
        return code
    if len(code["ZipFile"].encode()) > limits.INLINE_CODE_BYTES_MAX:
        raise PropertyError(f"Code.ZipFile must be at most {limits.INLINE_CODE_BYTES_MAX} bytes long.")
    return {**code, "ZipFile": zip_inline(code["ZipFile"], properties.get("Runtime", ""))}


def _create_function(place: Place, properties: Document) -> Existing:
    name = place.name(properties.get("FunctionName"), _NAME_LENGTH_MAX)
    created = place.call(
        "lambda", "CreateFunction", FunctionName=name, Code=_code(properties), Tags=tags_of(properties) or None,
        PackageType=properties.get("PackageType"), Architectures=properties.get("Architectures"),
        CodeSigningConfigArn=properties.get("CodeSigningConfigArn"), **_configuration(properties, set(properties)),
    )  # fmt: skip
    made = Existing(name, properties, {"Arn": created["FunctionArn"]})
    _settings(place, made, {}, properties)
    return made


def _found_function(place: Place, name: str) -> Document | None:
    answer = read(place, _MISSING, "lambda", "GetFunctionConfiguration", FunctionName=name)
    return None if answer is None else {"Arn": answer["FunctionArn"]}


def _update_function(place: Place, existing: Existing, properties: Document) -> Existing:
    name, changed = existing.physical_id, changed_keys(existing.properties, properties)
    configuration = _configuration(properties, changed)
    if configuration:
        place.call("lambda", "UpdateFunctionConfiguration", FunctionName=name, **configuration)
    if changed & {"Code", "Architectures"}:
        place.call(
            "lambda", "UpdateFunctionCode", FunctionName=name, Architectures=properties.get("Architectures"),
            **_code(properties),
        )  # fmt: skip
    made = Existing(name, properties, existing.attributes)
    _retag(place, str(made.attributes["Arn"]), existing.properties, properties)
    _settings(place, made, existing.properties, properties)
    return made


def _is_function_pending(place: Place, existing: Existing) -> bool:
    """Whether the function's creation, or the last update, is in progress.

    AWS also asks as the stack's own caller; a caller without permission to ask does not wait.
    """
    try:
        found = place.call("lambda", "GetFunctionConfiguration", FunctionName=existing.physical_id)
    except ServiceError:
        return False
    state, update = str(found["State"]), str(found.get("LastUpdateStatus", ""))
    return state == "Pending" or update == "InProgress"


def _settings(place: Place, made: Existing, old: Document, new: Document) -> None:
    """Apply the settings of a function that have operations of their own."""
    changed, name = changed_keys(old, new), made.physical_id
    if "ReservedConcurrentExecutions" in changed:
        reserved = new.get("ReservedConcurrentExecutions")
        if reserved is None:
            place.call("lambda", "DeleteFunctionConcurrency", FunctionName=name)
        else:
            place.call(
                "lambda", "PutFunctionConcurrency", FunctionName=name, ReservedConcurrentExecutions=reserved
            )  # fmt: skip
    if "RecursiveLoop" in changed:
        loop = new.get("RecursiveLoop", "Terminate")
        place.call("lambda", "PutFunctionRecursionConfig", FunctionName=name, RecursiveLoop=loop)
    if "RuntimeManagementConfig" in changed:
        management = new.get("RuntimeManagementConfig", {"UpdateRuntimeOn": "Auto"})
        place.call("lambda", "PutRuntimeManagementConfig", FunctionName=name, **management)
    if old and "CodeSigningConfigArn" in changed:
        signing = new.get("CodeSigningConfigArn")
        if signing is None:
            place.call("lambda", "DeleteFunctionCodeSigningConfig", FunctionName=name)
        else:
            place.call("lambda", "PutFunctionCodeSigningConfig", FunctionName=name, CodeSigningConfigArn=signing)


def _retag(place: Place, arn: str, old: Document, new: Document) -> None:
    changed, removed = tag_changes(old, new)
    if removed:
        place.call("lambda", "UntagResource", Resource=arn, TagKeys=removed)
    if changed:
        place.call("lambda", "TagResource", Resource=arn, Tags=changed)


def _delete_function(place: Place, existing: Existing) -> None:
    place.call("lambda", "DeleteFunction", FunctionName=existing.physical_id)


def _mapping_parameters(properties: Document) -> Document:
    """Return a mapping's properties in the API's form."""
    parameters = {name: value for name, value in properties.items() if name not in ("KmsKeyArn", "Tags")}
    if "KmsKeyArn" in properties:
        parameters["KMSKeyArn"] = properties["KmsKeyArn"]
    if "StartingPositionTimestamp" in properties:
        parameters["StartingPositionTimestamp"] = int(properties["StartingPositionTimestamp"] * SECOND_MS)
    return parameters


def _create_mapping(place: Place, properties: Document) -> Existing:
    created = place.call(
        "lambda", "CreateEventSourceMapping", Tags=tags_of(properties) or None, **_mapping_parameters(properties)
    )
    uuid = created["UUID"]
    return Existing(uuid, properties, {"Id": uuid, "EventSourceMappingArn": created["EventSourceMappingArn"]})


# The values of a mapping's settings after the template removes them.
# https://docs.aws.amazon.com/lambda/latest/api/API_UpdateEventSourceMapping.html
_MAPPING_DEFAULTS: Document = {
    "BatchSize": 10,
    "BisectBatchOnFunctionError": False,
    "DestinationConfig": {},
    "Enabled": True,
    "FilterCriteria": {},
    "FunctionResponseTypes": [],
    "KmsKeyArn": "",
    "LoggingConfig": {},
    "MaximumBatchingWindowInSeconds": 0,
    "MaximumRecordAgeInSeconds": -1,
    "MaximumRetryAttempts": -1,
    "MetricsConfig": {"Metrics": []},
    "ParallelizationFactor": 1,
    "ProvisionedPollerConfig": {},
    "ScalingConfig": {},
    "TumblingWindowInSeconds": 0,
}
_STREAM_BATCH_SIZE = 100
"""The default of mappings from streams."""


def _update_mapping(place: Place, existing: Existing, properties: Document) -> Existing:
    changed = changed_keys(existing.properties, properties) - {"Tags"}
    settings = {
        name: properties.get(name, _MAPPING_DEFAULTS.get(name))
        for name in sorted(changed)
        if name in properties or name in _MAPPING_DEFAULTS
    }
    if "StartingPosition" in properties and "BatchSize" not in properties and "BatchSize" in settings:
        settings["BatchSize"] = _STREAM_BATCH_SIZE
    if settings:
        place.call("lambda", "UpdateEventSourceMapping", UUID=existing.physical_id, **_mapping_parameters(settings))
    _retag(place, str(existing.attributes["EventSourceMappingArn"]), existing.properties, properties)
    return Existing(existing.physical_id, properties, existing.attributes)


def _delete_mapping(place: Place, existing: Existing) -> None:
    place.call("lambda", "DeleteEventSourceMapping", UUID=existing.physical_id)


def _create_permission(place: Place, properties: Document) -> Existing:
    statement_id = place.name(None, _STATEMENT_ID_LENGTH_MAX)
    place.call("lambda", "AddPermission", StatementId=statement_id, **properties)
    return Existing(statement_id, properties, {"Id": statement_id})


def _delete_permission(place: Place, existing: Existing) -> None:
    function = existing.properties["FunctionName"]
    place.call("lambda", "RemovePermission", FunctionName=function, StatementId=existing.physical_id)


def _put_event_invoke_config(place: Place, properties: Document) -> Existing:
    place.call("lambda", "PutFunctionEventInvokeConfig", **properties)
    return Existing(f"{properties['FunctionName']}|{properties['Qualifier']}", properties, {})


def _update_event_invoke_config(place: Place, existing: Existing, properties: Document) -> Existing:
    """Put the configuration again. Its function cannot change, so its id stays."""
    return dataclasses.replace(_put_event_invoke_config(place, properties), physical_id=existing.physical_id)


def _delete_event_invoke_config(place: Place, existing: Existing) -> None:
    named = {name: existing.properties[name] for name in ("FunctionName", "Qualifier")}
    place.call("lambda", "DeleteFunctionEventInvokeConfig", **named)


FUNCTION = ResourceType(
    name="AWS::Lambda::Function",
    properties={
        "Architectures": listing(TEXT),
        "CapacityProviderConfig": UNAVAILABLE,
        "Code": required(
            group(
                ImageUri=TEXT,
                S3Bucket=TEXT,
                S3Key=TEXT,
                S3ObjectStorageMode=UNAVAILABLE,
                S3ObjectVersion=TEXT,
                SourceKMSKeyArn=TEXT,
                ZipFile=TEXT,
            )
        ),
        "CodeSigningConfigArn": TEXT,
        "DeadLetterConfig": group(TargetArn=TEXT),
        "Description": TEXT,
        "DurableConfig": replacing(UNAVAILABLE),
        "Environment": group(Variables=mapping()),
        "EphemeralStorage": group(Size=required(INTEGER)),
        "FileSystemConfigs": UNAVAILABLE,
        "FunctionName": replacing(TEXT),
        "FunctionScalingConfig": UNAVAILABLE,
        "Handler": TEXT,
        "ImageConfig": group(Command=listing(TEXT), EntryPoint=listing(TEXT), WorkingDirectory=TEXT),
        "KmsKeyArn": TEXT,
        "Layers": listing(TEXT),
        "LoggingConfig": group(ApplicationLogLevel=TEXT, LogFormat=TEXT, LogGroup=TEXT, SystemLogLevel=TEXT),
        "MemorySize": INTEGER,
        "PackageType": replacing(TEXT),
        "PublishToLatestPublished": UNAVAILABLE,
        "RecursiveLoop": TEXT,
        "ReservedConcurrentExecutions": INTEGER,
        "Role": required(TEXT),
        "Runtime": TEXT,
        "RuntimeManagementConfig": group(RuntimeVersionArn=TEXT, UpdateRuntimeOn=required(TEXT)),
        "SnapStart": group(ApplyOn=required(TEXT)),
        "Tags": TAGS,
        "TenancyConfig": replacing(UNAVAILABLE),
        "Timeout": INTEGER,
        "TracingConfig": group(Mode=TEXT),
        "VpcConfig": group(Ipv6AllowedForDualStack=BOOLEAN, SecurityGroupIds=listing(TEXT), SubnetIds=listing(TEXT)),
    },
    create=_create_function,
    update=_update_function,
    delete=_delete_function,
    attributes=frozenset({"Arn"}),
    name_property="FunctionName",
    found=_found_function,
    has_tags=True,
    missing=_MISSING,
    is_pending=_is_function_pending,
)

EVENT_SOURCE_MAPPING = ResourceType(
    name="AWS::Lambda::EventSourceMapping",
    properties={
        "AmazonManagedKafkaEventSourceConfig": UNAVAILABLE,
        "BatchSize": INTEGER,
        "BisectBatchOnFunctionError": BOOLEAN,
        "DestinationConfig": group(OnFailure=group(Destination=TEXT)),
        "DocumentDBEventSourceConfig": UNAVAILABLE,
        "Enabled": BOOLEAN,
        "EventSourceArn": replacing(TEXT),
        "FilterCriteria": group(Filters=listing(group(Pattern=TEXT))),
        "FunctionName": required(TEXT),
        "FunctionResponseTypes": listing(TEXT),
        "KmsKeyArn": TEXT,
        "LoggingConfig": UNAVAILABLE,
        "MaximumBatchingWindowInSeconds": INTEGER,
        "MaximumRecordAgeInSeconds": INTEGER,
        "MaximumRetryAttempts": INTEGER,
        "MetricsConfig": group(Metrics=listing(TEXT)),
        "ParallelizationFactor": INTEGER,
        "ProvisionedPollerConfig": group(MaximumPollers=INTEGER, MinimumPollers=INTEGER, PollerGroupName=UNAVAILABLE),
        "Queues": listing(TEXT),
        "ScalingConfig": group(MaximumConcurrency=INTEGER),
        "SelfManagedEventSource": replacing(UNAVAILABLE),
        "SelfManagedKafkaEventSourceConfig": UNAVAILABLE,
        "SourceAccessConfigurations": UNAVAILABLE,
        "StartingPosition": replacing(TEXT),
        "StartingPositionTimestamp": replacing(NUMBER),
        "Tags": TAGS,
        "Topics": listing(TEXT),
        "TumblingWindowInSeconds": INTEGER,
    },
    create=_create_mapping,
    update=_update_mapping,
    delete=_delete_mapping,
    attributes=frozenset({"EventSourceMappingArn", "Id"}),
    has_tags=True,
    missing=_MISSING,
)

PERMISSION = ResourceType(
    name="AWS::Lambda::Permission",
    properties=always_replacing(
        Action=required(TEXT), EventSourceToken=TEXT, FunctionName=required(TEXT), FunctionUrlAuthType=TEXT,
        InvokedViaFunctionUrl=BOOLEAN, Principal=required(TEXT), PrincipalOrgID=TEXT, SourceAccount=TEXT,
        SourceArn=TEXT,
    ),
    create=_create_permission,
    update=not_updatable,
    delete=_delete_permission,
    attributes=frozenset({"Id"}),
    missing=_MISSING,
)  # fmt: skip

EVENT_INVOKE_CONFIG = ResourceType(
    name="AWS::Lambda::EventInvokeConfig",
    properties={
        "DestinationConfig": group(
            OnFailure=group(Destination=required(TEXT)), OnSuccess=group(Destination=required(TEXT))
        ),
        "FunctionName": replacing(required(TEXT)),
        "MaximumEventAgeInSeconds": INTEGER,
        "MaximumRetryAttempts": INTEGER,
        "Qualifier": replacing(required(TEXT)),
    },
    create=_put_event_invoke_config,
    update=_update_event_invoke_config,
    delete=_delete_event_invoke_config,
    missing=_MISSING,
)
