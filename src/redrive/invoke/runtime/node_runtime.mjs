// A Lambda runtime for Node.js: takes events from the Runtime API and answers them. Needs nothing but Node itself.
//
//     node node_runtime.mjs TASK_ROOT HANDLER [VIRTUAL_NOW_MS TIMEOUT_MS]
//
// Handlers are CommonJS or ES modules, async or with a callback. With VIRTUAL_NOW_MS the function's `Date` is virtual.
//
// Source: https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
//         https://docs.aws.amazon.com/lambda/latest/dg/nodejs-handler.html
//         https://docs.aws.amazon.com/lambda/latest/dg/config-rs-write-functions.html

import { AsyncLocalStorage } from "node:async_hooks";
import { existsSync, readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import { createRequire, syncBuiltinESMExports } from "node:module";
import path from "node:path";
import { Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import { format } from "node:util";

const [taskRoot, handlerName, virtualNow, virtualTimeout] = process.argv.slice(2);
process.argv.splice(1, process.argv.length - 1, path.join(taskRoot, "index"));
const [host, port] = process.env.AWS_LAMBDA_RUNTIME_API.split(":");
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
const API = "/2018-06-01/runtime";
const LEVELS = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"];
const isJson = process.env.AWS_LAMBDA_LOG_FORMAT === "JSON";
const leastLevel = LEVELS.indexOf(process.env.AWS_LAMBDA_LOG_LEVEL || (isJson ? "INFO" : "TRACE"));
const current = new AsyncLocalStorage();
const RealDate = Date;
let moveTimeTo = () => {};
let runningId = "";
let openStream;

class RuntimeFault extends Error {
  constructor(name, message, stack) {
    super(message);
    this.name = name;
    if (stack) this.stack = stack;
  }
}

// ---- Time ----

function enterVirtualTime(nowMs) {
  let offset = nowMs - RealDate.now();
  moveTimeTo = (instant) => (offset = instant - RealDate.now());
  const now = () => RealDate.now() + offset;
  globalThis.Date = class Date extends RealDate {
    constructor(...parts) {
      super(...(parts.length ? parts : [now()]));
    }
    static now() {
      return now();
    }
  };
}

// ---- Answers to stacks ----

// Providers of custom resources answer by `https.request` to the host of ResponseURL, on port 443: AWS's URLs need no
// more. Here the URL is the server's own, by HTTP.
function answerStacksHere(endpointUrl) {
  const endpoint = new URL(endpointUrl);
  const original = https.request;
  https.request = (...given) => {
    const url = typeof given[0] === "string" || given[0] instanceof URL ? new URL(given.shift()) : undefined;
    const options = typeof given[0] === "object" ? given.shift() : {};
    const host = options.hostname ?? options.host ?? url?.hostname;
    const place = options.path ?? (url && url.pathname + url.search) ?? "";
    if (host !== endpoint.hostname || !place.startsWith("/_redrive/answers/"))
      return url ? original(url, options, ...given) : original(options, ...given);
    const { agent: _, ...others } = options;
    const there = { host: endpoint.hostname, hostname: endpoint.hostname, port: endpoint.port, path: place };
    return http.request({ ...others, ...there, protocol: "http:" }, ...given);
  };
  syncBuiltinESMExports();
}

// ---- Logs ----

function writeLine(level, parts, error) {
  if (LEVELS.indexOf(level) < leastLevel) return;
  const requestId = current.getStore()?.requestId;
  const at = new Date().toISOString();
  if (!isJson) {
    const text = format(...parts).replaceAll("\n", "\r");
    process.stdout.write(`${at}\t${requestId ?? "undefined"}\t${level}\t${text}\n`);
    return;
  }
  const line = { timestamp: at, level, ...(requestId && { requestId }) };
  const [only] = parts;
  const failed = error ?? parts.find((part) => part instanceof Error);
  if (failed) {
    const { errorType, errorMessage, trace } = errorDocument(failed);
    Object.assign(line, { errorType, errorMessage, stackTrace: trace });
  }
  line.message = parts.length === 1 && typeof only === "object" && !(only instanceof Error) ? only : format(...parts);
  process.stdout.write(`${stringify(line)}\n`);
}

function stringify(value) {
  try {
    return JSON.stringify(value);
  } catch {
    return JSON.stringify({ ...value, message: format(value.message) });
  }
}

function patchConsole() {
  const levels = { log: "INFO", info: "INFO", trace: "TRACE", debug: "DEBUG", warn: "WARN", error: "ERROR" };
  for (const [name, level] of Object.entries(levels)) {
    console[name] = (...parts) => writeLine(level, parts);
  }
}

// ---- Errors ----

function errorDocument(error) {
  if (error instanceof Error || (error && typeof error === "object" && "message" in error && "stack" in error)) {
    return {
      errorType: String(error.name || "Error"),
      errorMessage: String(error.message),
      trace: String(error.stack ?? "").split("\n"),
    };
  }
  return { errorType: typeof error, errorMessage: typeof error === "string" ? error : String(error), trace: [] };
}

function logError(label, error) {
  const document = errorDocument(error);
  const details = error instanceof Error ? Object.fromEntries(Object.entries(error)) : {};
  const line = { errorType: document.errorType, errorMessage: document.errorMessage, ...details, stack: document.trace };
  writeLine("ERROR", [`${label}\t${stringify(line)}`], isJson ? error : undefined);
}

// ---- The Runtime API ----

function call(method, route, body, headers = {}) {
  return new Promise((resolve, reject) => {
    const content = body === undefined ? undefined : Buffer.from(body);
    const sent = content ? { ...headers, "Content-Length": content.length } : headers;
    const request = http.request({ host, port, agent, method, path: API + route, headers: sent }, (response) => {
      const pieces = [];
      response.on("data", (piece) => pieces.push(piece));
      response.on("end", () => resolve({ response, body: Buffer.concat(pieces) }));
      response.on("error", reject);
    });
    request.on("error", reject);
    request.end(content);
  });
}

async function report(route, error) {
  const document = errorDocument(error);
  const headers = { "Content-Type": "application/json", "Lambda-Runtime-Function-Error-Type": document.errorType };
  await call("POST", route, JSON.stringify(document), headers);
}

// ---- Answers in pieces ----

const STREAMED = Symbol("redrive.streamed");
const HTTP_TYPE = "application/vnd.awslambda.http-integration-response";

// Opens its request with the first piece, so that a handler may set the type and the prelude before.
class ResponseStream extends Writable {
  #route;
  #type = "application/octet-stream";
  #prelude;
  #request;
  #ended;
  #waiting;

  constructor(route) {
    super({ highWaterMark: 64 * 1024 });
    this.#route = route;
  }

  get isOpen() {
    return this.#request !== undefined;
  }

  setContentType(type) {
    this.#type = type;
  }

  setPrelude(metadata) {
    this.#type = HTTP_TYPE;
    this.#prelude = Buffer.concat([Buffer.from(JSON.stringify(metadata)), Buffer.alloc(8)]);
  }

  #open() {
    if (this.#request) return;
    const headers = {
      "Content-Type": this.#type,
      "Lambda-Runtime-Function-Response-Mode": "streaming",
      Trailer: "Lambda-Runtime-Function-Error-Type, Lambda-Runtime-Function-Error-Body",
      "Transfer-Encoding": "chunked",
    };
    this.#request = http.request({ host, port, agent, method: "POST", path: API + this.#route, headers });
    this.#ended = new Promise((resolve) => {
      this.#request.on("response", (response) => response.resume().on("end", resolve).on("error", resolve));
      this.#request.on("error", (error) => {
        this.destroy(error);
        resolve();
      });
    });
    this.#request.on("drain", () => this.#goOn());
    this.#request.on("close", () => this.#goOn());
    this.#request.flushHeaders();
    if (this.#prelude) this.#request.write(this.#prelude);
  }

  #goOn() {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.();
  }

  _write(piece, encoding, callback) {
    this.#open();
    const data = typeof piece === "string" ? Buffer.from(piece, encoding) : piece;
    if (!data.length || this.#request.write(data)) callback();
    else this.#waiting = callback;
  }

  _final(callback) {
    this.#open();
    this.#request.end();
    this.#ended.then(() => callback());
  }

  // The pieces that were written before stay valid; the error follows them in trailers.
  fail(error) {
    const document = errorDocument(error);
    this.#request.addTrailers({
      "Lambda-Runtime-Function-Error-Type": document.errorType.replace(/[^\x21-\x7e]/g, "?"),
      "Lambda-Runtime-Function-Error-Body": Buffer.from(JSON.stringify(document)).toString("base64"),
    });
    this.#request.end();
    return this.#ended;
  }
}

