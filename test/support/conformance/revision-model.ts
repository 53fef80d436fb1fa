/**
 * A plain model of a database's content, written only from the interface: documents with their revisions in a map,
 * everything computed by a full scan. It is slow and obvious, so that the service can be compared with it.
 */

interface ModelRevision {
  readonly rev: string;
  readonly generation: number;
  readonly hash: string;
  readonly parent: string | undefined;
  readonly deleted: boolean;
  /** JSON members of the body; undefined if only the name is known. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
}

export class ModelDocument {
  readonly id: string;
  readonly #revisions = new Map<string, ModelRevision>();

  constructor(id: string) {
    this.id = id;
  }

  get revisions(): readonly ModelRevision[] {
    return [...this.#revisions.values()];
  }

  get(rev: string): ModelRevision | undefined {
    return this.#revisions.get(rev);
  }

  /** Revisions on which no other builds, the winner first: live before deleted, then generation, then hash. */
  leaves(): readonly ModelRevision[] {
    const parents = new Set(this.revisions.map((revision) => revision.parent));
    return this.revisions.filter((revision) => !parents.has(revision.rev)).toSorted(compareWinnerFirst);
  }

  winner(): ModelRevision | undefined {
    return this.leaves()[0];
  }

  isLive(): boolean {
    return this.winner()?.deleted === false;
  }

  /** Known hashes of the revision and its ancestors, newest first. */
  path(rev: string): readonly string[] {
    const found = this.#revisions.get(rev);
    if (found === undefined) return [];
    return [found.hash, ...(found.parent === undefined ? [] : this.path(found.parent))];
  }

  /** Returns the revision that a normal write would replace; `conflict` if it may not be written. */
  parentFor(rev: string | undefined): ModelRevision | undefined | 'conflict' {
    const winner = this.winner();
    if (rev === undefined) return winner === undefined || winner.deleted ? winner : 'conflict';
    return this.leaves().find((leaf) => leaf.rev === rev) ?? 'conflict';
  }

  add(revision: ModelRevision): void {
    this.#revisions.set(revision.rev, revision);
  }

  /** Merges a replicated path, the newest hash first. Returns whether that changed anything. */
  merge(start: number, hashes: readonly string[], deleted: boolean, body: Readonly<Record<string, unknown>>): boolean {
    const revs = hashes.map((hash, index) => `${start - index}-${hash}`);
    let isNews = false;
    for (const [index, rev] of revs.entries()) {
      const parent = revs[index + 1];
      const known = this.#revisions.get(rev);
      if (known !== undefined) {
        // If they name different parents the stored one stays.
        if (parent === undefined || (known.parent ?? parent) !== parent) break;
        if (known.parent === undefined) {
          this.#revisions.set(rev, { ...known, parent });
          isNews = true;
        }
        continue;
      }
      isNews = true;
      const leaf = index === 0;
      this.#revisions.set(rev, {
        rev,
        generation: start - index,
        hash: hashes[index] ?? '',
        parent,
        deleted: leaf && deleted,
        body: leaf ? body : undefined,
      });
    }
    return isNews;
  }
}

/** Documents in the order of their ids' UTF-8 bytes; here all ids are ASCII, so that is also the order of JavaScript. */
export class DatabaseModel {
  readonly #documents = new Map<string, ModelDocument>();

  document(id: string): ModelDocument {
    const document = this.#documents.get(id) ?? new ModelDocument(id);
    this.#documents.set(id, document);
    return document;
  }

  get documents(): readonly ModelDocument[] {
    const known = [...this.#documents.values()].filter((document) => document.winner() !== undefined);
    return known.toSorted((left, right) => (left.id < right.id ? -1 : 1));
  }

  get live(): readonly ModelDocument[] {
    return this.documents.filter((document) => document.isLive());
  }
}

function compareWinnerFirst(left: ModelRevision, right: ModelRevision): number {
  if (left.deleted !== right.deleted) return left.deleted ? 1 : -1;
  if (left.generation !== right.generation) return right.generation - left.generation;
  return left.hash < right.hash ? 1 : -1;
}
