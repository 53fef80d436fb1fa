/** The output of list functions: at hand where a function was run to its end, else made while it is read. */
import { Pace } from '../../shared/turn.ts';
import { LIST_BYTES, type ListResult, type RowSource } from '../contract.ts';
import type { BegunList } from '../execution/function-call.ts';
import { listTooLarge } from '../execution/list-failures.ts';
import { SEPARATOR } from '../runtime/protocol.ts';
import { type ListHead, toListHead } from './function-responses.ts';

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

/** `text`: the answer to `list`, a head and all that was sent. */
export function finishedList(text: string): FinishedList {
  const at = text.indexOf(SEPARATOR);
  const sent = text.slice(at + 1);
  return new FinishedList(toListHead(text.slice(0, at)), sent === '' ? [] : [sent]);
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
  readonly #begun: BegunList;
  readonly #rows: RowSource;
  readonly #id: string;
  #progress: string;
  #isClosed = false;

  constructor(begun: BegunList, rows: RowSource) {
    const [id = '', head = ''] = begun.answer.split(SEPARATOR, 2);
    this.#begun = begun;
    this.#rows = rows;
    this.#id = id;
    this.#progress = begun.answer.slice(id.length + head.length + 2);
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
        this.#progress = await this.#begun.call('resumeList', [this.#id, rows]);
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
    const drop = async (): Promise<void> => {
      if (!isDone(this.#progress)) await this.#begun.call('dropList', [this.#id]);
    };
    // Where that fails the isolate is gone, and the list with it.
    void drop()
      .catch(() => undefined)
      .finally(() => this.#begun.release());
  }
}

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
      if (length > LIST_BYTES) throw listTooLarge();
      batches.push(batch);
    }
  } finally {
    rows.close?.();
  }
}
