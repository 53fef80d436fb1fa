/** What a run counts, and what it reports of that while it runs. */
import { toWellFormed } from '../../base/json/portable-values.ts';
import { isDesignId } from '../../database/documents/identifiers.ts';
import type { PeerOutage, RefusedDocument, RunObserver, RunStats, Sequence } from '../contract.ts';

/** Minimum interval between reports to an observer. */
const REPORT_MS = 250;
/** Refused documents that a history entry names. */
const KEPT_REFUSED = 100;

type Counted =
  | 'docsRead'
  | 'docsWritten'
  | 'docWriteFailures'
  | 'missingChecked'
  | 'missingFound'
  | 'bytesRead'
  | 'bytesWritten';

export class ReplicationStats {
  readonly refused: RefusedDocument[] = [];
  sourceSeq: Sequence = 0;
  checkpointedSourceSeq: Sequence = 0;
  /** Changes after those that were read; undefined if the source doesn't say. */
  pendingAtSource: number | undefined;
  /** Changes that were read and are not processed. */
  changesUnderWay = 0;
  /** Both databases have responded. */
  hasReached = false;
  readonly #observer: RunObserver;
  readonly #counts: Record<Counted, number> = {
    docsRead: 0,
    docsWritten: 0,
    docWriteFailures: 0,
    missingChecked: 0,
    missingFound: 0,
    bytesRead: 0,
    bytesWritten: 0,
  };
  readonly #troubles = new Map<string, PeerOutage>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #reportedAt = Number.NEGATIVE_INFINITY;
  readonly #monotonic: () => number;

  constructor(observer: RunObserver, monotonic: () => number) {
    this.#observer = observer;
    this.#monotonic = monotonic;
  }

  /** What the session before this one was working on when it failed is read again. */
  beginSession(since: Sequence): void {
    this.sourceSeq = since;
    this.checkpointedSourceSeq = since;
    this.changesUnderWay = 0;
  }

  add(counts: Partial<Record<Counted, number>>): void {
    for (const [name, count] of Object.entries(counts)) this.#counts[name as Counted] += count;
    this.changed();
  }

  refuse(refused: RefusedDocument): void {
    const document = ledgerLine(refused);
    if (this.refused.length < KEPT_REFUSED) this.refused.push(document);
    this.add({ docWriteFailures: 1 });
    this.#observer.refused(document);
  }

  /** As `refuse`, for what the target refused: with a remedy, if there is a known one. */
  refuseByTarget(refused: RefusedDocument): void {
    this.refuse(isDesignId(refused.id) && OF_RIGHTS.has(refused.error) ? withRemedy(refused) : refused);
  }

  /** To be called before a checkpoint passes what was refused: no later run reads it again. */
  async keepRefused(): Promise<void> {
    await this.#observer.keepRefused?.();
  }

  /** `end`: the end that has the outage. `outage`: undefined when it is over. */
  setOutage(end: 'source' | 'target', outage: PeerOutage | undefined): void {
    if (outage === undefined) this.#troubles.delete(end);
    else this.#troubles.set(end, outage);
    this.changed();
  }

  /** The source lists the document with these leaves. */
  listed(id: string, revs: readonly string[]): void {
    this.#observer.listed(id, revs);
  }

  get(): RunStats {
    const { sourceSeq, checkpointedSourceSeq, pendingAtSource, changesUnderWay, hasReached } = this;
    const pending = pendingAtSource === undefined ? undefined : pendingAtSource + changesUnderWay;
    const [outage] = [...this.#troubles.values()].sort((one, other) => one.since - other.since);
    return { ...this.#counts, sourceSeq, checkpointedSourceSeq, pending, outage, hasReached };
  }

  /** Notifies the observer, at once or soon. */
  changed(): void {
    if (this.#timer !== undefined) return;
    const waitMs = this.#reportedAt + REPORT_MS - this.#monotonic();
    if (waitMs <= 0) this.report();
    else this.#timer = setTimeout(() => this.report(), waitMs);
  }

  /** Notifies the observer at once, for the last time if nothing changes any more. */
  report(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#reportedAt = this.#monotonic();
    this.#observer.progress(this.get());
  }

  /** Reports what was not reported yet. A run that failed before it counted anything reports nothing. */
  end(): void {
    if (this.#timer !== undefined) this.report();
  }
}

/** The family's errors for what only admins may write. */
const OF_RIGHTS: ReadonlySet<string> = new Set(['forbidden', 'unauthorized']);
const ONLY_ADMINS =
  'Only an admin of the target may write design documents: set design_docs to false, or let an admin push it';

function withRemedy(refused: RefusedDocument): RefusedDocument {
  const reason = storableText(refused.reason, MAX_REASON_LENGTH - ONLY_ADMINS.length - 3).replace(/[.\s]+$/, '');
  return { ...refused, reason: reason === '' ? ONLY_ADMINS : `${reason}. ${ONLY_ADMINS}` };
}

/** Maximum characters of an id or a revision, and of an error. Longer ones are cut. */
const MAX_NAME_LENGTH = 8_192;
const MAX_ERROR_LENGTH = 100;
const MAX_REASON_LENGTH = 1_000;

/**
 * Returns a refused document that can be shown and stored, also in checkpoints, whatever a peer named: a lone surrogate becomes U+FFFD, and text
 * that is too long is cut.
 */
export function ledgerLine({ id, rev, error, reason }: RefusedDocument): RefusedDocument {
  return {
    id: storableText(id, MAX_NAME_LENGTH),
    rev: storableText(rev, MAX_NAME_LENGTH),
    error: storableText(error, MAX_ERROR_LENGTH),
    reason: storableText(reason, MAX_REASON_LENGTH),
  };
}

export function storableText(text: string, longest: number): string {
  return toWellFormed(text.length > longest ? `${text.slice(0, longest)}…` : text);
}
