import { assert } from 'chai';
import type { HostAnswer, HostRequest } from './host.ts';
import { at, parseJson } from './json.ts';

/** An answer as the cases see it. `json` fails where the body is no JSON. */
export class Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;

  constructor(answer: HostAnswer) {
    this.status = answer.status;
    this.headers = answer.headers;
    this.bytes = answer.bytes;
  }

  /** By its name in lower case. */
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

/** The answer is this error, wholly: status, `error`, `reason`, and nothing else in the body. */
export function assertError(answer: Answer, status: number, error: string, reason: string): void {
  assert.deepEqual({ status: answer.status, ...asObject(answer.json) }, { status, error, reason });
}

/** The answer succeeded with exactly this JSON. */
export function assertJson(answer: Answer, status: number, json: unknown): void {
  assert.deepEqual({ status: answer.status, json: answer.json }, { status, json });
}

/** A write that succeeded: `{ok, id, rev}`, `ETag`, and a `Location` unless it deleted. Gives the revision. */
export function assertWritten(answer: Answer, status: number, id: string): string {
  assert.equal(answer.status, status, answer.text);
  const rev = at(answer.json, 'rev');
  assert.deepEqual(answer.json, { ok: true, id, rev });
  assert.equal(answer.header('etag'), `"${rev}"`);
  return `${rev}`;
}

/** 405 with exactly these methods (docs/http/answers.md#allowed-methods). */
export function assertAllowed(answer: Answer, methods: string): void {
  assertError(answer, 405, 'method_not_allowed', `Only ${methods} allowed`);
  assert.equal(answer.header('allow'), methods);
}

/**
 * What holds for every answer whatever was asked: a `Server` and a `Date` header (interface 1.3), no body to a HEAD or
 * with a 304, and `{error, reason}` in every refusal (interface 7), none of which tells about our source files.
 */
export function assertDecent(request: HostRequest, answer: Answer): void {
  const asked = `${request.method} ${request.path}`;
  assert.match(answer.header('server') ?? '', /^Settee\/\d+\.\d+\.\d+/, `Server header of ${asked}`);
  assert.isFalse(Number.isNaN(Date.parse(answer.header('date') ?? '')), `Date header of ${asked}`);
  if (request.method === 'HEAD' || answer.status === 304) {
    assert.lengthOf(answer.bytes, 0, `body of ${asked}`);
  } else if (answer.status === 417) {
    // The refusals of a request that is all or nothing, each with its document (docs/http/bulk.md#all-or-nothing).
    assert.isArray(answer.json, asked);
  } else if (answer.status >= 400) {
    assertDecentRefusal(asked, answer);
  }
}

/** To who cancels what is not there, as the family has it (docs/http/replication.md#cancelling-replications). */
const NO_REPLICATION = '{"error":"not found"}\n';

function assertDecentRefusal(asked: string, answer: Answer): void {
  if (answer.text === NO_REPLICATION) return;
  // Declarative rules also say what is wrong with a document.
  const failures = at(answer.json, 'failures');
  if (failures !== undefined) assert.isArray(failures, asked);
  assert.hasAllKeys(answer.json, ['error', 'reason', ...(failures === undefined ? [] : ['failures'])], asked);
  assert.isString(at(answer.json, 'error'), asked);
  // Validation functions may give any JSON value as the reason of a refusal.
  if (answer.status !== 401 && answer.status !== 403) assert.isString(at(answer.json, 'reason'), asked);
  assert.notMatch(answer.text, /\.ts\b|\.js\b|\bat \w+ \(|Invariant broken/, asked);
}

function asObject(value: unknown): Record<string, unknown> {
  assert.isObject(value);
  return { ...(value instanceof Object ? value : {}) };
}
