/** Copies a batch of changes: asks the target what it lacks, reads that from the source, and writes it while more arrives. */
import { type CooperativeTask, runCooperatively } from '../../base/shared/turn.ts';
import { utf8LengthInTurns } from '../../base/shared/utf8.ts';
import type { RefusedDocument } from '../contract.ts';
import { ReplicationError } from '../failure.ts';
import type { MemoryShare } from '../peer-memory.ts';
import { changeBytes } from '../peers/changes/changes-request.ts';
import type {
  AttachedDocument,
  Change,
  DocumentText,
  Ends,
  FoundDocument,
  Stub,
  WantedDocument,
} from '../peers/contract.ts';
import { withFollowing } from '../peers/documents/related-writer.ts';
import type { Peer } from '../peers/peer.ts';
import { type AttachedDocuments, withAll } from './attached-documents.ts';
import type { ReplicationStats } from './replication-stats.ts';

/** The revisions of a batch whose outcome is not known yet. */
class Unsettled {
  readonly #revs: Map<string, Set<string>>;

  constructor(wanted: readonly WantedDocument[]) {
    this.#revs = new Map(wanted.map(({ id, revs }) => [id, new Set(revs)]));
  }

  /** They are on their way to the target, refused by name, or not selected. */
  settle(found: FoundDocument): void {
    const id = idOf(found);
    const revs = this.#revs.get(id);
    for (const rev of found.settles) revs?.delete(rev);
    if (revs?.size === 0) this.#revs.delete(id);
  }

  /** Fails if a revision is left: a checkpoint after it would say that it is at the target. */
  assertNone(source: string): void {
    for (const [id, revs] of this.#revs) {
      const [rev] = revs;
      const reason = `${source} neither returned nor refused revision ${rev} of the document ${JSON.stringify(id)}`;
      throw new ReplicationError('replication_failed', reason, { isRetryable: true });
    }
  }
}

function idOf(found: FoundDocument): string {
  if (found.type === 'document') return found.document.id;
  return found.type === 'refused' ? found.refused.id : found.id;
}

/** Bytes of documents that are collected for one write. */
const WRITE_BYTES = 1_048_576;

export interface BatchCopierOptions {
  readonly peers: Ends<Peer>;
  readonly figures: ReplicationStats;
  readonly attached: AttachedDocuments;
  readonly memory: MemoryShare | undefined;
}

export class BatchCopier {
  readonly #options: BatchCopierOptions;

  constructor(options: BatchCopierOptions) {
    this.#options = options;
  }

  /** Resolves when all of it is written or refused. */
  async copy(changes: readonly Change[]): Promise<void> {
    const held = new Held(this.#options.memory);
    try {
      await held.hold(changes.reduce((sum, change) => sum + changeBytes(change), 0));
      await this.#copy(changes, held);
    } finally {
      held.free(held.bytes);
    }
  }

  async #copy(changes: readonly Change[], held: Held): Promise<void> {
    const { peers, figures } = this.#options;
    const refuse = (refused: RefusedDocument) => figures.refuse(refused);
    const revisions = new Map<string, readonly string[]>();
    for (const { id, revs, refused = [] } of changes) {
      figures.listed(id, revs);
      refused.forEach(refuse);
      if (revs.length > 0) revisions.set(id, [...new Set([...(revisions.get(id) ?? []), ...revs])]);
    }
    if (revisions.size === 0) return;
    const missing = await peers.target.missing(revisions, refuse);
    figures.add({
      missingChecked: countOf([...revisions.values()]),
      missingFound: countOf(missing.map((one) => one.missing)),
    });
    if (missing.length === 0) return;
    const wanted = missing.map((one) => ({ id: one.id, revs: one.missing, since: one.possibleAncestors }));
    await this.#copyDocuments(wanted, held);
  }

