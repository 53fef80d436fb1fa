/**
 * The map functions of one program: cuts the batches' results into rows, and finds out which document and which map failed
 * when the isolate could not end a batch.
 */
import { isObject } from '../../../base/json/objects.ts';
import { assert, must } from '../../../base/shared/assert.ts';
import { type MaybePromise, orElse, whenReady } from '../../../base/shared/maybe-promise.ts';
import { type CooperativeTask, runCooperatively, TimeSlice } from '../../../base/shared/turn.ts';
import type { LongDocument, MappedRows, Mapper } from '../contract.ts';
import type { CallAnswer, FunctionCall } from '../execution/function-call.ts';
import { type CallText, CallTextBuilder } from '../execution/long-texts.ts';
import { IsolateFailure } from '../isolates/call-failures.ts';
import { SEPARATOR } from '../runtime/protocol.ts';
import { membersToKeep, project, StreamedProjection } from './projection.ts';
import { mayChangeDocuments } from './source-scan.ts';

/** How long a batch is meant to take. */
const BATCH_MS = 8;
/** The same in a worker: longer, so that the cost of the round trip is small in comparison. */
const WORKER_BATCH_MS = 25;
/** Up to this many documents are mapped in this thread, if that does not take too long. */
const SMALL_BATCH = 20;
const MAX_BATCH = 1_000;
/** The first batch of a mapper whose functions run in workers. */
const FIRST_BATCH = 100;
/** The same in the thread of requests: the first document shows how long one takes there, and the batches then grow quickly. */
const FIRST_BATCH_HERE = 1;
/** Rows, and characters of their keys and values, that one document may have in one view; it is left out if it has more. */
const MAX_ROWS = 100_000;
const MAX_CHARACTERS = 16 * 1024 * 1024;
/** Once documents that are mapped one by one have emitted this much, the others come with the next call. */
const MAX_COLLECTED = 4 * 1024 * 1024;
/** If this many documents in a row can't be mapped, the map is at fault. Each costs an isolate. */
const MAX_LEFT_OUT_IN_ROW = 100;

/** What a mapper needs of its program. */
interface CallRunner {
  /** How many calls may run at a time. */
  readonly concurrency: number;
  /** The part of its limits that a call has: 1, or less if requests are answered in the thread in which it runs. */
  readonly limitShare: number;
  /** Runs a call, in the same turn if that is possible. */
  run(call: FunctionCall): MaybePromise<CallAnswer>;
  /** Runs a call in another thread, if there is one. */
  runInWorker(call: FunctionCall): MaybePromise<CallAnswer>;
  log(message: string): void;
}

/** Texts, or a single long document. */
type Documents = readonly string[] | readonly [LongDocument];

interface Collected {
  readonly counts: number[];
  readonly keys: string[];
  readonly values: string[];
  readonly leftOut: number[];
}

export class ProgramMapper implements Mapper {
  readonly #runner: CallRunner;
  readonly #maps: readonly string[];
  readonly #frozen: '0' | '1';
  readonly #kept: ReadonlySet<string> | undefined;
  readonly #batchMs: number;
  #batchSize: number;
  #leftOutInRow = 0;

