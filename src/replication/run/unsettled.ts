import { ReplicationError } from '../failure.ts';
import type { FoundDocument, WantedDocument } from '../peers/contract.ts';

/** The revisions of a batch whose outcome is not known yet. */
export class Unsettled {
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
      const reason = `${source} neither gave nor refused revision ${rev} of the document ${JSON.stringify(id)}`;
      throw new ReplicationError('replication_failed', reason, { isRetryable: true });
    }
  }
}

function idOf(found: FoundDocument): string {
  if (found.type === 'document') return found.document.id;
  return found.type === 'refused' ? found.refused.id : found.id;
}
