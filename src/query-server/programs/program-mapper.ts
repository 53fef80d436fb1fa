/**
 * The map functions of one program: cuts the batches' results into rows, and finds out which document and which map failed
 * when the isolate could not end a batch.
 */
import { isObject } from '../../json/objects.ts';
import { assert, must } from '../../shared/assert.ts';
import { type MaybePromise, orElse, whenReady } from '../../shared/maybe-promise.ts';
import { Pace } from '../../shared/turn.ts';
import type { MappedRows, Mapper } from '../contract.ts';
import type { CallAnswer, FunctionCall } from '../execution/function-call.ts';
import { IsolateFailure } from '../isolates/call-failures.ts';
import { SEPARATOR } from '../runtime/protocol.ts';
import { membersToKeep, project } from '../sources/projection.ts';
import { mayChangeDocuments } from '../sources/source-scan.ts';

/** How long a batch is meant to take. */
const BATCH_MS = 8;
/** The same, where it runs in a worker: longer, so that what the way there costs is little beside it. */
const WORKER_BATCH_MS = 25;
/** So many documents are mapped in this thread, if that does not take too long. */
const SMALL_BATCH = 20;
const MAX_BATCH = 1_000;
const FIRST_BATCH = 100;

/** What a mapper needs of its program. */
interface CallRunner {
  /** How many calls may run at a time. */
  readonly concurrency: number;
  /** In the same turn where that is possible. */
  run(call: FunctionCall): MaybePromise<CallAnswer>;
  /** In another thread, where there are such. */
  runInWorker(call: FunctionCall): MaybePromise<CallAnswer>;
  log(message: string): void;
}

interface Collected {
  readonly counts: number[];
  readonly keys: string[];
  readonly values: string[];
}

export class ProgramMapper implements Mapper {
  readonly #runner: CallRunner;
  readonly #maps: readonly string[];
  readonly #frozen: '0' | '1';
  readonly #kept: ReadonlySet<string> | undefined;
  readonly #batchMs: number;
  #batchSize = FIRST_BATCH;

  constructor(runner: CallRunner, maps: readonly string[]) {
    this.#runner = runner;
    this.#maps = maps;
    this.#frozen = maps.some(mayChangeDocuments) ? '1' : '0';
    this.#kept = membersToKeep(maps);
    this.#batchMs = runner.concurrency > 1 ? WORKER_BATCH_MS : BATCH_MS;
  }

  get batchSize(): number {
    return this.#batchSize;
  }

  get concurrency(): number {
    return this.#runner.concurrency;
  }

  map(documents: readonly string[]): MaybePromise<readonly MappedRows[]> {
    if (documents.length === 0) return this.#maps.map(() => ({ counts: [], keys: [], values: [] }));
    return orElse(
      () => this.#mapBatch(this.#maps, documents),
      (failure) => this.#mapSingly(documents, failure),
    );
  }

  #mapBatch(maps: readonly string[], documents: readonly string[]): MaybePromise<MappedRows[]> {
    const functions = { kind: 'addMap', sources: maps } as const;
    const call: FunctionCall = { functions, operation: 'map', texts: [this.#frozen, this.#toText(documents)] };
    const isSmall = documents.length <= SMALL_BATCH;
    return whenReady(isSmall ? this.#runner.run(call) : this.#runner.runInWorker(call), ({ text, ms }) => {
      this.#adapt(documents.length, ms);
      return toRows(text, maps.length);
    });
  }

  #toText(documents: readonly string[]): string {
    const kept = this.#kept;
    if (kept === undefined) return documents.join(SEPARATOR);
    return documents.map((document) => project(document, kept)).join(SEPARATOR);
  }

  /** Goes half of the way to the number that would have taken `#batchMs`, so that a single batch doesn't change the size too much. */
  #adapt(documents: number, ms: number): void {
    const fitting = (documents * this.#batchMs) / Math.max(ms, 0.01);
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
      return must((await this.#mapBatch([source], [document]))[0]);
    } catch (failure) {
      if (!(failure instanceof IsolateFailure) || failure.kind !== 'stack') throw failure;
      this.#runner.log(`a map function overflowed the stack with the document ${document.slice(0, 100)}`);
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
