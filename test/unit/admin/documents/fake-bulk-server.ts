import { createHash } from 'node:crypto';
import type { BulkServer, Judgement, WriteOutcome } from '../../../../src/admin/documents/bulk/run.ts';
import type { JsonObject } from '../../../../src/admin/server/json.ts';

interface Stored {
  readonly rev: string;
  /** Without `_id` and `_rev`; undefined: it is deleted. */
  readonly members: JsonObject | undefined;
}

/** A failure of a whole request, as `judge` is to see it. */
export class FakeFailure extends Error {
  readonly kind: Judgement['kind'];

  constructor(kind: Judgement['kind'], reason: string) {
    super(reason);
    this.kind = kind;
  }
}

/** The documents of one database: what a bulk change needs of them, in a few lines. */
export class FakeBulkServer implements BulkServer {
  readonly documents = new Map<string, Stored>();
  /** How many documents each request wrote. */
  readonly requests: number[] = [];
  /** Runs before each write: others write, too, and requests fail. */
  beforeWrite: (docs: readonly JsonObject[]) => void = () => undefined;
  /** Runs after each write was done, before its response is there. */
  afterWrite: () => void = () => undefined;
  /** Documents that are refused. */
  readonly forbidden = new Set<string>();

  put(id: string, members: JsonObject): string {
    return this.#store(id, members);
  }

  members(id: string): JsonObject | undefined {
    return this.documents.get(id)?.members;
  }

  targets(ids: Iterable<string> = this.documents.keys()) {
    return [...ids].map((id) => ({ id, rev: this.documents.get(id)?.rev ?? '' }));
  }

  async read(ids: readonly string[]) {
    const documents = ids.map((id) => {
      const { rev, members } = this.documents.get(id) ?? {};
      return { id, rev, doc: members && { _id: id, _rev: rev, ...members } };
    });
    return { documents, characters: JSON.stringify(documents).length };
  }

  async readWhole({ id, rev }: { readonly id: string; readonly rev: string }): Promise<JsonObject> {
    const { _attachments, ...members } = this.members(id) ?? {};
    const stubs = Object.entries(Object(_attachments)).map(([name]) => [name, { data: `data of ${name}` }]);
    return { _id: id, _rev: rev, ...members, _attachments: Object.fromEntries(stubs) };
  }

  async write(docs: readonly JsonObject[]): Promise<readonly WriteOutcome[]> {
    this.beforeWrite(docs);
    this.requests.push(docs.length);
    const outcomes = docs.map((doc) => this.#write(doc));
    this.afterWrite();
    return outcomes;
  }

  judge(failure: unknown): Judgement {
    return failure instanceof FakeFailure
      ? { kind: failure.kind, reason: failure.message }
      : { kind: 'unknown', reason: `${failure}` };
  }

  #write({ _id, _rev, _deleted, ...members }: JsonObject): WriteOutcome {
    const id = `${_id}`;
    if (this.documents.get(id)?.rev !== _rev) return { id, error: 'conflict', reason: 'Document update conflict.' };
    if (this.forbidden.has(id)) return { id, error: 'forbidden', reason: 'Not this one.' };
    return { id, rev: this.#store(id, _deleted === true ? undefined : members) };
  }

  #store(id: string, members: JsonObject | undefined): string {
    const former = this.documents.get(id)?.rev ?? '0-';
    const hash = createHash('md5')
      .update(`${former} ${JSON.stringify(members)}`)
      .digest('hex');
    const rev = `${Number.parseInt(former, 10) + 1}-${hash}`;
    this.documents.set(id, { rev, members });
    return rev;
  }
}
