/**
 * The map functions of one program: cuts the batches' results into rows, and finds out which document and which map failed
 * when the isolate could not end a batch.
 */
import { isObject } from '../../json/objects.ts';
import { assert, must } from '../../shared/assert.ts';
import type { Clock } from '../../shared/clock.ts';
import type { MaybePromise } from '../../shared/maybe-promise.ts';
import { Pace } from '../../shared/turn.ts';
import type { MappedRows, Mapper } from '../contract.ts';
import { type Isolate, IsolateFailure } from '../isolates/isolate.ts';
import { SEPARATOR } from '../runtime/protocol.ts';
import { membersToKeep, project } from '../sources/projection.ts';
import { mayChangeDocuments } from '../sources/source-scan.ts';

/** How long a batch is meant to take. */
const BATCH_MS = 8;
const MAX_BATCH = 1_000;
const FIRST_BATCH = 100;

/** What a mapper needs of its program. */
interface IsolateUser {
  /** Runs `work` with the program's isolate, in the same turn where there is one. */
  use<T>(work: (isolate: Isolate) => T): MaybePromise<T>;
  log(message: string): void;
}

interface Collected {
  readonly counts: number[];
  readonly keys: string[];
  readonly values: string[];
}

export class ProgramMapper implements Mapper {
  readonly #user: IsolateUser;
  readonly #maps: readonly string[];
  readonly #clock: Clock;
  readonly #frozen: '0' | '1';
  readonly #kept: ReadonlySet<string> | undefined;
  #batchSize = FIRST_BATCH;

  constructor(user: IsolateUser, maps: readonly string[], clock: Clock) {
    this.#user = user;
    this.#maps = maps;
    this.#clock = clock;
    this.#frozen = maps.some(mayChangeDocuments) ? '1' : '0';
    this.#kept = membersToKeep(maps);
  }

  get batchSize(): number {
    return this.#batchSize;
  }

  map(documents: readonly string[]): MaybePromise<readonly MappedRows[]> {
    if (documents.length === 0) return this.#maps.map(() => ({ counts: [], keys: [], values: [] }));
    try {
      const rows = this.#user.use((isolate) => this.#mapBatch(isolate, this.#maps, documents));
      return rows instanceof Promise ? rows.catch((failure: unknown) => this.#mapSingly(documents, failure)) : rows;
    } catch (failure) {
      return this.#mapSingly(documents, failure);
    }
  }

  #mapBatch(isolate: Isolate, maps: readonly string[], documents: readonly string[]): MappedRows[] {
    const startedAt = this.#clock.monotonic();
    const indexes = maps.map((source) => isolate.add('addMap', source));
    const text = isolate.call('map', indexes.join(','), this.#frozen, this.#toText(documents));
    this.#adapt(documents.length, this.#clock.monotonic() - startedAt);
    return toRows(text, maps.length);
  }

  #toText(documents: readonly string[]): string {
    const kept = this.#kept;
    if (kept === undefined) return documents.join(SEPARATOR);
    return documents.map((document) => project(document, kept)).join(SEPARATOR);
  }

  /** Goes half of the way to the number that would have taken `BATCH_MS`, so that a single batch doesn't change the size too much. */
  #adapt(documents: number, ms: number): void {
    const fitting = (documents * BATCH_MS) / Math.max(ms, 0.01);
    const next = Math.round((this.#batchSize + Math.min(fitting, this.#batchSize * 4)) / 2);
    this.#batchSize = Math.max(1, Math.min(MAX_BATCH, next));
  }

  /**
   * Maps each document by itself: a batch that ran out of time may have had too many documents, and one that overflowed the
   * stack did so by a single document, which is left out. Where a single document takes too much time or memory, the call fails.
   */
  async #mapSingly(documents: readonly string[], failure: unknown): Promise<readonly MappedRows[]> {
    if (!(failure instanceof IsolateFailure)) throw failure;
    if (documents.length === 1 && failure.kind !== 'stack') throw failure;
    const pace = new Pace();
    const collected: Collected[] = this.#maps.map(() => ({ counts: [], keys: [], values: [] }));
    for (const document of documents) {
      for (const [index, source] of this.#maps.entries()) {
        append(must(collected[index]), await this.#mapOne(source, document));
        if (pace.isDue) await pace.rest();
      }
    }
    return collected;
  }

  async #mapOne(source: string, document: string): Promise<MappedRows> {
    try {
      return must((await this.#user.use((isolate) => this.#mapBatch(isolate, [source], [document])))[0]);
    } catch (failure) {
      if (!(failure instanceof IsolateFailure) || failure.kind !== 'stack') throw failure;
      this.#user.log(`a map function overflowed the stack with the document ${document.slice(0, 100)}`);
      return { counts: [0], keys: [], values: [] };
    }
  }
}

function append(target: Collected, { counts, keys, values }: MappedRows): void {
  target.counts.push(...counts);
  for (const key of keys) target.keys.push(key);
  for (const value of values) target.values.push(value);
}

/** Fields for each map in an answer to `map`. */
const FIELDS = 5;

/** Counts with commas between; keys, then values: a JSON array each, and the texts for the objects in it on lines. */
function toRows(text: string, maps: number): MappedRows[] {
  const fields = text.split(SEPARATOR);
  assert(fields.length === maps * FIELDS, 'five fields for each map');
  return Array.from({ length: maps }, (_, index) => {
    const [counts = '', keys = '', keyTexts = '', values = '', valueTexts = ''] = fields.slice(index * FIELDS);
    return {
      counts: counts.split(',').map(Number),
      keys: toTexts(keys, keyTexts),
      values: toTexts(values, valueTexts),
    };
  });
}

/** An object stands for the next of the texts that were made in the sandbox; all other items become text here. */
function toTexts(json: string, made: string): string[] {
  const items: unknown = JSON.parse(json);
  assert(Array.isArray(items), 'rows are a list');
  const lines = made === '' ? [] : made.split('\n');
  let next = 0;
  return items.map((item: unknown) => {
    if (typeof item === 'number') return String(item);
    return isObject(item) ? must(lines[next++]) : JSON.stringify(item);
  });
}