globalThis.awslambda = {
  streamifyResponse(handler, options) {
    handler[STREAMED] = options ?? {};
    return handler;
  },
  HttpResponseStream: class HttpResponseStream {
    static from(stream, metadata) {
      stream.setPrelude(metadata);
      return stream;
    }
  },
};

async function answerInPieces(handler, event, context, route) {
  const stream = (openStream = new ResponseStream(route));
  const over = new Promise((resolve, reject) => stream.on("close", resolve).on("error", reject));
  try {
    await Promise.race([handler(event, stream, context), over.then(() => new Promise(() => {}))]);
    const isPipedInto = stream.listenerCount("unpipe") > 0;
    if (!stream.writableEnded && !isPipedInto) stream.end();
    await over;
  } catch (error) {
    over.catch(() => {});
    if (!stream.isOpen) throw error;
    logError("Invoke Error", error);
    await stream.fail(error);
  } finally {
    openStream = undefined;
  }
}

// ---- The handler ----

function splitHandler(name) {
  const folder = path.dirname(name);
  const match = /^([^.]*)\.(.*)$/.exec(path.basename(name));
  if (!match || name.includes("..")) throw new RuntimeFault("Runtime.MalformedHandlerName", "Bad handler");
  return { module: path.resolve(taskRoot, folder, match[1]), member: match[2] };
}

