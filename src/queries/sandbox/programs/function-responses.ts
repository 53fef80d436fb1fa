/**
 * The responses of shows, lists and updates, from the text that the sandboxes' program returns. The output of a list is complete if
 * its function was run to its end, else it is made while it is read.
 */
import { DatabaseError } from '../../../base/errors/database-error.ts';
import { TimeSlice } from '../../../base/shared/turn.ts';
import { type FunctionResponse, LIST_BYTES, type ListResult, type RowSource } from '../contract.ts';
import type { BegunList } from '../execution/function-call.ts';
import { listTooLarge } from '../isolates/call-failures.ts';
import { SEPARATOR } from '../runtime/protocol.ts';

type ListHead = Pick<ListResult, 'code' | 'headers'>;

/** Characters of headers, far more than clients take. */
const MAX_HEADERS_LENGTH = 65_536;

type Members = Readonly<Record<string, unknown>>;

export function toResponse(text: string): FunctionResponse {
  const members = toMembers(JSON.parse(text));
  const { json, base64, body } = members;
  const headers = toHeaders(members['headers']);
  const code = toCode(members['code']);
  if (typeof base64 === 'string')
    return { code, headers: withType(headers, 'application/binary'), body: toBytes(base64) };
  if (json !== undefined && body === undefined) {
    return { code, headers: withType(headers, 'application/json'), body: JSON.stringify(json) };
  }
  return { code, headers, body: typeof body === 'string' ? body : '' };
}

function toListHead(text: string): ListHead {
  const members = toMembers(JSON.parse(text));
  return { code: toCode(members['code']), headers: toHeaders(members['headers']) };
}

function toMembers(value: unknown): Members {
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {};
}

function toCode(code: unknown): number | undefined {
  if (code === undefined || code === null) return undefined;
  const value = Number(code);
  if (Number.isInteger(value) && value >= 200 && value <= 599) return value;
  throw new DatabaseError(
    'render_error',
    `The function's status code ${String(code).slice(0, 50)} is not between 200 and 599.`,
  );
}

function toHeaders(headers: unknown): Record<string, string> {
  const entries = Object.entries(toMembers(headers)).filter(([, value]) => value !== undefined && value !== null);
  if (entries.reduce((length, [name, value]) => length + name.length + String(value).length, 0) > MAX_HEADERS_LENGTH) {
    const reason = `The function's headers have more than ${MAX_HEADERS_LENGTH} characters. Send what is more in the body.`;
    throw new DatabaseError('render_error', reason);
  }
  for (const [name, value] of entries) {
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name) || /[^\t\x20-\x7e\x80-\xff]/.test(String(value))) {
      throw new DatabaseError(
        'render_error',
        `The function's header ${JSON.stringify(name)} can't be sent: it has characters that headers must not have.`,
      );
    }
  }
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
}

function withType(headers: Record<string, string>, type: string): Record<string, string> {
  const hasType = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  return hasType ? headers : { ...headers, 'Content-Type': type };
}

function toBytes(base64: string): Uint8Array {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch (cause) {
    throw new DatabaseError('render_error', "The member `base64` of the function's response is not base64 text.", {
      cause,
    });
  }
}

/** A list whose function was run to its end. */
class FinishedList implements ListResult {
  readonly code: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly #chunks: readonly string[];

  constructor({ code, headers }: ListHead, chunks: readonly string[]) {
    this.code = code;
    this.headers = headers;
    this.#chunks = chunks;
  }

  async *chunks(): AsyncGenerator<string, void, void> {
    yield* this.#chunks;
  }

  close(): void {}
}

/** Creates the result from `text`, the answer to `list`: a head and all that was sent. */
export function finishedList(text: string): FinishedList {
  const at = text.indexOf(SEPARATOR);
  const sent = text.slice(at + 1);
  return new FinishedList(toListHead(text.slice(0, at)), sent === '' ? [] : [sent]);
}

/** A list as far as it has run: what `stepOn` of the sandboxes' program returns (runtime/lists.ts). */
interface ListStep {
  readonly isDone: boolean;
  /** Empty if an earlier step sent something. */
  readonly head: string;
  readonly sent: string;
}

function toStep(text: string): ListStep {
  const at = text.indexOf(SEPARATOR);
  return { isDone: text.startsWith('D'), head: text.slice(1, at), sent: text.slice(at + 1) };
}

/**
 * A list whose function waits in its isolate for the next rows. It continues when more of its output is wanted: while the reader is slow,
 * memory has no more than one batch of rows, and what the function turned them into.
 */
export class WaitingList implements ListResult {
  readonly #begun: BegunList;
  readonly #rows: RowSource;
  readonly #id: string;
  readonly #timeSlice = new TimeSlice();
  #step: ListStep;
  #head: ListHead | undefined;
  #isClosed = false;

  private constructor(begun: BegunList, rows: RowSource) {
    const at = begun.answer.indexOf(SEPARATOR);
    this.#begun = begun;
    this.#rows = rows;
    this.#id = begun.answer.slice(0, at);
    this.#step = toStep(begun.answer.slice(at + 1));
  }

  /** Runs the list until it has sent something, or is done: until then the function may change its head. Closes it if that fails. */
  static async create(begun: BegunList, rows: RowSource): Promise<WaitingList> {
    const list = new WaitingList(begun, rows);
    try {
      while (!list.#step.isDone && list.#step.sent === '') await list.#runOn();
      list.#head = toListHead(list.#step.head);
      return list;
    } catch (error) {
      list.close();
      throw error;
    }
  }

  get code(): number | undefined {
    return this.#head?.code;
  }

  get headers(): Readonly<Record<string, string>> {
    return this.#head?.headers ?? {};
  }

  async *chunks(): AsyncGenerator<string, void, void> {
    try {
      for (;;) {
        const { isDone, sent } = this.#step;
        if (sent !== '') yield sent;
        if (isDone) return;
        await this.#runOn();
      }
    } finally {
      this.close();
    }
  }

  async #runOn(): Promise<void> {
    if (this.#timeSlice.isDue) await this.#timeSlice.rest();
    const next = this.#rows.next();
    const rows = (next instanceof Promise ? await next : next) ?? '';
    this.#step = toStep(await this.#begun.call('resumeList', [this.#id, rows]));
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#rows.close?.();
    const drop = async (): Promise<void> => {
      if (!this.#step.isDone) await this.#begun.call('dropList', [this.#id]);
    };
    // If that fails the isolate is gone, and the list with it.
    void drop()
      .catch(() => undefined)
      .finally(() => this.#begun.release());
  }
}

/** Reads all rows, for a list that can't wait for them. */
export async function readAhead(rows: RowSource): Promise<string[]> {
  const batches: string[] = [];
  let length = 0;
  try {
    for (;;) {
      const next = rows.next();
      const batch = next instanceof Promise ? await next : next;
      if (batch === undefined) return batches;
      length += batch.length;
      if (length > LIST_BYTES) throw listTooLarge();
      batches.push(batch);
    }
  } finally {
    rows.close?.();
  }
}