  constructor(runner: CallRunner, maps: readonly string[]) {
    this.#runner = runner;
    this.#maps = maps;
    this.#frozen = maps.some(mayChangeDocuments) ? '1' : '0';
    this.#kept = membersToKeep(maps);
    const hasWorkers = runner.concurrency > 1;
    this.#batchSize = hasWorkers ? FIRST_BATCH : FIRST_BATCH_HERE;
    this.#batchMs = hasWorkers ? WORKER_BATCH_MS : BATCH_MS;
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

  async mapLong(document: LongDocument): Promise<readonly MappedRows[]> {
    try {
      return await this.#mapBatch(this.#maps, [document]);
    } catch (failure) {
      return this.#mapSingly([document], failure);
    }
  }

  #mapBatch(maps: readonly string[], documents: Documents): MaybePromise<MappedRows[]> {
    return whenReady(this.#toText(documents), (text) => this.#mapText(maps, documents, text));
  }

  #mapText(maps: readonly string[], documents: Documents, passed: CallText): MaybePromise<MappedRows[]> {
    const functions = { kind: 'addMap', sources: maps } as const;
    const call: FunctionCall = { functions, operation: 'map', texts: [this.#frozen, passed] };
    const isSmall = documents.length <= SMALL_BATCH;
    return whenReady(isSmall ? this.#runner.run(call) : this.#runner.runInWorker(call), ({ text, ms }) => {
      return whenReady(runCooperatively(toRows(text, maps.length)), (all) => {
        const mapped = all[0]?.counts.length ?? documents.length;
        this.#adapt(mapped, ms);
        if (mapped < documents.length) this.#batchSize = Math.min(this.#batchSize, mapped);
        return all.map((rows) => withoutLarge(rows, (at) => this.#logLarge(documents[at])));
      });
    });
  }

  #toText(documents: Documents): MaybePromise<CallText> {
    const kept = this.#kept;
    if (isLong(documents)) return textOfLong(documents[0], kept);
    if (kept === undefined) return documents.join(SEPARATOR);
    return documents.map((document) => project(document, kept)).join(SEPARATOR);
  }

  /** Goes half of the way to the number that would have taken `#batchMs`, so that a single batch doesn't change the size too much. */
  #adapt(documents: number, ms: number): void {
    const fitting = (documents * this.#batchMs) / Math.max(ms, 0.01);
    const next = Math.round((this.#batchSize + Math.min(fitting, this.#batchSize * 4)) / 2);
    this.#batchSize = Math.max(1, Math.min(MAX_BATCH * this.#runner.limitShare, next));
  }

  #logLarge(document: string | LongDocument = ''): void {
    this.#runner.log(`a map function emitted too much for the document ${shown(document)}, which is left out`);
  }

  /**
   * Maps each document by itself: a batch that ran out of time or memory may have had too many documents. A single one that overflows
   * the stack or takes too much memory is left out. If one takes too much time, the call fails.
   */
  async #mapSingly(documents: Documents, failure: unknown): Promise<readonly MappedRows[]> {
    if (!(failure instanceof IsolateFailure)) throw failure;
    if (documents.length === 1 && failure.kind === 'time') throw failure;
    this.#batchSize = Math.max(1, Math.ceil(this.#batchSize / 4));
    const timeSlice = new TimeSlice();
    const collected: Collected[] = this.#maps.map(() => ({ counts: [], keys: [], values: [], leftOut: [] }));
    let length = 0;
    for (const only of isLong(documents) ? [documents] : documents.map((document) => [document])) {
      for (const [index, source] of this.#maps.entries()) {
        const rows = await this.#mapOne(source, only);
        append(must(collected[index]), rows);
        length += lengthOf(rows, 0, rows.keys.length);
        if (timeSlice.isDue) await timeSlice.rest();
      }
      if (length > MAX_COLLECTED) break;
    }
    return collected;
  }

  async #mapOne(source: string, only: Documents): Promise<MappedRows> {
    try {
      const rows = must((await this.#mapBatch([source], only))[0]);
      this.#leftOutInRow = 0;
      return rows;
    } catch (failure) {
      if (!(failure instanceof IsolateFailure) || failure.kind === 'time') throw failure;
      this.#leftOutInRow++;
      if (this.#leftOutInRow > MAX_LEFT_OUT_IN_ROW) throw failure;
      const did = failure.kind === 'stack' ? 'overflowed the stack' : 'ran out of memory';
      this.#runner.log(`a map function ${did} with the document ${shown(only[0])}, which is left out`);
      return { counts: [0], keys: [], values: [], leftOut: [0] };
    }
  }
}

function isLong(documents: Documents): documents is readonly [LongDocument] {
  return typeof documents[0] === 'object';
}

function shown(document: string | LongDocument = ''): string {
  return typeof document === 'string' ? document.slice(0, 100) : JSON.stringify(document.id).slice(0, 100);
}

/** Returns the projected text, as bytes if it is itself long: it is never a single string. */
async function textOfLong(document: LongDocument, kept: ReadonlySet<string> | undefined): Promise<CallText> {
  const timeSlice = new TimeSlice();
  const projection = kept && new StreamedProjection(kept);
  const text = new CallTextBuilder();
  for await (const piece of document.pieces()) {
    text.add(projection === undefined ? piece : projection.next(piece));
    if (timeSlice.isDue) await timeSlice.rest();
  }
  return text.end();
}

function append(target: Collected, { counts, keys, values, leftOut = [] }: MappedRows): void {
  for (const at of leftOut) target.leftOut.push(target.counts.length + at);
  for (const count of counts) target.counts.push(count);
  for (const key of keys) target.keys.push(key);
  for (const value of values) target.values.push(value);
}

/** Leaves out documents whose rows are too many or too long. */
function withoutLarge(rows: MappedRows, onLarge: (at: number) => void): MappedRows {
  const { counts, keys, values } = rows;
  if (counts.every((count) => count <= MAX_ROWS) && isShort(rows, 0, keys.length)) return rows;
  const kept: Collected = { counts: [], keys: [], values: [], leftOut: [] };
  let from = 0;
  for (const [at, count] of counts.entries()) {
    const to = from + count;
    if (count <= MAX_ROWS && isShort(rows, from, to)) {
      kept.counts.push(count);
      for (let row = from; row < to; row++) {
        kept.keys.push(must(keys[row]));
        kept.values.push(must(values[row]));
      }
    } else {
      kept.counts.push(0);
      kept.leftOut.push(at);
      onLarge(at);
    }
    from = to;
  }
  return kept;
}

/** Returns whether the rows have no more characters than one document's may have. */
function isShort(rows: MappedRows, from: number, to: number): boolean {
  return lengthOf(rows, from, to) <= MAX_CHARACTERS;
}

function lengthOf({ keys, values }: MappedRows, from: number, to: number): number {
  let length = 0;
  for (let row = from; row < to; row++) length += (keys[row]?.length ?? 0) + (values[row]?.length ?? 0);
  return length;
}

/** Fields for each map in an answer to `map`. */
const FIELDS = 5;

/** Reads counts separated by commas; keys, then values: JSON arrays on lines, and the texts for the objects in them on lines. */
function* toRows(text: string, maps: number): CooperativeTask<MappedRows[]> {
  const fields = text.split(SEPARATOR);
  assert(fields.length === maps * FIELDS, 'five fields for each map');
  const all: MappedRows[] = [];
  for (let first = 0; first < fields.length; first += FIELDS) {
    const [counts = '', keys = '', keyTexts = '', values = '', valueTexts = ''] = fields.slice(first, first + FIELDS);
    all.push({
      counts: counts.split(',').map(Number),
      keys: yield* toTexts(keys, keyTexts),
      values: yield* toTexts(values, valueTexts),
    });
  }
  return all;
}

/** Returns the items' texts. An object stands for the next text that was made in the sandbox; all other items become text here. */
function* toTexts(portions: string, made: string): CooperativeTask<string[]> {
  const lines = made === '' ? [] : made.split('\n');
  const texts: string[] = [];
  let next = 0;
  for (const portion of portions.split('\n')) {
    if (texts.length > 0) yield;
    const items: unknown = JSON.parse(portion);
    assert(Array.isArray(items), 'rows are a list');
    for (const item of items as readonly unknown[]) {
      if (typeof item === 'number') texts.push(String(item));
      else texts.push(isObject(item) ? must(lines[next++]) : JSON.stringify(item));
    }
  }
  return texts;
}
