/**
 * What all clients of a cluster know together of the documents of one database. Each of them is written with the revision that it is to replace, so it has
 * one revision of each generation. What was acknowledged, or read, before a request was sent must be in its response, at whatever server.
 */

export type Outcome = 'open' | 'done' | 'unknown' | 'refused';

/** A write. `token` is in the document that it writes; deletions have none there. */
export interface Attempt {
  readonly token: string;
  readonly base: number;
  readonly isDeletion: boolean;
  /** It replaces whatever deletion there is. */
  readonly isOnDeletion: boolean;
  outcome: Outcome;
}

interface Revision {
  /** 0 for a document that was never seen. */
  readonly generation: number;
  readonly rev: string | undefined;
  readonly isDeleted: boolean;
}

/** A document in a response. */
export interface Seen {
  readonly rev: string;
  /** Undefined if the response does not show the document. */
  readonly token?: string | undefined;
  readonly isDeleted: boolean;
}

const NONE: Revision = { generation: 0, rev: undefined, isDeleted: true };
/** What happened last to a document, for messages. */
const MAX_HISTORY = 30;

export function generationOf(rev: string): number {
  return Number.parseInt(rev, 10);
}

export class KnownDocument {
  readonly #id: string;
  readonly #faults: string[];
  readonly #revs = new Map<number, string>();
  readonly #attempts = new Map<string, Attempt>();
  readonly #history: string[] = [];
  #latest = NONE;

  constructor(id: string, faults: string[]) {
    this.#id = id;
    this.#faults = faults;
  }

  /** The newest revision that any client knows. */
  get latest(): Revision {
    return this.#latest;
  }

  /** How many writes were acknowledged. */
  get acknowledged(): number {
    return [...this.#attempts.values()].filter(({ outcome }) => outcome === 'done').length;
  }

  begin(token: string, isDeletion: boolean): Attempt {
    const { generation, isDeleted: isOnDeletion } = this.#latest;
    const attempt: Attempt = { token, base: generation, isDeletion, isOnDeletion, outcome: 'open' };
    this.#attempts.set(token, attempt);
    this.#note(`${token} begins on ${this.#latest.rev}${isDeletion ? ' (deletion)' : ''}`);
    return attempt;
  }

  acknowledge(attempt: Attempt, rev: string, where: string): void {
    attempt.outcome = 'done';
    this.#note(`${attempt.token} is ${rev} by ${where}`);
    if (generationOf(rev) !== attempt.base + 1 && !attempt.isOnDeletion)
      this.#fail(`${attempt.token} on generation ${attempt.base} became ${rev}, by ${where}`);
    this.#learn({ generation: generationOf(rev), rev, isDeleted: attempt.isDeletion }, where);
  }

  /** It was said that it was not carried out. */
  refuse(attempt: Attempt, why: string, where: string): void {
    attempt.outcome = 'refused';
    this.#note(`${attempt.token} refused by ${where}: ${why}`);
    if (why !== 'conflict') return;
    const others = [...this.#attempts.values()].filter((other) => other !== attempt && other.outcome !== 'refused');
    const hasReason = this.#latest.generation > attempt.base || others.some(({ base }) => base >= attempt.base);
    if (!hasReason) this.#fail(`${attempt.token} is in conflict, and nothing else was written, by ${where}`);
  }

  lose(attempt: Attempt, why: string, where: string): void {
    attempt.outcome = 'unknown';
    this.#note(`${attempt.token} unknown by ${where}: ${why}`);
  }

  /** `least`: the latest revision when the request was sent. */
  see({ rev, token, isDeleted }: Seen, least: Revision, where: string): void {
    const generation = generationOf(rev);
    this.#note(`${rev} seen by ${where}`);
    if (generation < least.generation) this.#fail(`${rev} after ${least.rev}, by ${where}`);
    const attempt = token === undefined ? undefined : this.#attempts.get(token);
    if (token !== undefined && attempt === undefined) this.#fail(`${token} was never written, by ${where}`);
    if (attempt?.outcome === 'refused') this.#fail(`${rev} is ${token}, which was refused, by ${where}`);
    this.#learn({ generation, rev, isDeleted }, where);
  }

  /** The response has no such document. */
  miss(least: Revision, where: string): void {
    this.#note(`missing by ${where}`);
    if (least.isDeleted) return;
    const deletions = [...this.#attempts.values()].filter(
      ({ isDeletion, outcome }) => isDeletion && outcome !== 'refused',
    );
    if (!deletions.some(({ base }) => base >= least.generation)) this.#fail(`missing after ${least.rev}, by ${where}`);
  }

  fail(what: string): void {
    this.#fail(what);
  }

  #learn(revision: Revision, where: string): void {
    const { generation, rev = '' } = revision;
    const known = this.#revs.get(generation);
    if (known !== undefined && known !== rev) this.#fail(`${rev} and ${known}, by ${where}`);
    this.#revs.set(generation, rev);
    if (generation > this.#latest.generation) this.#latest = revision;
  }

  #note(what: string): void {
    this.#history.push(`${Math.round(performance.now())} ${what}`);
    if (this.#history.length > MAX_HISTORY) this.#history.shift();
  }

  #fail(what: string): void {
    this.#faults.push(`${Math.round(performance.now())} ${this.#id}: ${what}\n    ${this.#history.join('\n    ')}`);
  }
}

/** The documents of one database. */
export class KnownDocuments {
  readonly name: string;
  readonly faults: string[] = [];
  readonly #documents = new Map<string, KnownDocument>();
  /** Which change has which number, by all feeds. */
  readonly #changes = new Map<number, string>();

  constructor(name: string) {
    this.name = name;
  }

  of(id: string): KnownDocument {
    const known = this.#documents.get(id) ?? new KnownDocument(`${this.name}/${id}`, this.faults);
    this.#documents.set(id, known);
    return known;
  }

  get acknowledged(): number {
    return [...this.#documents.values()].reduce((sum, { acknowledged }) => sum + acknowledged, 0);
  }

  /** The latest revision of each, as a request that is sent now must show them. */
  now(): ReadonlyMap<string, Revision> {
    return new Map([...this.#documents].map(([id, { latest }]) => [id, latest]));
  }

  /** Compares a list of all documents that are not deleted. */
  compare(found: ReadonlyMap<string, Seen>, least: ReadonlyMap<string, Revision>, where: string): void {
    for (const [id, seen] of found) this.of(id).see(seen, least.get(id) ?? NONE, where);
    for (const [id, revision] of least) if (!found.has(id)) this.of(id).miss(revision, where);
  }

  /** A feed has told this. */
  tell(seq: number, id: string, rev: string, where: string): void {
    const known = this.#changes.get(seq);
    if (known !== undefined && known !== `${id} ${rev}`)
      this.faults.push(`${this.name}: ${seq} is ${known}, and ${id} ${rev}, by ${where}`);
    this.#changes.set(seq, `${id} ${rev}`);
  }
}
