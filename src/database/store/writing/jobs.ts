import { DatabaseError } from '../../../base/errors/database-error.ts';
import { must } from '../../../base/shared/assert.ts';
import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import { type CooperativeTask, eachInSteps, runCooperatively } from '../../../base/shared/turn.ts';
import type { DocId, RevisionPath } from '../../documents/contract.ts';
import type { RevisionHasher } from '../../documents/revisions/revision-hash.ts';
import { toRevId, toRevision } from '../../documents/revisions/revisions.ts';
import type {
  CommitRight,
  DocumentWrite,
  Durability,
  LocalWriteOptions,
  WriteOptions,
  WriteOutcome,
} from '../contract.ts';
import { decodeLocal, encodeLocal } from '../state/locals.ts';
import { attach, attachNothing } from './attach.ts';
import { branchingParent, editedLeaf, RequestEdits, updateConflict } from './working-document.ts';
import type { WriteBatch } from './write-batch.ts';

/**
 * What is submitted to the write queue. A job names what it will touch, changes the batch in its turn, and learns its
 * result only after the group's commit.
 */
export interface Job {
  readonly durability: Durability;
  readonly ids: readonly DocId[];
  readonly localKeys: readonly string[];
  /** Digests of attachments. */
  readonly digests: readonly string[];
  /** Characters of document text, to bound a group. */
  readonly weight: number;
  /** Gets a commit of its own, since a journal record does not keep the order of changes of different kinds. */
  readonly isAlone: boolean;
  /** Whether it frees space: then it may use the space that is reserved for deletions. */
  readonly isDeletion: boolean;
  /** The user's right to this change; undefined if it can't be lost. */
  readonly right: CommitRight | undefined;
  /** Applies the job. Returns a promise if it takes so long that other tasks run meanwhile. */
  apply(batch: WriteBatch): MaybePromise<void>;
  succeed(): void;
  fail(error: unknown): void;
}

/** Characters of document text between two checks of the clock; each document adds `DOCUMENT_LENGTH`. */
const STEP_LENGTH = 65_536;
const DOCUMENT_LENGTH = 8_192;
/** Encoding and hashing a body of this many characters or more is long work. */
const LONG_BODY = 1_048_576;
/** More attachments than this are hashed in steps. */
const MANY_ATTACHMENTS = 256;
/** Maximum characters of the body of a deletion that counts as freeing space. */
const SHORT_BODY = 1_024;

const NOTHING: readonly never[] = [];

/** A job whose result is a promise. */
export abstract class PromisedJob<T> implements Job {
  readonly durability: Durability;
  readonly ids: readonly DocId[] = NOTHING;
  readonly localKeys: readonly string[] = NOTHING;
  readonly digests: readonly string[] = NOTHING;
  readonly weight: number = 0;
  readonly isAlone: boolean = false;
  readonly isDeletion: boolean = false;
  readonly right: CommitRight | undefined;
  readonly promise: Promise<T>;
  #resolve: (value: T) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;

  constructor(durability: Durability, right?: CommitRight) {
    this.durability = durability;
    this.right = right;
    this.promise = new Promise<T>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  abstract apply(batch: WriteBatch): MaybePromise<void>;
  protected abstract result(): T;

  succeed(): void {
    this.#resolve(this.result());
  }

  fail(error: unknown): void {
    this.#reject(error);
  }
}

interface DocumentsJobOptions {
  readonly ids: readonly DocId[];
  readonly digests: readonly string[];
  readonly weight: number;
  readonly isDeletion: boolean;
  readonly writes: readonly DocumentWrite[];
  readonly options: WriteOptions;
  readonly hasher: RevisionHasher;
}

/** A write of documents, under the rules of docs/http/bulk.md#bulk-writes. */
export class DocumentsJob extends PromisedJob<WriteOutcome[]> {
  override readonly ids: readonly DocId[];
  override readonly digests: readonly string[];
  override readonly weight: number;
  override readonly isDeletion: boolean;
  readonly #writes: readonly DocumentWrite[];
  readonly #options: WriteOptions;
  readonly #hasher: RevisionHasher;
  #outcomes: WriteOutcome[] = [];
  /** The error of all writes in conflict: an error takes a kilobyte, and a thousand requests may have a million such writes. */
  #conflict: DatabaseError | undefined;