function isModuleFolder(file) {
  for (let folder = path.dirname(file); folder.startsWith(taskRoot); folder = path.dirname(folder)) {
    const description = path.join(folder, "package.json");
    if (existsSync(description)) return JSON.parse(readFileSync(description, "utf8")).type === "module";
    if (path.basename(folder) === "node_modules") return false;
  }
  return false;
}

async function loadModule(module) {
  const require = createRequire(path.join(taskRoot, "index.js"));
  const file = [module, `${module}.js`, `${module}.mjs`, `${module}.cjs`].find((one) => existsSync(one));
  if (file && (file.endsWith(".mjs") || (!file.endsWith(".cjs") && isModuleFolder(file)))) {
    return import(pathToFileURL(file).href);
  }
  return require(file ?? module);
}

async function loadHandler(name) {
  const { module, member } = splitHandler(name);
  let loaded;
  try {
    loaded = await loadModule(module);
  } catch (error) {
    if (error instanceof SyntaxError) throw new RuntimeFault("Runtime.UserCodeSyntaxError", String(error), error.stack);
    if (error?.code === "MODULE_NOT_FOUND" || error?.code === "ERR_MODULE_NOT_FOUND") {
      throw new RuntimeFault("Runtime.ImportModuleError", String(error), error.stack);
    }
    throw error;
  }
  const find = (root) => member.split(".").reduce((nested, key) => nested?.[key], root);
  const handler = find(loaded) ?? find(loaded.default);
  if (!handler) throw new RuntimeFault("Runtime.HandlerNotFound", `${name} is undefined or not exported`);
  if (typeof handler !== "function") throw new RuntimeFault("Runtime.HandlerNotFound", `${name} is not a function`);
  return handler;
}

