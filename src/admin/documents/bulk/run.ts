/** Runs a bulk change in batches: reads some documents, changes them, writes them, until all are done or the user stops it. */
import type { JsonObject } from '../../server/json.ts';
import { type BulkChange, type Changed, type CurrentDocument, changed } from './change.ts';
import { mayHaveLostDigits } from './exact-json.ts';
import type { Journal } from './journal.ts';

export interface Target {
  readonly id: string;
  /** The revision that the user agreed to change. */
  readonly rev: string;
}

export interface WriteOutcome {
  readonly id: string;
  /** The new revision; undefined: it was refused. */
  readonly rev?: string | undefined;
  readonly error?: string | undefined;
  readonly reason?: string | undefined;
}

/** What a bulk change needs of a server. */
export interface BulkServer {
  /** Returns the documents as they are now, in the order of the ids, and how many characters that took. */
  read(ids: readonly string[], signal: AbortSignal): Promise<ReadDocuments>;
  /** Returns an outcome for each document, in their order. */
  write(docs: readonly JsonObject[]): Promise<readonly WriteOutcome[]>;
  /** Returns the document with the contents of its attachments. */
  readWhole(target: Target, signal: AbortSignal): Promise<JsonObject>;
  /** What a failure of a whole request says of its documents. */
  judge(failure: unknown): Judgement;
}

export interface ReadDocuments {
  readonly documents: readonly CurrentDocument[];
  readonly characters: number;
}

export interface Judgement {
  /** `malformed`: nothing was written, because of one document; `stop`: nothing was written, nor would be; `unknown`: it may be written. */
  readonly kind: 'malformed' | 'stop' | 'unknown';
  readonly reason: string;
}

export interface RefusedDocument {
  readonly id: string;
  readonly error: string;
  readonly reason: string;
}

/** How far a run is, and what became of the documents. */
export interface BulkState {
  /** Targets that are done with, in whatever way. */
  readonly done: number;
  readonly written: number;
  /** Documents that the change would not alter. */
  readonly same: number;
  readonly refusedCount: number;
  /** The first of them. */
  readonly refused: readonly RefusedDocument[];
}

export const FRESH: BulkState = { done: 0, written: 0, same: 0, refusedCount: 0, refused: [] };

/** Documents of one request. */
export const MAX_DOCUMENTS = 500;
const FIRST_BATCH = 100;
/** Characters of one request, unless a single document has more. */
export const BATCH_CHARACTERS = 4_000_000;
/** Refused documents that are listed; more are counted only. */
export const MAX_REFUSED = 10_000;

export interface BulkRun {
  readonly targets: readonly Target[];
  readonly change: BulkChange;
  readonly server: BulkServer;
  readonly journal: Journal;
  readonly signal: AbortSignal;
  /** Where an earlier part of this run ended. */
  readonly from: BulkState;
  readonly tell: (state: BulkState) => void;
}

/** Fails if the server is gone, or refuses whole requests. What is written stays; the run can go on later, from the state that it told last. */
export async function runBulk(run: BulkRun): Promise<void> {
  const { targets, server, signal } = run;
  let size = FIRST_BATCH;
  const counter = new Counter(run);
  while (counter.state.done < targets.length) {
    signal.throwIfAborted();
    const batch = targets.slice(counter.state.done, counter.state.done + size);
    const read = await server.read(
      batch.map(({ id }) => id),
      signal,
    );
    size = nextSize(batch.length, read.characters);
    await runBatch(run, batch, read.documents, counter);
  }
}

/** Batches grow until they have as many documents or characters as a request should. */
export function nextSize(size: number, characters: number): number {
  const each = Math.max(1, characters / Math.max(1, size));
  return Math.max(1, Math.min(MAX_DOCUMENTS, size * 2, Math.floor(BATCH_CHARACTERS / each)));
}

/** A target, and what is to become of it. */
interface Planned {
  readonly former: CurrentDocument;
  readonly changed: Changed;
}

async function runBatch(
  run: BulkRun,
  batch: readonly Target[],
  documents: readonly CurrentDocument[],
  counter: Counter,
): Promise<void> {
  const planned: Planned[] = [];
  for (const [index, target] of batch.entries()) {
    const former = documents[index] ?? { id: target.id, rev: undefined, doc: undefined };
    const outcome = former.rev === target.rev ? changed(former, run.change) : whyNotRun(former);
    planned.push({ former: await withContents(run, former, outcome), changed: outcome });
  }
  for (const part of partsOf(planned)) await runPart(run, part, counter);
}

function whyNotRun({ doc }: CurrentDocument): Changed {
  const what = doc === undefined ? 'deleted' : 'changed';
  return { error: 'conflict', refused: `Somebody has ${what} it since you looked at this change.` };
}

