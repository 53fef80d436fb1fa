/** The output of list functions: at hand where a function was run to its end, else made while it is read. */
import { DatabaseError } from '../../errors/database-error.ts';
import { Pace } from '../../shared/turn.ts';
import { LIST_BYTES, type ListResult, type RowSource } from '../contract.ts';
import type { Isolate } from '../isolates/isolate.ts';
import { SEPARATOR } from '../runtime/protocol.ts';
import { type ListHead, toListHead } from './function-responses.ts';

/** What a list that waits for rows needs of its program. */
export interface ListOwner {
  /** Runs in the same isolate as before; fails with `os_process_error` where that is gone. */
  useSame<T>(isolate: Isolate, work: (isolate: Isolate) => T): T;
  /** Keeps the isolate from being disposed to make room, until `release`, which must be called once for each time. */
  retain(isolate: Isolate): void;
  release(isolate: Isolate): void;
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

/** `text`: the answer to `list`, a head and what was sent since the last rows were pulled. `earlier`: what was sent before. */
export function finishedList(text: string, earlier: readonly string[]): FinishedList {
  const at = text.indexOf(SEPARATOR);
  const last = text.slice(at + 1);
  return new FinishedList(toListHead(text.slice(0, at)), last === '' ? earlier : [...earlier, last]);
}

/** Whether a list is done, by what its answers have behind the head: `D` (done) or `W` (waits), and what it sent. */
const isDone = (progress: string): boolean => progress.startsWith('D');

/**
 * A list whose function waits in its isolate for the next rows. It runs on when more of its output is wanted: while the reader is slow
 * there are no more than one batch of rows, and what the function made of them, in memory.
 */
export class WaitingList implements ListResult {
  readonly code: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly #owner: ListOwner;
  readonly #isolate: Isolate;
  readonly #rows: RowSource;
  readonly #id: string;
  #progress: string;
  #isClosed = false;

  /** `answer`: what `beginList` gave. */
  constructor(owner: ListOwner, isolate: Isolate, rows: RowSource, answer: string) {
    const [id = '', head = ''] = answer.split(SEPARATOR, 2);
    this.#owner = owner;
    this.#isolate = isolate;
    this.#rows = rows;
    this.#id = id;
    this.#progress = answer.slice(id.length + head.length + 2);
    owner.retain(isolate);
    try {
      const { code, headers } = toListHead(head);
      this.code = code;
      this.headers = headers;
    } catch (error) {
      this.close();
      throw error;
    }
  }

  async *chunks(): AsyncGenerator<string, void, void> {
    const pace = new Pace();
    try {
      for (;;) {
        const sent = this.#progress.slice(1);
        if (sent !== '') yield sent;
        if (isDone(this.#progress)) return;
        const next = this.#rows.next();
        const rows = (next instanceof Promise ? await next : next) ?? '';
        this.#progress = this.#owner.useSame(this.#isolate, (isolate) => isolate.call('resumeList', this.#id, rows));
        if (pace.isDue) await pace.rest();
      }
    } finally {
      this.close();
    }
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#rows.close?.();
    try {
      if (!isDone(this.#progress)) this.#owner.useSame(this.#isolate, (isolate) => isolate.call('dropList', this.#id));
    } catch {
      // The isolate is gone, and the list with it.
    } finally {
      this.#owner.release(this.#isolate);
    }
  }
}

const MEGABYTES = LIST_BYTES / 1024 / 1024;
const TOO_LARGE =
  `This list function can't wait for its rows, so it may read and send at most ${MEGABYTES} MB: call getRow() by its name in ` +
  'the list function itself, or ask for pages, with limit and startkey.';

export const tooLarge = (): DatabaseError => new DatabaseError('too_large', TOO_LARGE);

/** All rows, of a list that can't wait for them. */
export async function readAhead(rows: RowSource): Promise<string[]> {
  const batches: string[] = [];
  let length = 0;
  try {
    for (;;) {
      const next = rows.next();
      const batch = next instanceof Promise ? await next : next;
      if (batch === undefined) return batches;
      length += batch.length;
      if (length > LIST_BYTES) throw tooLarge();
      batches.push(batch);
    }
  } finally {
    rows.close?.();
  }
}
