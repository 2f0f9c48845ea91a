"""Reads told from writes, for all operations of all services of botocore: by the verb of a name, and by exceptions.

A read leaves nothing behind that a second call would leave twice: it may cost, be logged, or start a session that ends
by itself. Both lists of verbs are whole, so that a verb of a new version of botocore is noticed; until it is in a list,
an operation counts as a write. Judged by AWS's documentation of each operation, as botocore's models carry it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from redrive.prove.process.statements import is_read_statement

READS = frozenset(
    """
    Agentic Analyze Assume Autocomplete Calculate Carrier Check Classify Compare Contains Converse Count Decapsulate
    Decode Decrypt Derive Describe Detect Discover Domain Download Encapsulate Encrypt Estimate Evaluate Filter Forecast
    Geocode Get Head Infer Introspect Is List Lookup Phone Poll Predict Preview Probe Query Re Read Receive Recognize
    Render Rerank Rescore Resolve Retrieve Sample Scan Search Select Simulate Snap Suggest Synthesize Test Transcribe
    Translate Validate Verify View
    """.split()
)
"""The first words of operations that leave nothing behind."""

WRITES = frozenset(
    """
    Abort Accept Acknowledge Acquire Activate Add Admin Advertise Allocate Allow Amend Apply Approve Archive Assign
    Associate Attach Authorize Backtrack Begin Build Bulk Bundle Cancel Change Channel Chat Checkout Checkpoint Claim
    Clear Clone Close Commit Complete Compose Configure Confirm Connect Continue Convert Copy Create Deactivate
    Deauthorize Decline Decrease Define Delete Deliver Deny Deploy Deprecate Deprovision Deregister Detach Disable
    Disallow Disassociate Discard Disconnect Dismiss Dispose Dissociate Distribute Drain Enable End Enter
    Evict Exchange Execute Exit Expire Export Extend Failover Finalize Flush Forget Forgot Generate Global Grant Group
    Import Increase Index Ingest Initialize Initiate Insert Insight Install Invalidate Invite Invoke Issue Join Label
    Launch Leave Link Lock Logout Manage Mark Merge Meter Migrate Modify Monitor Move Notify Open Opt Optimize Override
    Pause Peer Populate Post Prepare Process Promote Provide Provision Publish Purchase Purge Push Put Reboot Rebalance
    Rebuild Recall Record Redact Redeem Redrive Refresh Regenerate Register Reimport Reinvite Reject Release Reload
    Remove Rename Renew Reorder Replace Replicate Report Request Resend Reserve Reset Resize Respond Restart Restore
    Resume Resync Retire Retry Return Reverse Revoke Rollback Rotate Run Save Schedule Send Set Setup Share Shrink
    Shutdown Sign Signal Skip Split Start Stop Submit Subscribe Suspend Swap Switchover Sync Synchronize Tag Take
    Terminate Toggle Transact Transfer Unarchive Unassign Undeploy Undeprecate Ungroup Unlabel Unlink Unlock Unmonitor
    Unpeer Unregister Unshare Unsubscribe Unsuspend Untag Update Upgrade Upload User Vote Withdraw Write
    """.split()
)
"""The first words of operations that leave something behind."""

_BEFORE_A_VERB = frozenset({"Admin", "Batch"})
"""First words after which the verb comes: `AdminGetUser`, `BatchWriteItem`."""

READ_EXCEPTIONS = frozenset(
    """
    b2bi:GenerateMapping bedrock-agent-runtime:GenerateQuery bedrock-agent-runtime:OptimizePrompt
    bedrock-agentcore:InvokeWebSearch bedrock-data-automation-runtime:InvokeDataAutomation
    bedrock-runtime:ApplyGuardrail bedrock-runtime:InvokeGuardrailChecks bedrock-runtime:InvokeModel
    bedrock-runtime:InvokeModelWithBidirectionalStream bedrock-runtime:InvokeModelWithResponseStream
    bedrock:ExportAutomatedReasoningPolicyVersion cloudtrail:GenerateQuery deadline:StartSessionsStatisticsAggregation
    dynamodb:TransactGetItems elasticbeanstalk:RequestEnvironmentInfo elementalinference:ExportDictionaryEntries
    gamelift:RequestUploadCredentials geo-places:ReverseGeocode geo-routes:OptimizeWaypoints iotsitewise:ExecuteQuery
    iotsitewise:InvokeAssistant iottwinmaker:ExecuteQuery kinesis:SubscribeToShard kms:GenerateDataKey
    kms:GenerateDataKeyPair kms:GenerateDataKeyPairWithoutPlaintext kms:GenerateDataKeyWithoutPlaintext kms:GenerateMac
    kms:GenerateRandom kms:Sign lex-runtime:PostContent lex-runtime:PostText lexv2-models:GenerateBotElement
    neptunedata:ExecuteGremlinExplainQuery neptunedata:ExecuteOpenCypherExplainQuery
    networkflowmonitor:StartQueryWorkloadInsightsTopContributors
    networkflowmonitor:StartQueryWorkloadInsightsTopContributorsData
    networkflowmonitor:StopQueryWorkloadInsightsTopContributors
    networkflowmonitor:StopQueryWorkloadInsightsTopContributorsData
    payment-cryptography-data:GenerateAs2805KekValidation payment-cryptography-data:GenerateAuthRequestCryptogram
    payment-cryptography-data:GenerateCardValidationData payment-cryptography-data:GenerateMac
    payment-cryptography-data:GenerateMacEmvPinChange payment-cryptography-data:GeneratePinData
    quicksight:GenerateEmbedUrlForAnonymousUser quicksight:GenerateEmbedUrlForRegisteredUser
    quicksight:GenerateEmbedUrlForRegisteredUserWithIdentity sagemaker-runtime:InvokeEndpoint
    sagemaker-runtime:InvokeEndpointWithResponseStream signer:SignPayload timestream-query:PrepareQuery
    """.split()
)
"""Reads in spite of their verb: they compute an answer, or start a query whose end leaves nothing."""

WRITE_EXCEPTIONS = frozenset(
    """
    account:VerifyPhoneNumber apigateway:TestInvokeMethod cloudformation:DetectStackDrift
    cloudformation:DetectStackResourceDrift cloudformation:DetectStackSetDrift cloudformation:TestType
    cognito-idp:GetUserAttributeVerificationCode cognito-idp:VerifySoftwareToken
    cognito-idp:VerifyUserAttribute elasticache:TestFailover elasticache:TestMigration iotwireless:TestWirelessDevice
    lightsail:TestAlarm location:BatchEvaluateGeofences pinpoint-sms-voice-v2:VerifyDestinationNumber
    resiliencehub:ResolveAppVersionResources securityagent:VerifyTargetDomain ses:VerifyDomainDkim
    ses:VerifyDomainIdentity ses:VerifyEmailAddress ses:VerifyEmailIdentity sns:VerifySMSSandboxPhoneNumber
    stepfunctions:TestState storagegateway:RetrieveTapeArchive storagegateway:RetrieveTapeRecoveryPoint
    support:ResolveCase
    """.split()
)
"""Writes in spite of their verb: they send a code, run a backend, begin a job that reports, or settle something."""

_STATEMENTS: Mapping[str, tuple[str, ...]] = {
    "dynamodb:BatchExecuteStatement": ("Statements", "Statement"),
    "dynamodb:ExecuteStatement": ("Statement",),
    "dynamodb:ExecuteTransaction": ("TransactStatements", "Statement"),
    "rds-data:BatchExecuteStatement": ("sql",),
    "rds-data:ExecuteSql": ("sqlStatements",),
    "rds-data:ExecuteStatement": ("sql",),
    "redshift-data:BatchExecuteStatement": ("Sqls",),
    "redshift-data:ExecuteStatement": ("Sql",),
}
"""Operations that do what the text of a statement says, and where the text stands."""

_WRITES_WHEN_GIVEN: Mapping[str, str] = {"transcribe:TranscribeAudio": "OutputConfiguration"}
"""Operations that only compute an answer, unless a parameter names a place for it."""


def verb_of(operation: str) -> str:
    """The verb of an operation's name: `Get` of `BatchGetItem`."""
    first, *others = _words(operation)
    return others[0] if first in _BEFORE_A_VERB and others else first


def is_read(service: str, operation: str, params: Mapping[str, object] | None = None) -> bool | None:
    """Whether an operation leaves nothing behind; None if neither list knows it."""
    name = f"{service}:{operation}"
    place = _STATEMENTS.get(name)
    if place is not None and params is not None:
        return all(map(is_read_statement, _texts(params, place)))
    if params is not None and params.get(_WRITES_WHEN_GIVEN.get(name, "")):
        return False
    return _is_read(name)


@functools.cache
def _is_read(name: str) -> bool | None:
    if name in READ_EXCEPTIONS:
        return True
    verb = verb_of(name.partition(":")[2])
    if name in WRITE_EXCEPTIONS or verb in WRITES:
        return False
    return True if verb in READS else None


def _words(operation: str) -> list[str]:
    return re.findall(r"[A-Z][a-z0-9]*", operation) or [operation]


def _texts(held: object, place: tuple[str, ...]) -> list[str]:
    """The texts at a place in the parameters of a call."""
    if isinstance(held, list | tuple):
        return [text for one in held for text in _texts(one, place)]
    if not place:
        return [held] if isinstance(held, str) else []
    return _texts(held.get(place[0]), place[1:]) if isinstance(held, Mapping) else []
