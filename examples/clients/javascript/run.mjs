// The AWS SDK for JavaScript v3: a schedule fires into a queue, its message is written to a table, once.
//
//     npm install
//     AWS_ENDPOINT_URL=http://127.0.0.1:4566 node run.mjs

import {
  ConditionalCheckFailedException,
  CreateTableCommand,
  DynamoDBClient,
  PutItemCommand,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { CreateRoleCommand, IAMClient, PutRolePolicyCommand } from "@aws-sdk/client-iam";
import { CreateScheduleCommand, SchedulerClient } from "@aws-sdk/client-scheduler";
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";

const policy = (statement) =>
  JSON.stringify({ Version: "2012-10-17", Statement: [{ Effect: "Allow", ...statement }] });

const sqs = new SQSClient({});
const dynamodb = new DynamoDBClient({});
const iam = new IAMClient({});
const scheduler = new SchedulerClient({});

const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: "javascript-orders" }));
const { Attributes } = await sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["QueueArn"] }));
await dynamodb.send(
  new CreateTableCommand({
    TableName: "javascript-orders",
    KeySchema: [{ AttributeName: "order", KeyType: "HASH" }],
    AttributeDefinitions: [{ AttributeName: "order", AttributeType: "S" }],
    BillingMode: "PAY_PER_REQUEST",
  }),
);
await waitUntilTableExists({ client: dynamodb, maxWaitTime: 30 }, { TableName: "javascript-orders" });

const { Role } = await iam.send(
  new CreateRoleCommand({
    RoleName: "javascript-schedules",
    AssumeRolePolicyDocument: policy({ Principal: { Service: "scheduler.amazonaws.com" }, Action: "sts:AssumeRole" }),
  }),
);
await iam.send(
  new PutRolePolicyCommand({
    RoleName: "javascript-schedules",
    PolicyName: "send",
    PolicyDocument: policy({ Action: "sqs:SendMessage", Resource: Attributes.QueueArn }),
  }),
);

// One message from a schedule that is due now, and two of one order.
await scheduler.send(
  new CreateScheduleCommand({
    Name: "javascript-order",
    ScheduleExpression: `at(${new Date().toISOString().slice(0, 19)})`,
    FlexibleTimeWindow: { Mode: "OFF" },
    Target: {
      Arn: Attributes.QueueArn,
      RoleArn: Role.Arn,
      Input: "scheduled",
    },
  }),
);
await sqs.send(
  new SendMessageBatchCommand({
    QueueUrl,
    Entries: [
      { Id: "1", MessageBody: "order-1" },
      { Id: "2", MessageBody: "order-1" },
    ],
  }),
);

const written = [];
let repeated = 0;
while (written.length + repeated < 3) {
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 5 }),
  );
  for (const { Body, ReceiptHandle } of Messages) {
    try {
      await dynamodb.send(
        new PutItemCommand({
          TableName: "javascript-orders",
          Item: { order: { S: Body } },
          ConditionExpression: "attribute_not_exists(#order)",
          ExpressionAttributeNames: { "#order": "order" },
        }),
      );
      written.push(Body);
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
      repeated += 1;
    }
    await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
  }
}
console.log(`${written.sort().join(", ")} written, ${repeated} was there before`);
