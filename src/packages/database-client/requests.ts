/** One request of a database and its response. */

import type { RuleFailure } from '../interface/documents.ts';
import type { Conflict, Fetch } from './contract.ts';
import { toBody } from './multipart-document.ts';

/** Parameters that are JSON in an address; all others are written as they are. */
const JSON_PARAMETERS = /^(start|end)?_?key$/;

interface AskOptions {
  readonly body?: object | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The response's content is not checked: it is what docs/http/README.md says, with the type that the caller names. */
export type Ask = <Answer>(method: string, path: string, options?: AskOptions) => Promise<Answer>;

/** For requests at and below that address. */
export function createAsk(fetch: Fetch, address: string): Ask {
  const root = address.replace(/\/+$/, '');
  return async (method, path, { body, signal } = {}) => {
    const sent = body && toBody(body);
    const response = await fetch(root + path, {
      method,
      // Without this, attachments would come in parts after the document (docs/http/attachments.md#multipart-documents).
      headers: { accept: 'application/json', ...(sent && { 'content-type': sent.type }) },
      ...(sent && { body: sent.body }),
      ...(signal && { signal }),
    });
    return answerOf(response, `${method} ${root}${path}`);
  };
}

/** Returns the content of the response; throws a refusal. `request` names the request in messages. */
export async function answerOf<Answer>(response: Response, request: string): Promise<Answer> {
  const answer = parse(await response.text());
  if (answer === undefined) {
    throw new SetteeError(
      response.status,
      'no_json',
      `${request} was not answered by a database. Use the fetch that start() returns, and an address below its base.`,
    );
  }
  if (response.ok) return answer;
  const { status } = response;
  const absent = status === 404 ? request.replace(/\?.*/, '') : undefined;
  throw new SetteeError(status, answer?.error ?? 'unknown_error', answer?.reason, answer?.failures, absent);
}

/** Returns a conflict as a value; throws every other refusal. */
export async function conflictAsValue<Answer>(id: string, asked: Promise<Answer>): Promise<Answer | Conflict> {
  try {
    return await asked;
  } catch (error) {
    if (!isRefusal(error, 409)) throw error;
    return { ok: false, id, error: 'conflict', reason: String(error.reason) };
  }
}

export function isRefusal(error: unknown, status: number): error is SetteeError {
  return error instanceof SetteeError && error.status === status;
}

/** Whether the request may succeed later: the service says so, or a proxy in front of it. */
export function isLater({ status }: SetteeError): boolean {
  return status === 429 || (status >= 502 && status <= 504);
}

/** A slash in an id is encoded, the slash after `_design` and `_local` is not (docs/http/requests.md#request-path). */
export function pathOf(id: string): string {
  return `/${encodeURIComponent(id).replace(/^_(design|local)%2F/, '_$1/')}`;
}

/** Parameters that are undefined are left out. */
export function queryOf(options: object = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(options)) {
    if (value !== undefined) parameters.set(name, JSON_PARAMETERS.test(name) ? JSON.stringify(value) : String(value));
  }
  const text = String(parameters);
  return text === '' ? '' : `?${text}`;
}

function parse(text: string) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A response that refuses a request (docs/http/errors.md). */
export class SetteeError extends Error {
  override readonly name = 'SetteeError';
  /** The status of the response, 400 or above. */
  readonly status: number;
  /** The code, such as `not_found`. */
  readonly error: string;
  /** Text; functions of documents may refuse with any JSON value. */
  readonly reason: unknown;
  /** If a declarative rule of a design document refuses: what is wrong with the document. */
  readonly failures: readonly RuleFailure[] | undefined;

  /** @param absent the method and the address of what was not found, for the message */
  constructor(status: number, error: string, reason: unknown, failures?: readonly RuleFailure[], absent?: string) {
    const why = typeof reason === 'string' ? reason : JSON.stringify(reason);
    super(`${status} ${error}: ${why}${absent === undefined ? '' : ` (${absent})`}`);
    this.status = status;
    this.error = error;
    this.reason = reason;
    this.failures = failures;
  }
}