  async #copyDocuments(wanted: readonly WantedDocument[], held: Held): Promise<void> {
    const { peers, attached } = this.#options;
    const later: AttachedDocument[] = [];
    const collector = new Collector(async (documents, bytes) => {
      const left = later.length;
      await this.#write(documents, bytes, later);
      // What is written in another way is held in memory until the batch is done.
      if (later.length === left) held.free(bytes);
    });
    const unsettled = new Unsettled(wanted);
    const take = (found: FoundDocument) => this.#take(found, collector, later, held);
    await peers.source.documents(wanted, { attachments: false }, (found) => {
      unsettled.settle(found);
      return take(found);
    });
    await collector.flush();
    unsettled.assertNone(peers.source.name);
    // What the target turns out to lack is added to the list while it is processed.
    for (let some = later.splice(0); some.length > 0; some = later.splice(0)) {
      await attached.copy(some, take);
      await collector.flush();
    }
  }

  async #take(found: FoundDocument, collector: Collector, later: AttachedDocument[], held: Held): Promise<void> {
    const { figures } = this.#options;
    if (found.type === 'refused') {
      figures.refuse(found.refused);
      return;
    }
    if (found.type === 'not chosen') return;
    const { stubs, wanted } = found;
    const document = await runCooperatively(withPlainStubs(found.document, stubs));
    const measuring = utf8LengthInTurns(document.text);
    const bytes = typeof measuring === 'number' ? measuring : await measuring;
    const wait = held.hold(bytes);
    if (wait !== undefined) await wait;
    if (stubs?.some(({ isMissing }) => isMissing) === true) {
      later.push({ document, stubs, since: wanted.since });
      return;
    }
    figures.add({ docsRead: 1, bytesRead: bytes });
    await collector.add(document, bytes, stubs);
  }

  async #write(documents: readonly Collected[], bytes: number, later: AttachedDocument[]): Promise<void> {
    const { peers, figures } = this.#options;
    const refused = await peers.target.write(documents.map(({ document }) => document));
    figures.add({ docsWritten: Math.max(0, documents.length - refused.length), bytesWritten: bytes });
    for (const one of refused) {
      const stubbed = one.error === 'missing_stub' ? documents.find(({ document }) => isOf(document, one)) : undefined;
      // The target lacks what its revisions suggest that it has: it gets all attachments.
      if (stubbed?.stubs === undefined) figures.refuseByTarget(one);
      else {
        figures.add({ docsRead: -1 });
        later.push(withAll({ document: stubbed.document, stubs: stubbed.stubs, since: [] }));
      }
    }
  }
}

/** The memory that a batch takes. */
class Held {
  bytes = 0;
  readonly #memory: MemoryShare | undefined;

  constructor(memory: MemoryShare | undefined) {
    this.#memory = memory;
  }

  hold(bytes: number): Promise<void> | undefined {
    const wait = this.#memory?.hold(bytes);
    if (wait === undefined) this.bytes += bytes;
    return wait?.then(() => {
      this.bytes += bytes;
    });
  }

  free(bytes: number): void {
    this.bytes -= bytes;
    this.#memory?.free(bytes);
  }
}

/** The form that the source stores means nothing to others, and some would take it for their own. */
function* withPlainStubs(document: DocumentText, stubs: readonly Stub[] | undefined): CooperativeTask<DocumentText> {
  const isEncoded = stubs?.some((stub) => stub.isEncoded) === true;
  return isEncoded ? { ...document, text: yield* withFollowing(document.text, [], stubs) } : document;
}

function isOf({ id, rev }: DocumentText, refused: RefusedDocument): boolean {
  return id === refused.id && rev === refused.rev;
}

interface Collected {
  readonly document: DocumentText;
  readonly stubs: readonly Stub[] | undefined;
}

type WriteCollected = (documents: readonly Collected[], bytes: number) => Promise<void>;

/** Documents that wait to be written together. */
class Collector {
  readonly #write: WriteCollected;
  #documents: Collected[] = [];
  #bytes = 0;

  constructor(write: WriteCollected) {
    this.#write = write;
  }

  /** Resolves when there is room for more. */
  async add(document: DocumentText, bytes: number, stubs: Collected['stubs']): Promise<void> {
    this.#documents.push({ document, stubs });
    this.#bytes += bytes;
    if (this.#bytes >= WRITE_BYTES) await this.flush();
  }

  async flush(): Promise<void> {
    const documents = this.#documents;
    const bytes = this.#bytes;
    this.#documents = [];
    this.#bytes = 0;
    if (documents.length > 0) await this.#write(documents, bytes);
  }
}

function countOf(lists: readonly (readonly string[])[]): number {
  return lists.reduce((sum, list) => sum + list.length, 0);
}
