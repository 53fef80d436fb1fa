/** Writes random histories at the two ends of a replication, and remembers each revision that an end has acknowledged. */
import { at } from '../conformance/json.ts';
import type { SeededRandom } from '../seeded-random.ts';
import { type HistoryEnd, RefusedRequest } from './history-ends.ts';
import { type Attachments, ancestors, generationOf, type RandomHistories, type Revision } from './random-histories.ts';

const ODD_IDS = ['b+c', 'd/e', 'é 😀', '_design/x', 'f%41?g#h', 'constructor', '"k"'];
const SMALL_IDS = [...ODD_IDS, ...Array.from({ length: 50 }, (_, index) => `document ${index}`)];
const MANY_LEAVES_ID = 'many leaves';
const LEAVES = 300;
/** The only documents with branches longer than the limits of revisions. */
const LONG_IDS = ['long 1', 'long 2'];
const CHANCE_OF_TOMBSTONE = 20;

export function isLong(id: string): boolean {
  return LONG_IDS.includes(id);
}

type Ends = readonly [HistoryEnd, HistoryEnd];

export class HistoryWriter {
  readonly #histories: RandomHistories;
  readonly #ends: Ends;
  readonly #random: SeededRandom;
  /** The lower one of the two limits of revisions. */
  readonly #lowLimit: number;

  constructor(histories: RandomHistories, ends: Ends, random: SeededRandom) {
    this.#histories = histories;
    this.#ends = ends;
    this.#random = random;
    this.#lowLimit = Math.min(...ends.map(({ revsLimit }) => revsLimit));
  }

  /** Every document as a tree, parts of which one of the ends has, or both. */
  async fill(): Promise<void> {
    for (const id of SMALL_IDS) await this.#plant(id, this.#tree(this.#random.between(1, 6)));
    await this.#plant(MANY_LEAVES_ID, this.#bush());
    for (const [index, id] of LONG_IDS.entries()) {
      const chain = this.#chain(Math.max(...this.#ends.map(({ revsLimit }) => revsLimit)) + this.#random.between(0, 4));
      const end = this.#ends[index] ?? this.#ends[0];
      for (const revision of chain) await this.#bring([end], id, revision);
    }
  }