  private constructor({ ids, digests, weight, isDeletion, writes, options, hasher }: DocumentsJobOptions) {
    super(options.durability, options.right);
    this.ids = ids;
    this.digests = digests;
    this.weight = weight;
    this.isDeletion = isDeletion;
    this.#writes = writes;
    this.#options = options;
    this.#hasher = hasher;
  }

  /** Creates the job. Fails with `bad_request` if a replicated write has no revision: then nothing of the request is written. */
  static *of(
    writes: readonly DocumentWrite[],
    options: WriteOptions,
    hasher: RevisionHasher,
  ): CooperativeTask<DocumentsJob> {
    const ids: DocId[] = [];
    const digests: string[] = [];
    let weight = 0;
    // A replicated deletion may be of a document that does not exist here, and would add to what is stored.
    let isDeletion = options.newEdits;
    yield* eachInSteps(writes, ({ id, rev, deleted, body, attachments = NOTHING }) => {
      if (rev === undefined && !options.newEdits) {
        throw new DatabaseError('bad_request', 'Document must have a _rev when new_edits is false');
      }
      ids.push(id);
      for (const { digest } of attachments) digests.push(digest);
      weight += body.length;
      isDeletion &&= deleted && body.length <= SHORT_BODY && attachments.length === 0;
    });
    return new DocumentsJob({ ids, digests, weight, isDeletion, writes, options, hasher });
  }

  apply(batch: WriteBatch): MaybePromise<void> {
    return runCooperatively(this.#applyInSteps(batch));
  }

  *#applyInSteps(batch: WriteBatch): CooperativeTask<void> {
    const applyOne = this.#options.newEdits ? this.#edit : this.#merge;
    const outcomes: WriteOutcome[] = [];
    let length = 0;
    for (const write of this.#writes) {
      outcomes.push(yield* applyOne.call(this, batch, write));
      length += write.body.length + DOCUMENT_LENGTH;
      if (length < STEP_LENGTH) continue;
      length = 0;
      yield;
    }
    this.#outcomes = outcomes;
  }

  protected result(): WriteOutcome[] {
    return this.#outcomes;
  }

  *#edit(batch: WriteBatch, write: DocumentWrite): CooperativeTask<WriteOutcome> {
    const document = batch.document(write.id);
    if (document.tree.isLarge) yield* document.tree.prepare(batch.revsLimit);
    const earlier = document.edits?.request === this ? document.edits : undefined;
    const parent = this.#options.allOrNothing
      ? branchingParent(document, write.rev)
      : editedLeaf(document, write.rev, earlier);
    if (parent === undefined) return this.#refuseConflict(write);
    if (!Number.isSafeInteger(parent.generation + 1)) return this.#refuse(write, parent.generation);
    const { deleted, body } = write;
    const generation = parent.generation + 1;
    const attached = write.attachments === undefined ? attachNothing(write) : yield* attach(batch, write, generation);
    if (attached instanceof DatabaseError) return this.#refuseWith(write, attached);
    const { hashed, digests, text } = attached;
    const encoded = isLong(body) ? yield* batch.encodeInSteps(body) : batch.encode(body);
    const edit = { deleted, parent: parent.rev, body: encoded.bytes, attachments: hashed };
    const isLarge = isLong(body) || (hashed?.length ?? 0) > MANY_ATTACHMENTS;
    const hash = isLarge ? yield* this.#hasher.hashInSteps(edit) : this.#hasher.hash(edit);
    const rev = toRevId(generation, hash);
    const path: RevisionPath = { start: generation, ids: parent.rev ? [hash, parent.hash] : [hash] };
    if (text === body) batch.addRevision(document, path, deleted, encoded);
    else {
      const stored = isLong(text) ? yield* batch.encodeInSteps(text) : batch.encode(text);
      batch.addRevision(document, path, deleted, stored, undefined, digests);
    }
    if (earlier === undefined) document.edits = new RequestEdits(this, rev);
    else earlier.add(rev);
    return { ok: true, id: write.id, rev, deleted };
  }

  #refuseConflict({ id, rev }: DocumentWrite): WriteOutcome {
    this.#conflict ??= updateConflict();
    return { ok: false, id, rev, error: this.#conflict };
  }