/** A tombstone has no attachments: what undoes a deletion has to bring them, so they are read before. */
async function withContents(run: BulkRun, former: CurrentDocument, outcome: Changed): Promise<CurrentDocument> {
  const { id, rev = '', doc } = former;
  const isDeleted = 'write' in outcome && outcome.write['_deleted'] === true;
  if (!isDeleted || doc?.['_attachments'] === undefined) return former;
  if (!run.journal.hasRoomFor(attachedCharacters(doc))) return { ...former, doc: undefined };
  return { ...former, doc: await run.server.readWhole({ id, rev }, run.signal) };
}

/** Of the contents of all attachments as Base64. */
function attachedCharacters({ _attachments }: JsonObject): number {
  const stubs = Object.values(Object(_attachments)) as readonly { readonly length?: number }[];
  return stubs.reduce((sum, { length = 0 }) => sum + Math.ceil(length / 3) * 4, 0);
}

/** Requests of a size that servers take, in the order of the targets: a run that ends between two of them can go on there. */
function partsOf(planned: readonly Planned[]): readonly (readonly Planned[])[] {
  const parts: Planned[][] = [];
  let characters = Number.POSITIVE_INFINITY;
  for (const one of planned) {
    const length = 'write' in one.changed ? JSON.stringify(one.changed.write).length : 0;
    if (characters + length > BATCH_CHARACTERS) {
      parts.push([]);
      characters = 0;
    }
    characters += length;
    parts.at(-1)?.push(one);
  }
  return parts;
}

/** A request that fails because of one document is cut in halves, until that document is alone. */
async function runPart(run: BulkRun, part: readonly Planned[], counter: Counter): Promise<void> {
  const docs = part.flatMap(({ changed: outcome }) => ('write' in outcome ? [outcome.write] : []));
  let outcomes: readonly WriteOutcome[];
  try {
    outcomes = docs.length === 0 ? [] : await run.server.write(docs);
  } catch (failure) {
    const { kind, reason } = run.server.judge(failure);
    if (kind === 'stop') throw failure;
    if (kind === 'malformed' && docs.length > 1) {
      const half = Math.ceil(part.length / 2);
      await runPart(run, part.slice(0, half), counter);
      await runPart(run, part.slice(half), counter);
      return;
    }
    outcomes = docs.map(({ _id }) => ({ id: `${_id}`, error: kind, reason }));
    counter.count(part, outcomes);
    if (kind === 'unknown') throw failure;
    return;
  }
  counter.count(part, outcomes);
}

/** Counts what became of the documents, and keeps what undoes it. */
class Counter {
  state: BulkState;
  readonly #run: BulkRun;
  /** Only this run adds to it; states that were told have copies. */
  readonly #refused: RefusedDocument[];

  constructor(run: BulkRun) {
    this.state = run.from;
    this.#run = run;
    this.#refused = [...run.from.refused];
  }

  /** `outcomes`: of those documents of the part that were written, in their order. */
  count(part: readonly Planned[], outcomes: readonly WriteOutcome[]): void {
    let at = 0;
    for (const { former, changed: outcome } of part) {
      if ('refused' in outcome) this.#refuse(former.id, outcome.error, outcome.refused);
      else if ('same' in outcome) this.state = { ...this.state, same: this.state.same + 1 };
      else this.#write(former, outcome.write, outcomes[at]);
      if ('write' in outcome) at += 1;
    }
    this.state = { ...this.state, done: this.state.done + part.length, refused: this.#refusedCopy() };
    this.#run.tell(this.state);
  }

  #refuse(id: string, error: string, reason: string): void {
    if (this.#refused.length < MAX_REFUSED) this.#refused.push({ id, error, reason });
    this.state = { ...this.state, refusedCount: this.state.refusedCount + 1 };
  }

  #write(former: CurrentDocument, written: JsonObject, outcome: WriteOutcome | undefined): void {
    const { rev, error, reason } = outcome ?? { error: 'unknown', reason: 'The server said nothing about it.' };
    if (error !== undefined || rev === undefined) {
      this.#refuse(former.id, error ?? 'unknown', reason ?? error ?? 'unknown');
      return;
    }
    this.state = { ...this.state, written: this.state.written + 1 };
    const isNew = former.doc === undefined && written['_deleted'] !== true;
    if (isNew) this.#run.journal.keepNew(former.id, rev);
    else if (former.doc === undefined || mayHaveLostDigits(former.doc)) this.#run.journal.leaveOut();
    else this.#run.journal.keep(former.id, rev, former.doc);
  }

  #refusedCopy(): readonly RefusedDocument[] {
    return this.state.refused.length === this.#refused.length ? this.state.refused : [...this.#refused];
  }
}
