/** Random histories of documents: every revision that was ever written, anywhere, and what must be known of it at the end. */
import { createHash } from 'node:crypto';
import type { SeededRandom } from '../seeded-random.ts';

/** A part of the random bytes that all attachments are cut from. */
export interface Content {
  readonly offset: number;
  readonly length: number;
}

export type Attachments = Readonly<Record<string, Content>>;

export interface Revision {
  readonly rev: string;
  readonly parent: Revision | undefined;
  readonly isDeleted: boolean;
  /** The one member of the body. */
  readonly n: number;
  readonly attachments: Attachments;
}

export const CONTENT_TYPE = 'application/octet-stream';
export const MAX_ATTACHMENT_BYTES = 200_000;

const NAMES = ['a', 'note.txt', 'é 😀', 'x/y z', 'a+b%41&c=d?e#f', `"quoted" it's`, 'a;b,c', '\\', 'constructor'];
const CHANCE_OF_SECOND_ATTACHMENT = 20;

export class RandomHistories {
  readonly #random: SeededRandom;
  readonly #pool: Buffer;
  readonly #largest: number;
  readonly #documents = new Map<string, Map<string, Revision>>();
  readonly #parents = new Set<Revision>();

  /** Most attachments have at most `largest` bytes; one in 16 may have 200 kB. */
  constructor(random: SeededRandom, largest: number) {
    this.#random = random;
    this.#largest = largest;
    this.#pool = Buffer.from(Array.from({ length: 2 * MAX_ATTACHMENT_BYTES }, () => random.between(0, 255)));
  }

  get ids(): readonly string[] {
    return [...this.#documents.keys()].sort();
  }

  revisions(id: string): readonly Revision[] {
    return [...(this.#documents.get(id)?.values() ?? [])];
  }

  find(id: string, rev: string): Revision | undefined {
    return this.#documents.get(id)?.get(rev);
  }

  /** Revisions that nothing was made of. */
  leaves(id: string): readonly Revision[] {
    return this.revisions(id).filter((revision) => !this.#parents.has(revision));
  }

  add(id: string, revision: Revision): Revision {
    const known = this.#documents.get(id) ?? new Map<string, Revision>();
    this.#documents.set(id, known.set(revision.rev, revision));
    if (revision.parent !== undefined) this.#parents.add(revision.parent);
    return revision;
  }

  /** A revision as another writer makes it, not known here yet. */
  next(parent: Revision | undefined, isDeleted: boolean): Revision {
    const generation = parent === undefined ? 1 : generationOf(parent.rev) + 1;
    const rev = `${generation}-${this.#random.hexDigits(32)}`;
    return { rev, parent, isDeleted, n: this.#random.between(0, 999), attachments: this.attachments() };
  }

  /** At least one. */
  attachments(): Attachments {
    const count = this.#random.chance(CHANCE_OF_SECOND_ATTACHMENT) ? 2 : 1;
    const entries = Array.from({ length: count }, () => [this.#random.oneOf(NAMES) ?? 'a', this.#content()] as const);
    return Object.fromEntries(entries);
  }

  #content(): Content {
    const bounds = [0, 100, 5_000, this.#largest];
    const bound = this.#random.chance(6) ? MAX_ATTACHMENT_BYTES : (this.#random.oneOf(bounds) ?? 0);
    const length = this.#random.between(0, bound);
    return { offset: this.#random.between(0, MAX_ATTACHMENT_BYTES), length };
  }

  bytes({ offset, length }: Content): Buffer {
    return this.#pool.subarray(offset, offset + length);
  }

  digest(content: Content): string {
    return `md5-${createHash('md5').update(this.bytes(content)).digest('base64')}`;
  }

  /** The `_attachments` of a request. */
  sent(attachments: Attachments): object {
    const entries = Object.entries(attachments).map(([name, content]) => [
      name,
      { content_type: CONTENT_TYPE, data: this.bytes(content).toString('base64') },
    ]);
    return Object.fromEntries(entries);
  }

  /** A revision with its whole ancestry, for a write without `new_edits`. */
  document(_id: string, { rev, parent, isDeleted, n, attachments }: Revision): object {
    const ids = [rev, ...ancestors(parent)].map((one) => one.slice(one.indexOf('-') + 1));
    const _attachments = this.sent(attachments);
    const marks = isDeleted ? { _deleted: true } : {};
    return { _id, _rev: rev, _revisions: { start: generationOf(rev), ids }, ...marks, n, _attachments };
  }
}

export function generationOf(rev: string): number {
  return Number.parseInt(rev, 10);
}

/** A revision and all that came before it, newest first. */
export function ancestors(revision: Revision | undefined): readonly string[] {
  const revs: string[] = [];
  for (let one = revision; one !== undefined; one = one.parent) revs.push(one.rev);
  return revs;
}

/** The winner by the rule of the interface: live before deleted, then the higher generation, then the greater hash. */
export function winnerOf(leaves: readonly Revision[]): string | undefined {
  const key = ({ rev, isDeleted }: Revision) =>
    `${isDeleted ? 0 : 1} ${String(generationOf(rev)).padStart(16, '0')} ${rev.slice(rev.indexOf('-'))}`;
  return [...leaves].sort((one, other) => (key(one) < key(other) ? 1 : -1))[0]?.rev;
}
