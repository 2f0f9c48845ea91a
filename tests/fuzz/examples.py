"""Calls that are understood, one for each operation that random parameters hardly ever satisfy.

A case takes one and changes a few places of it, so that what stands behind the first checks is reached too.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping

from redrive.wire.model.shapes import OperationModel
from tests.fuzz.furniture import (
    ACTIVITY,
    ALLOW_ALL,
    DLQ,
    EXECUTION,
    FUNCTION,
    GROUP,
    MACHINE,
    QUEUE,
    ROLE,
    STREAM,
    TEMPLATE,
    TOPIC,
    TRUST,
    WAITS,
    archive,
    known,
    table_record,
)  # fmt: skip
from tests.fuzz.values import Draw, Moment

TABLE_STREAM = str(known()["StreamArn"][0])
_URL = known()["QueueUrl"][0]
_FIFO = known()["QueueUrl"][1]
_KEY = {"id": {"S": "1"}, "at": {"N": "1"}}
_VALUES = {":a": {"S": "1"}, ":b": {"N": "1"}}
_KEY_ID = str(known()["KeyId"][0])
_OF_KEY = {"Version": "2012-10-17", "Statement": [{**ALLOW_ALL["Statement"][0], "Principal": "*"}]}  # type: ignore[dict-item]
_OF_ANYBODY = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Principal": "*"}]}
"""A policy of a repository, which names no resource."""
_EXPIRE = {
    "rulePriority": 1,
    "selection": {"tagStatus": "any", "countType": "imageCountMoreThan", "countNumber": 1},
    "action": {"type": "expire"},
}
_METRIC = {"Namespace": "Shop", "MetricName": "Orders", "Dimensions": [{"Name": "a", "Value": "b"}]}
_SPAN = {"StartTime": Moment(1_735_680_000), "EndTime": Moment(1_735_700_000)}
BUS = "arn:aws:events:us-east-1:000000000000:event-bus/default"
QUEUE_POLICY = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": QUEUE}],
}

EXAMPLES: Mapping[tuple[str, str], Mapping[str, object]] = {
    ("sns", "CreateTopic"): {"Name": "fresh.fifo", "Attributes": {"FifoTopic": "true"}},
    ("sns", "Subscribe"): {
        "TopicArn": TOPIC,
        "Protocol": "sqs",
        "Endpoint": DLQ,
        "Attributes": {"FilterPolicy": '{"a":[{"prefix":"b"}]}', "RawMessageDelivery": "true"},
    },
    ("sns", "Publish"): {
        "TopicArn": TOPIC,
        "Message": "m",
        "Subject": "s",
        "MessageAttributes": {"a": {"DataType": "String", "StringValue": "bc"}},
    },
    ("sns", "PublishBatch"): {
        "TopicArn": TOPIC,
        "PublishBatchRequestEntries": [{"Id": "1", "Message": "m"}, {"Id": "2", "Message": ""}],
    },
    ("sns", "SetTopicAttributes"): {"TopicArn": TOPIC, "AttributeName": "DeliveryPolicy", "AttributeValue": "{}"},
    ("sns", "AddPermission"): {
        "TopicArn": TOPIC,
        "Label": "l",
        "AWSAccountId": ["111111111111"],
        "ActionName": ["Publish"],
    },
    ("sqs", "CreateQueue"): {"QueueName": "fresh", "Attributes": {"VisibilityTimeout": "1", "DelaySeconds": "2"}},
    ("sqs", "SetQueueAttributes"): {"QueueUrl": _URL, "Attributes": {"Policy": json.dumps(QUEUE_POLICY)}},
    ("sqs", "SendMessage"): {
        "QueueUrl": _FIFO,
        "MessageBody": "x",
        "MessageGroupId": "a",
        "MessageDeduplicationId": "9",
        "MessageAttributes": {"n": {"DataType": "Number.int", "StringValue": "1"}},
    },
    ("sqs", "SendMessageBatch"): {
        "QueueUrl": _URL,
        "Entries": [{"Id": "1", "MessageBody": "x", "DelaySeconds": 1}, {"Id": "2", "MessageBody": "y"}],
    },
    ("sqs", "ReceiveMessage"): {
        "QueueUrl": _URL,
        "MaxNumberOfMessages": 10,
        "AttributeNames": ["All"],
        "MessageAttributeNames": ["n.*"],
        "VisibilityTimeout": 5,
        "WaitTimeSeconds": 1,
    },
    ("sqs", "ChangeMessageVisibilityBatch"): {"QueueUrl": _URL, "Entries": [{"Id": "1", "ReceiptHandle": "x"}]},
    ("sqs", "DeleteMessageBatch"): {"QueueUrl": _URL, "Entries": [{"Id": "1", "ReceiptHandle": "x"}]},
    ("sqs", "AddPermission"): {
        "QueueUrl": _URL,
        "Label": "l",
        "AWSAccountIds": ["000000000001"],
        "Actions": ["SendMessage"],
    },
    ("sqs", "StartMessageMoveTask"): {"SourceArn": DLQ, "DestinationArn": QUEUE, "MaxNumberOfMessagesPerSecond": 1},
    ("scheduler", "CreateSchedule"): {
        "Name": "fresh",
        "ScheduleExpression": "rate(1 minute)",
        "ScheduleExpressionTimezone": "Europe/Paris",
        "FlexibleTimeWindow": {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 3},
        "StartDate": 1_735_689_700,
        "Target": {
            "Arn": FUNCTION,
            "RoleArn": ROLE,
            "Input": "{}",
            "DeadLetterConfig": {"Arn": DLQ},
            "RetryPolicy": {"MaximumEventAgeInSeconds": 60, "MaximumRetryAttempts": 1},
        },
    },
    ("scheduler", "UpdateSchedule"): {
        "Name": "nightly",
        "ScheduleExpression": "cron(0/5 * ? * MON-FRI *)",
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "Target": {
            "Arn": "arn:aws:scheduler:::aws-sdk:sqs:sendMessage",
            "RoleArn": ROLE,
            "Input": json.dumps({"QueueUrl": _URL, "MessageBody": "<aws.scheduler.scheduled-time>"}),
        },
    },
    ("lambda", "CreateFunction"): {
        "FunctionName": "fresh",
        "Runtime": "python3.12",
        "Role": ROLE,
        "Handler": "index.handler",
        "Timeout": 3,
        "Code": {"ZipFile": archive()},
        "MemorySize": 128,
        "Environment": {"Variables": {"AB": "b"}},
    },
    ("lambda", "UpdateFunctionConfiguration"): {
        "FunctionName": "echo",
        "Timeout": 5,
        "Environment": {"Variables": {"AB": "c"}},
    },
    ("lambda", "UpdateFunctionCode"): {"FunctionName": "echo", "ZipFile": archive(), "DryRun": False},
    ("lambda", "Invoke"): {
        "FunctionName": "echo",
        "InvocationType": "RequestResponse",
        "Payload": b'{"a":1}',
        "LogType": "Tail",
    },
    ("lambda", "AddPermission"): {
        "FunctionName": "echo",
        "StatementId": "s",
        "Action": "lambda:InvokeFunction",
        "Principal": "events.amazonaws.com",
        "SourceArn": QUEUE,
    },
    ("lambda", "CreateEventSourceMapping"): {
        "EventSourceArn": QUEUE,
        "FunctionName": "echo",
        "BatchSize": 2,
        "MaximumBatchingWindowInSeconds": 1,
        "FunctionResponseTypes": ["ReportBatchItemFailures"],
        "ScalingConfig": {"MaximumConcurrency": 2},
    },
    ("lambda", "PutFunctionEventInvokeConfig"): {
        "FunctionName": "echo",
        "MaximumRetryAttempts": 1,
        "DestinationConfig": {"OnFailure": {"Destination": DLQ}},
    },
    ("kinesis", "PutRecord"): {"StreamName": "clicks", "Data": b"x", "PartitionKey": "k", "ExplicitHashKey": "1"},
    ("kinesis", "PutRecords"): {
        "StreamARN": STREAM,
        "Records": [{"Data": b"x", "PartitionKey": "k"}, {"Data": b"", "PartitionKey": "l", "ExplicitHashKey": "5"}],
    },
    ("kinesis", "GetShardIterator"): {
        "StreamName": "clicks",
        "ShardId": "shardId-000000000000",
        "ShardIteratorType": "AT_TIMESTAMP",
        "Timestamp": Moment(1_735_689_000),
    },
    ("kinesis", "ListShards"): {
        "StreamName": "clicks",
        "ShardFilter": {"Type": "FROM_TIMESTAMP", "Timestamp": Moment(1_735_689_000)},
        "MaxResults": 1,
    },
    ("kinesis", "SplitShard"): {
        "StreamName": "clicks",
        "ShardToSplit": "shardId-000000000001",
        "NewStartingHashKey": str(3 << 126),
    },
    ("kinesis", "MergeShards"): {
        "StreamName": "clicks",
        "ShardToMerge": "shardId-000000000002",
        "AdjacentShardToMerge": "shardId-000000000003",
    },
    ("kinesis", "UpdateShardCount"): {
        "StreamName": "clicks",
        "TargetShardCount": 2,
        "ScalingType": "UNIFORM_SCALING",
    },
    ("kms", "CreateGrant"): {
        "KeyId": _KEY_ID,
        "GranteePrincipal": ROLE,
        "Operations": ["Encrypt", "Decrypt"],
        "Constraints": {"EncryptionContextSubset": {"a": "b"}},
    },
    ("kms", "CreateKey"): {"KeySpec": "ECC_NIST_P256", "KeyUsage": "SIGN_VERIFY", "Description": "d"},
    ("kms", "Encrypt"): {"KeyId": _KEY_ID, "Plaintext": b"x", "EncryptionContext": {"a": "b"}},
    ("kms", "EnableKeyRotation"): {"KeyId": _KEY_ID, "RotationPeriodInDays": 90},
    ("kms", "GenerateDataKey"): {"KeyId": _KEY_ID, "KeySpec": "AES_256"},
    ("kms", "GenerateDataKeyPair"): {"KeyId": _KEY_ID, "KeyPairSpec": "ECC_NIST_P256"},
    ("kms", "PutKeyPolicy"): {"KeyId": _KEY_ID, "PolicyName": "default", "Policy": json.dumps(_OF_KEY)},
    ("kms", "ScheduleKeyDeletion"): {"KeyId": _KEY_ID, "PendingWindowInDays": 7},
    ("stepfunctions", "CreateActivity"): {"name": "fresh", "tags": [{"key": "a", "value": "b"}]},
    ("stepfunctions", "CreateStateMachine"): {"name": "fresh", "definition": WAITS, "roleArn": ROLE, "publish": True},
    ("stepfunctions", "CreateStateMachineAlias"): {
        "name": "fresh",
        "routingConfiguration": [{"stateMachineVersionArn": f"{MACHINE}:1", "weight": 100}],
    },
    ("stepfunctions", "GetActivityTask"): {"activityArn": ACTIVITY, "workerName": "w"},
    ("stepfunctions", "GetExecutionHistory"): {"executionArn": EXECUTION, "maxResults": 2, "reverseOrder": True},
    ("stepfunctions", "ListExecutions"): {"stateMachineArn": MACHINE, "statusFilter": "RUNNING", "maxResults": 1},
    ("stepfunctions", "RedriveExecution"): {"executionArn": f"{EXECUTION[:-1]}failed", "clientToken": "t"},
    ("stepfunctions", "StartExecution"): {"stateMachineArn": MACHINE, "name": "fresh", "input": '{"s":1}'},
    ("stepfunctions", "StopExecution"): {"executionArn": EXECUTION, "error": "E", "cause": "c"},
    ("stepfunctions", "TestState"): {"definition": '{"Type":"Pass","End":true}', "input": "{}"},
    ("stepfunctions", "UpdateStateMachine"): {"stateMachineArn": MACHINE, "definition": WAITS, "publish": True},
    ("ssm", "DescribeParameters"): {
        "ParameterFilters": [{"Key": "Name", "Option": "BeginsWith", "Values": ["/app"]}],
        "MaxResults": 1,
    },
    ("ssm", "GetParametersByPath"): {"Path": "/app", "Recursive": True, "WithDecryption": True, "MaxResults": 1},
    ("ssm", "LabelParameterVersion"): {"Name": "/app/url", "ParameterVersion": 1, "Labels": ["good"]},
    ("ssm", "PutParameter"): {"Name": "/app/key", "Value": "v", "Type": "SecureString", "Overwrite": True},
    ("secretsmanager", "CreateSecret"): {
        "Name": "fresh",
        "SecretString": "s",
        "KmsKeyId": "alias/app",
        "ClientRequestToken": "a" * 32,
    },
    ("secretsmanager", "GetRandomPassword"): {"PasswordLength": 20, "RequireEachIncludedType": True},
    ("secretsmanager", "PutSecretValue"): {
        "SecretId": "db",
        "SecretString": "s",
        "VersionStages": ["AWSCURRENT", "mine"],
        "ClientRequestToken": "b" * 32,
    },
    ("secretsmanager", "RotateSecret"): {
        "SecretId": "db",
        "RotationLambdaARN": FUNCTION,
        "RotationRules": {"AutomaticallyAfterDays": 1},
    },
    ("secretsmanager", "UpdateSecretVersionStage"): {"SecretId": "db", "VersionStage": "mine"},
    ("ecr", "PutImageScanningConfiguration"): {
        "repositoryName": "app",
        "imageScanningConfiguration": {"scanOnPush": True},
    },
    ("ecr", "PutLifecyclePolicy"): {
        "repositoryName": "app",
        "lifecyclePolicyText": json.dumps({"rules": [_EXPIRE]}),
    },
    ("ecr", "SetRepositoryPolicy"): {"repositoryName": "app", "policyText": json.dumps(_OF_ANYBODY)},
    ("dynamodb", "CreateTable"): {
        "TableName": "fresh",
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "g", "KeyType": "RANGE"}],
        "AttributeDefinitions": [
            {"AttributeName": "id", "AttributeType": "S"},
            {"AttributeName": "g", "AttributeType": "N"},
        ],
        "Tags": [{"Key": "a", "Value": "b"}],
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    },
    ("dynamodb", "PutItem"): {
        "TableName": "orders",
        "Item": {**_KEY, "n": {"NS": ["1", "2"]}, "l": {"L": [{"NULL": True}]}},
        "ConditionExpression": "attribute_not_exists(z)",
        "ReturnValues": "ALL_OLD",
    },
    ("dynamodb", "GetItem"): {
        "TableName": "orders",
        "Key": _KEY,
        "ProjectionExpression": "id, c.d[0]",
        "ConsistentRead": True,
    },
    ("dynamodb", "UpdateItem"): {
        "TableName": "orders",
        "Key": _KEY,
        "ReturnValues": "UPDATED_NEW",
        "UpdateExpression": "SET n = if_not_exists(n, :b) + :b, #c = :a REMOVE z",
        "ConditionExpression": "size(c) > :b OR id = :a",
        "ExpressionAttributeNames": {"#c": "extra"},
        "ExpressionAttributeValues": _VALUES,
    },
    ("dynamodb", "DeleteItem"): {"TableName": "orders", "Key": _KEY, "ReturnValues": "ALL_OLD"},
    ("dynamodb", "Query"): {
        "TableName": "orders",
        "KeyConditionExpression": "id = :a AND #at >= :b",
        "Limit": 2,
        "FilterExpression": "attribute_exists(c.d) AND NOT contains(z, :c)",
        "ScanIndexForward": False,
        "ExpressionAttributeNames": {"#at": "at"},
        "ExpressionAttributeValues": {**_VALUES, ":c": {"S": "zz"}},
    },
    ("dynamodb", "Scan"): {
        "TableName": "orders",
        "FilterExpression": "id BETWEEN :a AND :a AND n IN (:b, :b)",
        "ExpressionAttributeValues": _VALUES,
        "Segment": 0,
        "TotalSegments": 2,
    },
    ("dynamodb", "BatchWriteItem"): {"RequestItems": {"orders": [{"PutRequest": {"Item": _KEY}}]}},
    ("dynamodb", "ExecuteStatement"): {
        "Statement": 'SELECT c.d[0] FROM orders WHERE id IN [?] AND "at" >= 1 AND NOT n IS MISSING ORDER BY "at"',
        "Parameters": [{"S": "2"}],
        "Limit": 2,
    },
    ("dynamodb", "BatchExecuteStatement"): {
        "Statements": [
            {
                "Statement": "UPDATE orders SET c = [{'a': <<?>>}] WHERE id = '1' AND \"at\" = 1 RETURNING ALL NEW *",
                "Parameters": [{"N": "1"}],
            },
            {"Statement": "INSERT INTO orders VALUE {'id': 'new', 'at': -1.5e2}"},
        ],
    },
    ("dynamodb", "ExecuteTransaction"): {
        "TransactStatements": [
            {"Statement": "EXISTS(SELECT * FROM orders WHERE id = '1' AND \"at\" = 1 AND size(id) BETWEEN 1 AND 2)"},
            {"Statement": "DELETE FROM orders WHERE id = '2' AND \"at\" = 1 AND begins_with(id, 'x')"},
        ],
    },
    ("dynamodb", "CreateBackup"): {"TableName": "orders", "BackupName": "nightly"},
    ("dynamodb", "UpdateContinuousBackups"): {
        "TableName": "orders",
        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 3},
    },
    ("dynamodb", "PutResourcePolicy"): {
        "ResourceArn": "arn:aws:dynamodb:us-east-1:000000000000:table/orders",
        "Policy": json.dumps(
            {
                "Version": "2012-10-17",
                "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "dynamodb:GetItem", "Resource": "*"}],
            }
        ),
    },
    ("dynamodb", "TransactWriteItems"): {
        "ClientRequestToken": "t",
        "TransactItems": [
            {"Put": {"TableName": "orders", "Item": _KEY}},
            {
                "Update": {
                    "TableName": "plain",
                    "Key": {"id": {"S": "1"}},
                    "UpdateExpression": "ADD n :b",
                    "ExpressionAttributeValues": {":b": {"N": "1"}},
                }
            },
        ],
    },
    ("dynamodb", "UpdateTable"): {
        "TableName": "plain",
        "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
    },
    ("dynamodb", "UpdateTimeToLive"): {
        "TableName": "orders",
        "TimeToLiveSpecification": {"Enabled": True, "AttributeName": "at"},
    },
    ("dynamodbstreams", "DescribeStream"): {"StreamArn": TABLE_STREAM, "Limit": 3},
    ("dynamodbstreams", "GetShardIterator"): {
        "StreamArn": TABLE_STREAM,
        "ShardId": table_record().shard_id,
        "ShardIteratorType": "AT_SEQUENCE_NUMBER",
        "SequenceNumber": table_record().sequence_number,
    },
    ("dynamodbstreams", "GetRecords"): {
        "ShardIterator": table_record().iterator,
        "Limit": 5,
    },
    ("events", "CreateEventBus"): {
        "Name": "orders",
        "LogConfig": {"Level": "INFO", "IncludeDetail": "FULL"},
        "Tags": [{"Key": "a", "Value": "b"}],
    },
    ("events", "PutEvents"): {
        "Entries": [
            {"Source": "shop", "DetailType": "Order", "Detail": '{"a":1}', "Resources": ["r"]},
            {"Source": "shop", "DetailType": "Order", "Detail": "{}", "EventBusName": BUS},
        ]
    },
    ("events", "PutRule"): {
        "Name": "r",
        "EventPattern": '{"source":["shop"]}',
        "ScheduleExpression": "rate(5 minutes)",
        "Tags": [{"Key": "a", "Value": "b"}],
    },
    ("events", "PutTargets"): {
        "Rule": "r",
        "Targets": [
            {
                "Id": "1",
                "Arn": QUEUE,
                "InputTransformer": {"InputPathsMap": {"a": "$.detail.a[0]"}, "InputTemplate": '{"a": <a>}'},
                "RetryPolicy": {"MaximumRetryAttempts": 1, "MaximumEventAgeInSeconds": 60},
                "DeadLetterConfig": {"Arn": DLQ},
            },
            {"Id": "2", "Arn": FUNCTION, "InputPath": "$.detail"},
        ],
    },
    ("events", "PutPermission"): {
        "Action": "events:PutEvents",
        "Principal": "111111111111",
        "StatementId": "s",
        "Condition": {"Type": "StringEquals", "Key": "aws:PrincipalOrgID", "Value": "o-1"},
    },
    ("events", "TestEventPattern"): {"EventPattern": '{"source":["shop"]}', "Event": '{"source":"shop"}'},
    ("events", "TagResource"): {"ResourceARN": BUS, "Tags": [{"Key": "a", "Value": "b"}]},
    ("events", "CreateArchive"): {
        "ArchiveName": "all",
        "EventSourceArn": BUS,
        "EventPattern": '{"source":["shop"]}',
        "RetentionDays": 1,
    },
    ("events", "UpdateArchive"): {"ArchiveName": "kept", "EventPattern": '{"source":["shop"]}', "RetentionDays": 2},
    ("events", "StartReplay"): {
        "ReplayName": "again",
        "EventSourceArn": BUS.replace("event-bus/default", "archive/kept"),
        "EventStartTime": Moment(1_735_680_000),
        "EventEndTime": Moment(1_735_700_000),
        "Destination": {"Arn": BUS},
    },
    ("events", "CreateConnection"): {
        "Name": "c",
        "AuthorizationType": "API_KEY",
        "AuthParameters": {"ApiKeyAuthParameters": {"ApiKeyName": "x-key", "ApiKeyValue": "value"}},
    },
    ("events", "UpdateConnection"): {
        "Name": "known",
        "AuthParameters": {"InvocationHttpParameters": {"HeaderParameters": [{"Key": "a", "Value": "b"}]}},
    },
    ("iam", "CreateRole"): {"RoleName": "fresh", "AssumeRolePolicyDocument": json.dumps(TRUST), "Path": "/a/"},
    ("iam", "CreatePolicyVersion"): {
        "PolicyArn": "arn:aws:iam::000000000000:policy/all",
        "SetAsDefault": True,
        "PolicyDocument": json.dumps(ALLOW_ALL),
    },
    ("iam", "SimulatePrincipalPolicy"): {
        "PolicySourceArn": ROLE,
        "ActionNames": ["sqs:SendMessage"],
        "ResourceArns": [QUEUE],
        "ContextEntries": [{"ContextKeyName": "aws:a", "ContextKeyValues": ["1"], "ContextKeyType": "numeric"}],
    },
    ("sts", "AssumeRole"): {"RoleArn": ROLE, "RoleSessionName": "session", "DurationSeconds": 900},
    ("cloudformation", "CreateStack"): {
        "StackName": "fresh",
        "TemplateBody": TEMPLATE,
        "OnFailure": "DELETE",
        "Parameters": [{"ParameterKey": "Name", "ParameterValue": "fresh"}],
    },
    ("cloudformation", "UpdateStack"): {
        "StackName": "shop",
        "UsePreviousTemplate": True,
        "Parameters": [{"ParameterKey": "Name", "ParameterValue": "again"}],
    },
    ("cloudformation", "CreateChangeSet"): {
        "StackName": "shop",
        "ChangeSetName": "change",
        "ChangeSetType": "UPDATE",
        "TemplateBody": TEMPLATE.replace("made", "changed"),
    },
    ("cloudformation", "ValidateTemplate"): {"TemplateBody": TEMPLATE},
    ("logs", "PutLogEvents"): {
        "logGroupName": GROUP,
        "logStreamName": "one",
        "logEvents": [{"timestamp": 1_735_689_600_000, "message": '{"a":{"b":[1]}}'}],
    },
    ("logs", "FilterLogEvents"): {"logGroupName": GROUP, "filterPattern": "{ $.a = 1 }", "startTime": 0, "limit": 5},
    ("logs", "StartQuery"): {
        "logGroupName": GROUP,
        "startTime": 0,
        "endTime": 2_000_000_000,
        "queryString": "filter a = 1 or @message like /x+/ | parse @message '* *' as b, c | stats count(*) by bin(5m)",
    },
    ("logs", "PutMetricFilter"): {
        "logGroupName": GROUP,
        "filterName": "errors",
        "filterPattern": "{ $.a = 1 }",
        "metricTransformations": [{"metricName": "M", "metricNamespace": "N", "metricValue": "$.a"}],
    },
    ("logs", "TestMetricFilter"): {"filterPattern": "[ip, ..., status=4*]", "logEventMessages": ["1.1.1.1 [x] 404"]},
    ("logs", "PutIndexPolicy"): {"logGroupIdentifier": GROUP, "policyDocument": '{"Fields": ["a"]}'},
    ("logs", "GetLogEvents"): {"logGroupName": GROUP, "logStreamName": "one", "startFromHead": True},
    ("logs", "PutDeliverySource"): {
        "name": "source",
        "resourceArn": "arn:aws:events:us-east-1:000000000000:event-bus/default",
        "logType": "INFO_LOGS",
    },
    ("logs", "PutDeliveryDestination"): {
        "name": "destination",
        "deliveryDestinationConfiguration": {
            "destinationResourceArn": f"arn:aws:logs:us-east-1:000000000000:log-group:{GROUP}"
        },
    },
    ("logs", "TagResource"): {
        "resourceArn": f"arn:aws:logs:us-east-1:000000000000:log-group:{GROUP}",
        "tags": {"a": "b"},
    },
    ("cloudwatch", "PutMetricData"): {
        "Namespace": "Shop",
        "MetricData": [
            {"MetricName": "Orders", "Value": 1.5, "Unit": "Count", "Timestamp": Moment(1_735_689_600)},
            {"MetricName": "Orders", "Values": [1, 2], "Counts": [3, 4], "StorageResolution": 1},
        ],
    },
    ("cloudwatch", "PutMetricAlarm"): {
        **_METRIC,
        "AlarmName": "fresh",
        "Statistic": "Sum",
        "Period": 60,
        "EvaluationPeriods": 3,
        "DatapointsToAlarm": 2,
        "Threshold": 1.5,
        "ComparisonOperator": "GreaterThanThreshold",
        "TreatMissingData": "breaching",
        "AlarmActions": [TOPIC],
    },
    ("cloudwatch", "PutCompositeAlarm"): {
        "AlarmName": "over",
        "AlarmRule": 'ALARM("spare") AND NOT (OK(spare) OR FALSE)',
        "ActionsSuppressor": "spare",
        "ActionsSuppressorWaitPeriod": 60,
        "ActionsSuppressorExtensionPeriod": 60,
    },
    ("cloudwatch", "PutAlarmMuteRule"): {
        "Name": "nights",
        "Rule": {"Schedule": {"Expression": "cron(0 2 * * *)", "Duration": "PT4H", "Timezone": "UTC"}},
        "MuteTargets": {"AlarmNames": ["spare"]},
    },
    ("cloudwatch", "SetAlarmState"): {"AlarmName": "spare", "StateValue": "ALARM", "StateReason": "so"},
    ("cloudwatch", "DescribeAlarmHistory"): {"AlarmName": "spare", "ScanBy": "TimestampAscending"},
    ("cloudwatch", "DeleteAlarms"): {"AlarmNames": ["fresh", "over"]},
    ("cloudwatch", "PutDashboard"): {
        "DashboardName": "board",
        "DashboardBody": '{"widgets":[{"type":"text","x":0,"y":0,"width":6,"height":3,"properties":{"markdown":"a"}}]}',
    },
    ("cloudwatch", "GetMetricStatistics"): {**_METRIC, **_SPAN, "Period": 60, "Statistics": ["Sum", "Average"]},
    ("cloudwatch", "GetMetricData"): {
        **_SPAN,
        "MetricDataQueries": [
            {"Id": "m1", "MetricStat": {"Metric": _METRIC, "Period": 60, "Stat": "p99"}, "ReturnData": False},
            {"Id": "e1", "Expression": "FILL(m1, 0) * RATE(m1) + SUM(METRICS())", "Label": "${LAST} of ${MAX}"},
        ],
    },
}
"""(service, operation) -> parameters that succeed in a furnished world."""


def example_of(operation: OperationModel, draw: Draw) -> dict[str, object] | None:
    """The example of an operation with some places changed; None if it has none."""
    found = EXAMPLES.get((operation.service, operation.name))
    if found is None:
        return None
    params = dict(copy.deepcopy(found))
    for _ in range(draw.one_of(0, 1, 1, 2, 4)):
        params = change_somewhere(params, draw)
    return params


def change_somewhere(document: dict[str, object], draw: Draw) -> dict[str, object]:
    """The document with one place of it removed, doubled, moved or replaced."""
    places = [document, *_containers(document)]
    place = draw.choice(places)
    if isinstance(place, list):
        _change_list(place, draw)
    elif place:
        key = draw.choice([*place])
        match draw.randrange(5):
            case 0:
                del place[key]
            case 1:
                place[key] = draw.anything()
            case 2:
                place[key] = _near(place[key], draw)
            case 3:
                place[draw.text()] = place.pop(key)
            case _:
                place[key] = draw.choice(places) if draw.chance(0.2) and key not in document else draw.text()
    return _without_circles(document)


def _near(value: object, draw: Draw) -> object:
    """A value of the same type, a little different."""
    match value:
        case str():
            return draw.changed(value.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogateescape")
        case bytes():
            return draw.changed(value)
        case bool():
            return not value
        case int() | float():
            return draw.one_of(-value, value + 1, value * 1_000, draw.number())
        case _:
            return draw.anything()


def _change_list(items: list[object], draw: Draw) -> None:
    match draw.randrange(4):
        case 0:
            items.clear()
        case 1 if items:
            items.append(copy.deepcopy(draw.choice(items)))
        case 2 if items:
            items.extend([copy.deepcopy(items[0])] * draw.one_of(9, 25, 100))
        case _:
            items.insert(draw.randrange(len(items) + 1), draw.anything())


def _containers(value: object) -> list[dict[str, object] | list[object]]:
    inner = [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    found: list[dict[str, object] | list[object]] = []
    for item in inner:
        if isinstance(item, dict | list):
            found += [item, *_containers(item)]
    return found


def _without_circles(document: dict[str, object]) -> dict[str, object]:
    """A document as a tree: a container inside itself, which no protocol can say, becomes nothing."""

    def walk(item: object, above: frozenset[int]) -> object:
        if not isinstance(item, dict | list):
            return item
        if id(item) in above:
            return None
        inside = above | {id(item)}
        if isinstance(item, dict):
            return {key: walk(each, inside) for key, each in item.items()}
        return [walk(each, inside) for each in item]

    return {key: walk(item, frozenset({id(document)})) for key, item in document.items()}
