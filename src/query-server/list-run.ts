/** A list function under way: what it has said so far, and its rows as they are needed. */
import { DatabaseError } from '../errors/database-error.ts';
import { Pace } from '../shared/turn.ts';
import { LIST_BYTES, type ListResult, type RowSource } from './contract.ts';
import { type Engine, SEPARATOR } from './engine.ts';
import { type ListHead, toListHead } from './responses.ts';

/** What a list needs of its program. */
export interface ListOwner {
  /** Runs in the same engine as before; fails with `os_process_error` where that is gone. */
  goOn<T>(engine: Engine, work: (engine: Engine) => T): T;
  /** Keeps the engine from making room for others, until `letGo`, which must be called once for each time. */
  hold(engine: Engine): void;
  letGo(engine: Engine): void;
}

/** A list whose function was run to its end. */
export class FinishedList implements ListResult {
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

/** `text`: a head, then what was sent since the last pull. */
export function finishedList(text: string, earlier: readonly string[]): FinishedList {
  const at = text.indexOf(SEPARATOR);
  const last = text.slice(at + 1);
  return new FinishedList(toListHead(text.slice(0, at)), last === '' ? earlier : [...earlier, last]);
}

/** One of the answers of a list that waits: `D` or `W`, and what it sent. */
const isDone = (said: string): boolean => said.startsWith('D');

/**
 * A list whose function waits in its engine for the next rows. It runs when its output is wanted, so that whoever reads
 * slowly makes it wait, with one batch of rows and what it made of them in memory.
 */
export class WaitingList implements ListResult {
  readonly code: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly #owner: ListOwner;
  readonly #engine: Engine;
  readonly #rows: RowSource;
  readonly #id: string;
  #said: string;
  #isClosed = false;

  /** `answer`: its number, its head, and what it said up to the first row it needs. */
  constructor(owner: ListOwner, engine: Engine, rows: RowSource, answer: string) {
    const [id = '', head = ''] = answer.split(SEPARATOR, 2);
    this.#owner = owner;
    this.#engine = engine;
    this.#rows = rows;
    this.#id = id;
    this.#said = answer.slice(id.length + head.length + 2);
    owner.hold(engine);
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
        const sent = this.#said.slice(1);
        if (sent !== '') yield sent;
        if (isDone(this.#said)) return;
        const next = this.#rows.next();
        const rows = (next instanceof Promise ? await next : next) ?? '';
        this.#said = this.#owner.goOn(this.#engine, (engine) => engine.call('resumeList', this.#id, rows));
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
      if (!isDone(this.#said)) this.#owner.goOn(this.#engine, (engine) => engine.call('dropList', this.#id));
    } catch {
      // The engine is gone, and the list with it.
    } finally {
      this.#owner.letGo(this.#engine);
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
