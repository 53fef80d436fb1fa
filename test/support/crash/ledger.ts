/**
 * What the clients of a server that gets killed know about their documents: acknowledged writes, and requests
 * without a response. Each document has one client, which has at most one request in progress.
 */
interface Version {
  /** 1 for the first; for a local document the `n` of its `0-n`. */
  readonly generation: number;
  /** Undefined until a response reports it. */
  readonly rev: string | undefined;
  /** JSON text without `_id` and `_rev`; undefined for a deleted document. */
  readonly text: string | undefined;
}

/** What a server shows of a document; undefined if it shows none. */
export type Observed = { readonly rev: string; readonly text: string | undefined } | undefined;

interface Entry {
  settled: Version | undefined;
  pending: Version | undefined;
}

export class Ledger {
  readonly #entries = new Map<string, Entry>();
  /** Documents that were written to since the last `takeTouched`. */
  #touched = new Set<string>();
  #acknowledged = 0;

  get size(): number {
    return this.#entries.size;
  }

  /** Writes that the server has confirmed. */
  get acknowledged(): number {
    return this.#acknowledged;
  }

  ids(): string[] {
    return [...this.#entries.keys()];
  }

  settled(id: string): Version | undefined {
    return this.#entries.get(id)?.settled;
  }

  /** A write is about to be requested. Returns the revision that it replaces, unless that is a deleted one or none. */
  propose(id: string, text: string | undefined): string | undefined {
    const entry = this.#entries.get(id) ?? { settled: undefined, pending: undefined };
    if (entry.pending !== undefined) throw new Error(`${id} has a write under way already`);
    const { settled } = entry;
    // A local document leaves nothing when it is deleted, so counting starts again (docs/http/documents.md#local-documents).
    const isNew = settled === undefined || (isLocal(id) && settled.text === undefined);
    entry.pending = { generation: isNew ? 1 : settled.generation + 1, rev: undefined, text };
    this.#entries.set(id, entry);
    this.#touched.add(id);
    return settled?.text === undefined ? undefined : settled.rev;
  }

  acknowledge(id: string, rev: string): void {
    const entry = this.#entries.get(id);
    const pending = entry?.pending;
    if (entry === undefined || pending === undefined) throw new Error(`${id} has no write that could be confirmed`);
    const generation = isLocal(id) ? Number(rev.slice('0-'.length)) : Number.parseInt(rev, 10);
    const isGone = isLocal(id) && pending.text === undefined;
    if (generation !== pending.generation && !isGone) {
      throw new Error(`${id} was confirmed as ${rev}, where generation ${pending.generation} was due`);
    }
    entry.settled = { ...pending, rev };
    entry.pending = undefined;
    this.#acknowledged++;
  }

  /**
   * Compares what the server shows after its restart, and takes that as settled. Returns a sentence if it is neither
   * the acknowledged version nor the last requested one.
   */
  settle(id: string, observed: Observed): string | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined) return observed === undefined ? undefined : `${id}: nobody wrote it, and it is there`;
    const { settled, pending } = entry;
    if (!isSame(id, settled, observed)) {
      if (pending === undefined || !isSame(id, pending, observed)) {
        return `${id}: acknowledged ${show(settled)}, asked for ${show(pending)}, found ${show(observed)}`;
      }
      entry.settled = { ...pending, rev: observed?.rev };
    }
    entry.pending = undefined;
    return undefined;
  }

  takeTouched(): string[] {
    const touched = [...this.#touched];
    this.#touched = new Set();
    return touched;
  }
}

export function isLocal(id: string): boolean {
  return id.startsWith('_local/');
}

function isSame(id: string, version: Version | undefined, observed: Observed): boolean {
  if (version === undefined || (isLocal(id) && version.text === undefined)) return observed === undefined;
  if (observed === undefined || observed.text !== version.text) return false;
  if (version.rev !== undefined) return observed.rev === version.rev;
  return isLocal(id) ? observed.rev === `0-${version.generation}` : observed.rev.startsWith(`${version.generation}-`);
}

function show(version: Version | Observed): string {
  if (version === undefined) return 'nothing';
  const { rev = 'a next revision', text = 'deleted' } = version;
  return `${rev} (${text.length > 200 ? `${text.slice(0, 200)}… of ${text.length}` : text})`;
}