function contextOf(headers, timing) {
  const environment = process.env;
  const clientContext = headers["lambda-runtime-client-context"];
  const identity = headers["lambda-runtime-cognito-identity"];
  return {
    get callbackWaitsForEmptyEventLoop() {
      return timing.waits;
    },
    set callbackWaitsForEmptyEventLoop(waits) {
      timing.waits = waits;
    },
    functionVersion: environment.AWS_LAMBDA_FUNCTION_VERSION,
    functionName: environment.AWS_LAMBDA_FUNCTION_NAME,
    memoryLimitInMB: environment.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
    logGroupName: environment.AWS_LAMBDA_LOG_GROUP_NAME,
    logStreamName: environment.AWS_LAMBDA_LOG_STREAM_NAME,
    clientContext: clientContext ? JSON.parse(clientContext) : undefined,
    identity: identity ? JSON.parse(identity) : undefined,
    invokedFunctionArn: headers["lambda-runtime-invoked-function-arn"],
    awsRequestId: headers["lambda-runtime-aws-request-id"],
    getRemainingTimeInMillis: () => Math.max(0, timing.deadline - Date.now()),
  };
}

// The answer is the promise's value, or the callback's argument; a callback waits for the event loop to be empty.
function run(handler, event, context, timing) {
  return new Promise((resolve, reject) => {
    const finish = (settle, value) => {
      if (timing.waits) process.once("beforeExit", () => settle(value));
      else settle(value);
    };
    let isCalled = false;
    const callback = (error, result) => {
      isCalled = true;
      finish(error ? reject : resolve, error || result);
    };
    context.succeed = (result) => resolve(result);
    context.fail = (error) => reject(error);
    context.done = (error, result) => (error ? reject(error) : resolve(result));
    const given = handler(event, context, callback);
    if (given && typeof given.then === "function") given.then(resolve, reject);
    else process.once("beforeExit", () => isCalled || resolve(null));
  });
}

async function serve(handler) {
  for (;;) {
    const { response, body } = await call("GET", "/invocation/next");
    const headers = response.headers;
    const requestId = headers["lambda-runtime-aws-request-id"];
    const timing = { waits: true, deadline: Number(headers["lambda-runtime-deadline-ms"]) };
    if (virtualTimeout) moveTimeTo(timing.deadline - Number(virtualTimeout));
    process.env._X_AMZN_TRACE_ID = headers["lambda-runtime-trace-id"] ?? "";
    runningId = requestId;
    await current.run({ requestId }, async () => {
      let answer;
      try {
        const event = JSON.parse(body.toString());
        const context = contextOf(headers, timing);
        if (handler[STREAMED]) {
          await answerInPieces(handler, event, context, `/invocation/${requestId}/response`);
          return;
        }
        const result = await run(handler, event, context, timing);
        answer = JSON.stringify(result === undefined ? null : result) ?? "null";
      } catch (error) {
        logError("Invoke Error", error);
        await report(`/invocation/${requestId}/error`, error);
        return;
      }
      await call("POST", `/invocation/${requestId}/response`, answer, { "Content-Type": "application/json" });
    });
    runningId = "";
    process.removeAllListeners("beforeExit");
  }
}

// Report an uncaught error, then end the process.
function endWith(kind, label, error, status) {
  const { errorMessage, trace } = errorDocument(error);
  const fault = new RuntimeFault(kind, errorMessage, trace.join("\n"));
  logError(label, fault);
  const told = openStream?.isOpen
    ? openStream.fail(fault)
    : report(runningId ? `/invocation/${runningId}/error` : "/init/error", fault);
  told.finally(() => process.exit(status));
}

async function main() {
  let handler;
  try {
    handler = await loadHandler(handlerName);
  } catch (error) {
    logError("Uncaught Exception", error);
    await report("/init/error", error);
    process.exit(1);
  }
  await serve(handler);
}

if (virtualNow) enterVirtualTime(Number(virtualNow));
if (process.env.AWS_ENDPOINT_URL?.startsWith("http:")) answerStacksHere(process.env.AWS_ENDPOINT_URL);
patchConsole();
process.on("unhandledRejection", (reason) =>
  endWith("Runtime.UnhandledPromiseRejection", "Unhandled Promise Rejection", reason, 128),
);
process.on("uncaughtException", (error) => endWith("Runtime.UncaughtException", "Uncaught Exception", error, 129));
main();
