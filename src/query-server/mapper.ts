/**
 * Maps of one program: cuts the batches' results into rows, and finds out which document and which map it was when a
 * batch could not be ended.
 */
import { assert, must } from '../shared/assert.ts';
import type { Clock } from '../shared/clock.ts';
import type { MaybePromise } from '../shared/maybe-promise.ts';
import { Pace } from '../shared/turn.ts';
import type { MappedRows, Mapper } from './contract.ts';
import { type Engine, EngineFailure, SEPARATOR } from './engine.ts';
import { membersToKeep, project } from './projection.ts';
import { mayChangeDocuments } from './source-scan.ts';

/** How long a batch is meant to take. */
const BATCH_MS = 8;
const MAX_BATCH = 1_000;
const FIRST_BATCH = 100;

/** What a mapper needs of its program. */
export interface EngineUser {
  /** Runs `work` with the program's engine: in this turn where it is there. */
  use<T>(work: (engine: Engine) => T): MaybePromise<T>;
  log(message: string): void;
}

interface Collected {
  readonly counts: number[];
  readonly keys: string[];
  readonly values: string[];
}

export class ProgramMapper implements Mapper {
  readonly #user: EngineUser;
  readonly #maps: readonly string[];
  readonly #clock: Clock;
  readonly #frozen: '0' | '1';
  readonly #kept: ReadonlySet<string> | undefined;
  #batchSize = FIRST_BATCH;

  constructor(user: EngineUser, maps: readonly string[], clock: Clock) {
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
      const rows = this.#user.use((engine) => this.#mapBatch(engine, this.#maps, documents));
      return rows instanceof Promise ? rows.catch((failure: unknown) => this.#mapSingly(documents, failure)) : rows;
    } catch (failure) {
      return this.#mapSingly(documents, failure);
    }
  }

  #mapBatch(engine: Engine, maps: readonly string[], documents: readonly string[]): MappedRows[] {
    const startedAt = this.#clock.monotonic();
    const indexes = maps.map((source) => engine.add('addMap', source));
    const text = engine.call('map', indexes.join(','), this.#frozen, this.#toText(documents));
    this.#adapt(documents.length, this.#clock.monotonic() - startedAt);
    return toRows(text, maps.length);
  }

  #toText(documents: readonly string[]): string {
    const kept = this.#kept;
    if (kept === undefined) return documents.join(SEPARATOR);
    return documents.map((document) => project(document, kept)).join(SEPARATOR);
  }

  /** Half of the way to what would have taken `BATCH_MS`, so that one odd batch doesn't decide. */
  #adapt(documents: number, ms: number): void {
    const fitting = (documents * BATCH_MS) / Math.max(ms, 0.01);
    const next = Math.round((this.#batchSize + Math.min(fitting, this.#batchSize * 4)) / 2);
    this.#batchSize = Math.max(1, Math.min(MAX_BATCH, next));
  }

  /**
   * A batch that ran out of time may have done so by its number of documents, and one that overflowed the stack did so
   * by one document: each on its own tells. Time and memory are up for good where a single document needs too much.
   */
  async #mapSingly(documents: readonly string[], failure: unknown): Promise<readonly MappedRows[]> {
    if (!(failure instanceof EngineFailure)) throw failure;
    if (documents.length === 1 && failure.end !== 'stack') throw failure;
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
      return must((await this.#user.use((engine) => this.#mapBatch(engine, [source], [document])))[0]);
    } catch (failure) {
      if (!(failure instanceof EngineFailure) || failure.end !== 'stack') throw failure;
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

/** Fields for each map in what an engine gives back. */
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

/** A plain object stands for the next of the texts that were made inside; what is plain becomes text here. */
function toTexts(json: string, made: string): string[] {
  const items: unknown = JSON.parse(json);
  assert(Array.isArray(items), 'rows are a list');
  const lines = made === '' ? [] : made.split('\n');
  let next = 0;
  return items.map((item: unknown) => {
    if (typeof item === 'number') return String(item);
    const isMade = typeof item === 'object' && item !== null && !Array.isArray(item);
    return isMade ? must(lines[next++]) : JSON.stringify(item);
  });
}
