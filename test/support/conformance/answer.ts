import { assert } from 'chai';
import type { HostAnswer, HostRequest } from './host.ts';
import { at, parseJson } from './json.ts';

/** A response as the cases see it. `json` fails if the body is not JSON. */
export class Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;

  constructor(answer: HostAnswer) {
    this.status = answer.status;
    this.headers = answer.headers;
    this.bytes = answer.bytes;
  }

  /** Takes the name in lower case. */
  header(name: string): string | undefined {
    return this.headers[name];
  }

  get text(): string {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(this.bytes);
  }

  get json(): unknown {
    return parseJson(this.text);
  }
}

/** Asserts that the response is exactly this error: status, `error`, `reason`, and nothing else in the body. */
export function assertError(answer: Answer, status: number, error: string, reason: string): void {
  assert.deepEqual({ status: answer.status, ...asObject(answer.json) }, { status, error, reason });
}

/** Asserts that the response succeeded with exactly this JSON. */
export function assertJson(answer: Answer, status: number, json: unknown): void {
  assert.deepEqual({ status: answer.status, json: answer.json }, { status, json });
}

/** Asserts a successful write: `{ok, id, rev}`, `ETag`, and a `Location` unless it deleted. Returns the revision. */
export function assertWritten(answer: Answer, status: number, id: string): string {
  assert.equal(answer.status, status, answer.text);
  const rev = at(answer.json, 'rev');
  assert.deepEqual(answer.json, { ok: true, id, rev });
  assert.equal(answer.header('etag'), `"${rev}"`);
  return `${rev}`;
}

/** Asserts 405 with exactly these methods (docs/http/answers.md#allowed-methods). */
export function assertAllowed(answer: Answer, methods: string): void {
  assertError(answer, 405, 'method_not_allowed', `Only ${methods} allowed`);
  assert.equal(answer.header('allow'), methods);
}

/**
 * Asserts what holds for every response to any request: a `Server` and a `Date` header (interface 1.3), no body to a HEAD or
 * with a 304, and `{error, reason}` in every refusal (interface 7), none of which mentions our source files.
 */
export function assertDecent(request: HostRequest, answer: Answer): void {
  const asked = `${request.method} ${request.path}`;
  assert.match(answer.header('server') ?? '', /^Settee\/\d+\.\d+\.\d+/, `Server header of ${asked}`);
  assert.isFalse(Number.isNaN(Date.parse(answer.header('date') ?? '')), `Date header of ${asked}`);
  if (request.method === 'HEAD' || answer.status === 304) {
    assert.lengthOf(answer.bytes, 0, `body of ${asked}`);
  } else if (answer.status === 417) {
    // The refusals of an all-or-nothing request, each with its document (docs/http/bulk.md#all-or-nothing).
    assert.isArray(answer.json, asked);
  } else if (answer.status >= 400) {
    assertDecentRefusal(asked, answer);
  }
}

/** For a client that cancels an unknown replication, as in CouchDB (docs/http/replication.md#cancelling-replications). */
const NO_REPLICATION = '{"error":"not found"}\n';

function assertDecentRefusal(asked: string, answer: Answer): void {
  if (answer.text === NO_REPLICATION) return;
  // Declarative rules also say what is wrong with a document.
  const failures = at(answer.json, 'failures');
  if (failures !== undefined) assert.isArray(failures, asked);
  assert.hasAllKeys(answer.json, ['error', 'reason', ...(failures === undefined ? [] : ['failures'])], asked);
  assert.isString(at(answer.json, 'error'), asked);
  // Validation functions may return any JSON value as the reason of a refusal.
  if (answer.status !== 401 && answer.status !== 403) assert.isString(at(answer.json, 'reason'), asked);
  assert.notMatch(answer.text, /\.ts\b|\.js\b|\bat \w+ \(|Invariant broken/, asked);
}

function asObject(value: unknown): Record<string, unknown> {
  assert.isObject(value);
  return { ...(value instanceof Object ? value : {}) };
}