  /** Refuses a write. If it is all or nothing the others must not be written either. */
  #refuse(write: DocumentWrite, generation: number): WriteOutcome {
    const reason = `Nothing can follow generation ${generation}. Save the document under another id.`;
    return this.#refuseWith(write, new DatabaseError('bad_request', reason));
  }

  #refuseWith({ id, rev }: DocumentWrite, error: DatabaseError): WriteOutcome {
    if (this.#options.allOrNothing) throw error;
    return { ok: false, id, rev, error };
  }

  *#merge(batch: WriteBatch, write: DocumentWrite): CooperativeTask<WriteOutcome> {
    const rev = must(write.rev, 'the job was made of revisions');
    const { generation, hash } = toRevision(rev);
    const path = write.revisions ?? { start: generation, ids: [hash] };
    const attached = write.attachments === undefined ? attachNothing(write) : yield* attach(batch, write, path.start);
    if (attached instanceof DatabaseError) return this.#refuseWith(write, attached);
    const { text } = attached;
    const encoded = isLong(text) ? yield* batch.encodeInSteps(text) : batch.encode(text);
    const document = batch.document(write.id);
    if (document.tree.isLarge) yield* document.tree.prepare(batch.revsLimit);
    batch.addRevision(document, path, write.deleted, encoded, undefined, attached.digests);
    return { ok: true, id: write.id, rev, deleted: write.deleted };
  }
}

function isLong(text: string): boolean {
  return text.length > LONG_BODY;
}

/** A `_local` document's change: revisions count up from `0-1`, a deletion returns `0-0` (docs/http/documents.md#local-documents). */
export class LocalJob extends PromisedJob<string> {
  override readonly localKeys: readonly string[];
  override readonly weight: number;
  override readonly isDeletion: boolean;
  readonly #key: string;
  readonly #rev: string | undefined;
  readonly #body: string | undefined;
  #outcome: string | DatabaseError = '0-0';

  constructor(key: string, rev: string | undefined, body: string | undefined, options: LocalWriteOptions) {
    super(options.durability, options.right);
    this.isDeletion = options.makesRoom ?? body === undefined;
    this.localKeys = [key];
    this.weight = body?.length ?? 0;
    this.#key = key;
    this.#rev = rev;
    this.#body = body;
  }

  apply(batch: WriteBatch): void {
    const current = decodeLocal(batch.local(this.#key));
    const expected = current === undefined ? undefined : `0-${current.count}`;
    if (this.#rev !== expected && !(expected === undefined && this.#rev === '0-0')) {
      this.#outcome = new DatabaseError('conflict', 'Document update conflict.');
      return;
    }
    const count = (current?.count ?? 0) + 1;
    batch.setLocal(this.#key, this.#body === undefined ? undefined : encodeLocal(count, this.#body));
    this.#outcome = this.#body === undefined ? '0-0' : `0-${count}`;
  }

  protected result(): string {
    if (typeof this.#outcome === 'string') return this.#outcome;
    throw this.#outcome;
  }

  override succeed(): void {
    if (typeof this.#outcome === 'string') super.succeed();
    else this.fail(this.#outcome);
  }
}

interface SettingOptions {
  /** Called before the next group begins, so that a replay of the journal finds the same border. */
  readonly onStored?: () => void;
  /** `strict` by default. */
  readonly durability?: Durability;
  readonly right?: CommitRight | undefined;
}

/** A setting of the database, kept with the local documents under a key that no document id can have. */
export class SettingJob extends PromisedJob<void> {
  override readonly localKeys: readonly string[];
  readonly #key: string;
  readonly #value: string;
  readonly #onStored: () => void;

  constructor(key: string, value: string, { onStored, durability, right }: SettingOptions = {}) {
    super(durability ?? 'strict', right);
    this.localKeys = [key];
    this.#key = key;
    this.#value = value;
    this.#onStored = onStored ?? (() => undefined);
  }

  apply(batch: WriteBatch): void {
    batch.setLocal(this.#key, this.#value);
  }

  override succeed(): void {
    this.#onStored();
    super.succeed();
  }

  protected result(): void {}
}

/** Changes nothing: settles when everything that was submitted before it is committed. */
export class BarrierJob extends PromisedJob<void> {
  /** It adds nothing. */
  override readonly isDeletion = true;

  apply(): void {}

  protected result(): void {}
}
