// ElectroDB: two entities in one table, a query of an index, a conditional create and a patch.
import { CreateTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Entity, Service } from "electrodb";

const client = new DynamoDBClient({});
const table = "electrodb-shop";
const keys = (index, pk, sk) => ({ IndexName: index, KeySchema: schema(pk, sk), Projection: { ProjectionType: "ALL" } });
const schema = (pk, sk) => [{ AttributeName: pk, KeyType: "HASH" }, { AttributeName: sk, KeyType: "RANGE" }];

await client.send(new CreateTableCommand({
  TableName: table, BillingMode: "PAY_PER_REQUEST", KeySchema: schema("pk", "sk"),
  AttributeDefinitions: ["pk", "sk", "gsi1pk", "gsi1sk"].map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
  GlobalSecondaryIndexes: [keys("gsi1", "gsi1pk", "gsi1sk")],
}));

const customers = new Entity({
  model: { entity: "customer", version: "1", service: "shop" },
  attributes: { customer: { type: "string", required: true }, city: { type: "string" } },
  indexes: {
    primary: { pk: { field: "pk", composite: ["customer"] }, sk: { field: "sk", composite: [] } },
  },
}, { client, table });
const orders = new Entity({
  model: { entity: "order", version: "1", service: "shop" },
  attributes: {
    customer: { type: "string", required: true }, order: { type: "string", required: true },
    state: { type: ["open", "paid"], required: true }, price: { type: "number" },
  },
  indexes: {
    primary: { pk: { field: "pk", composite: ["customer"] }, sk: { field: "sk", composite: ["order"] } },
    byState: {
      index: "gsi1",
      pk: { field: "gsi1pk", composite: ["state"] }, sk: { field: "gsi1sk", composite: ["order"] },
    },
  },
}, { client, table });
const shop = new Service({ customers, orders });

await customers.create({ customer: "ann", city: "Oslo" }).go();
for (let number = 1; number <= 5; number++) {
  await orders.create({ customer: "ann", order: `o${number}`, state: number % 2 ? "open" : "paid", price: number }).go();
}
const again = await orders.create({ customer: "ann", order: "o1", state: "open" }).go().catch((error) => error.cause.name);
await orders.patch({ customer: "ann", order: "o1" }).set({ state: "paid" }).where(({ state }, { eq }) => eq(state, "open")).go();
const paid = await orders.query.byState({ state: "paid" }).go({ pages: "all", limit: 1 });
const written = await shop.transaction.write(({ orders }) => [
  orders.put({ customer: "bob", order: "o9", state: "open" }).commit(),
  orders.remove({ customer: "ann", order: "o2" }).where(({ state }, { eq }) => eq(state, "open")).commit(),
]).go();
const open = await orders.query.byState({ state: "open" }).where(({ price }, { gt }) => gt(price, 3)).go();

console.log("order o1 again:", again);
console.log("paid:", ...paid.data.map((one) => one.order));
console.log("transaction canceled:", written.canceled);
console.log("open and dear:", ...open.data.map((one) => one.order));