  #tree(count: number): readonly Revision[] {
    const made: Revision[] = [];
    while (made.length < count) {
      const parent = this.#random.chance(10) ? undefined : this.#random.oneOf(made);
      if (parent !== undefined && generationOf(parent.rev) >= this.#lowLimit) continue;
      made.push(this.#histories.next(parent, this.#random.chance(CHANCE_OF_TOMBSTONE)));
    }
    return made;
  }

  #bush(): readonly Revision[] {
    const root = this.#histories.next(undefined, false);
    const inner = [root, ...Array.from({ length: 5 }, () => this.#histories.next(root, false))];
    const leaves = Array.from({ length: LEAVES }, (_, index) => {
      // Each of the inner revisions has a child, so that only these are leaves.
      const parent = inner[index] ?? this.#random.oneOf(inner);
      return this.#histories.next(parent, this.#random.chance(10));
    });
    return [...inner, ...leaves];
  }

  #chain(length: number): readonly Revision[] {
    const made: Revision[] = [];
    while (made.length < length) made.push(this.#histories.next(made.at(-1), false));
    return made;
  }

  /** Leaves are written at one end or at both; of the others some are only known as ancestors. */
  async #plant(id: string, revisions: readonly Revision[]): Promise<void> {
    const inner = new Set(revisions.map(({ parent }) => parent));
    const perEnd = new Map<HistoryEnd, object[]>(this.#ends.map((end) => [end, []]));
    const known = new Map<Revision, Revision>();
    for (const made of revisions) {
      const ends = this.#random.chance(20) ? this.#ends : [this.#oneEnd()];
      const parent = made.parent === undefined ? undefined : known.get(made.parent);
      const revision = { ...made, parent, attachments: kept(made, made.attachments, ends) };
      known.set(made, this.#histories.add(id, revision));
      if (inner.has(made) && this.#random.chance(50)) continue;
      for (const end of ends) perEnd.get(end)?.push(this.#histories.document(id, made));
    }
    for (const [end, docs] of perEnd) await end.write(docs, false);
  }

  /** By the interface for apps: edits of a leaf that the end has, which keep some of its attachments. */
  async edit(): Promise<string> {
    const end = this.#oneEnd();
    const present = (await end.changes()).map((row) => String(at(row, 'id'))).sort();
    const id = this.#chooseId((one) => present.includes(one));
    if (id === undefined) return 'nothing to edit';
    const times = isLong(id) ? this.#random.between(1, 6) : 1;
    const script: string[] = [];
    for (let time = 0; time < times; time++) {
      // In the order of the revisions, which is the same in each run with this seed.
      const leaves = [...(await end.leaves(id))].sort((one, other) => (revOf(one) < revOf(other) ? -1 : 1));
      const leaf = this.#random.oneOf(leaves);
      const parent = this.#histories.find(id, revOf(leaf));
      if (parent === undefined) throw new Error(`${end.name} has a leaf that nobody wrote: ${id} ${revOf(leaf)}`);
      if (!isLong(id) && generationOf(parent.rev) >= this.#lowLimit) return `${id} is deep enough`;
      script.push(await this.#editLeaf(end, id, parent, leaf));
    }
    return script.join('\n');
  }

  async #editLeaf(end: HistoryEnd, _id: string, parent: Revision, leaf: unknown): Promise<string> {
    const made = this.#histories.next(parent, !parent.isDeleted && this.#random.chance(CHANCE_OF_TOMBSTONE));
    const stubs = !parent.isDeleted && this.#random.chance(50) ? Object(at(leaf, '_attachments') ?? {}) : {};
    const _attachments = { ...stubs, ...this.#histories.sent(made.attachments) };
    const marks = made.isDeleted ? { _deleted: true } : {};
    const [row] = await end.write([{ _id, _rev: parent.rev, ...marks, n: made.n, _attachments }], true);
    const inherited = Object.entries(parent.attachments).filter(([name]) => Object.hasOwn(stubs, name));
    const all = { ...Object.fromEntries(inherited), ...made.attachments };
    const revision = { ...made, rev: String(at(row, 'rev')), attachments: kept(made, all, [end]) };
    if (this.#histories.find(_id, revision.rev) === undefined) this.#histories.add(_id, revision);
    return `${end.name}: ${_id} ${parent.rev} becomes ${describe(revision)}`;
  }

  /** As a replication from a third database: revisions that may be conflicts, each again until it is acknowledged. */
  async bring(): Promise<string> {
    const script: string[] = [];
    for (let count = this.#random.between(1, 12); count > 0; count--) script.push(await this.#bringOne());
    return script.join('\n');
  }

  async #bringOne(): Promise<string> {
    const id = this.#chooseId(() => true) ?? '_design/x';
    const leaf = this.#random.oneOf(this.#histories.leaves(id));
    const parents = isLong(id)
      ? ancestors(leaf).slice(0, 3)
      : this.#histories.revisions(id).flatMap(({ rev }) => (generationOf(rev) < this.#lowLimit ? [rev] : []));
    const parent = this.#histories.find(id, this.#random.oneOf(parents) ?? '');
    const made = this.#histories.next(parent, this.#random.chance(CHANCE_OF_TOMBSTONE));
    const ends = this.#random.chance(20) ? this.#ends : [this.#oneEnd()];
    await this.#bring(ends, id, made);
    return `${ends.map(({ name }) => name)} gets ${id} ${describe(made)}, made of ${parent?.rev}`;
  }

  async #bring(ends: readonly HistoryEnd[], id: string, made: Revision): Promise<void> {
    for (const end of ends) await writeSurely(end, this.#histories.document(id, made));
    const parent = made.parent === undefined ? undefined : this.#histories.find(id, made.parent.rev);
    this.#histories.add(id, { ...made, parent, attachments: kept(made, made.attachments, ends) });
  }

  #oneEnd(): HistoryEnd {
    return this.#random.oneOf(this.#ends) ?? this.#ends[0];
  }

  #chooseId(isPossible: (id: string) => boolean): string | undefined {
    const chance = this.#random.between(0, 99);
    const ids = chance < 75 ? SMALL_IDS : chance < 90 ? LONG_IDS : [MANY_LEAVES_ID];
    return this.#random.oneOf(ids.filter(isPossible));
  }
}

function revOf(leaf: unknown): string {
  return String(at(leaf, '_rev'));
}

/** What is left of the attachments of a revision that these ends write. */
function kept({ isDeleted }: Revision, attachments: Attachments, ends: readonly HistoryEnd[]): Attachments {
  return isDeleted && !ends.some((end) => end.keepsAttachmentsOfTombstones) ? {} : attachments;
}

function describe({ rev, isDeleted, attachments }: Revision): string {
  const lengths = Object.entries(attachments).map(([name, { length }]) => `${name}: ${length}`);
  return `${rev}${isDeleted ? ' (deleted)' : ''} {${lengths.join(', ')}}`;
}

/** An end that was killed meanwhile gets the same again when it is back. */
async function writeSurely(end: HistoryEnd, document: object): Promise<void> {
  for (;;) {
    try {
      await end.write([document], false);
      return;
    } catch (failure) {
      if (failure instanceof RefusedRequest) throw failure;
      await end.restarted();
    }
  }
}
