/** The connection between the two databases: two documents that request replications, one per direction. Deleting them removes it. */
import type { RequestLog } from '../data/request-log.ts';

/** The state of a replication, as `_scheduler/docs` reports it. */
export interface Listed {
  readonly doc_id: string;
  readonly state: string | null;
  readonly info: {
    readonly docs_written?: number;
    readonly changes_pending?: number | null;
    /** A number if the local database is the source. */
    readonly source_seq?: unknown;
    readonly error?: string;
    readonly error_since?: string;
    readonly next_attempt?: string;
  } | null;
}

/** What keeps the connection from copying. */
export interface PeerOutage {
  readonly reason: string;
  /** Milliseconds since the epoch. Undefined if unknown, and during an attempt. */
  readonly since: number | undefined;
  readonly nextAttempt: number | undefined;
}

export interface LineState {
  readonly isOn: boolean;
  /** `resting`: both sides are the same. */
  readonly state: 'off' | 'copying' | 'resting' | 'failing';
  /** Documents that were copied since the replications began. */
  readonly sent: number;
  readonly received: number;
  /** Changes that are not copied yet: in both directions while it copies, else those of this browser. Undefined if unknown. */
  readonly pending: number | undefined;
  readonly trouble: PeerOutage | undefined;
}

const REPLICATOR = '/db/_replicator';
const SEND = 'demo-send';
const RECEIVE = 'demo-receive';
const IDS = [SEND, RECEIVE];
const JSON_HEADERS = { Accept: 'application/json', 'Content-Type': 'application/json' };

export class Line {
  readonly #log: RequestLog;
  readonly #local: string;
  readonly #remote: string;
  /** The server has all of the local database up to this sequence; kept for the next visit. */
  readonly #sentUpTo: KeptNumber;

  /** `local`: a database's name; `remote`: an absolute address. */
  constructor(local: string, remote: string, log: RequestLog) {
    this.#local = local;
    this.#remote = remote;
    this.#log = log;
    this.#sentUpTo = new KeptNumber(`demo-sent-up-to/${local}`);
  }

  /** There never was a connection. */
  async isNew(): Promise<boolean> {
    const rows = await Promise.all(IDS.map((id) => this.#row(id)));
    return rows.every((row) => row?.value === undefined);
  }

  async connect(): Promise<void> {
    await this.#ask(`${REPLICATOR}?if-missing=true`, { method: 'PUT' }, 'quiet');
    const [send, receive] = [
      { source: this.#local, target: this.#remote },
      { source: this.#remote, target: this.#local },
    ];
    for (const [index, ends] of [send, receive].entries()) {
      const body = JSON.stringify({ ...ends, continuous: true });
      await this.#ask(`${REPLICATOR}/${IDS[index]}`, { method: 'PUT', body });
    }
  }

  async disconnect(): Promise<void> {
    for (const id of IDS) {
      const value = (await this.#row(id))?.value;
      if (value === undefined || value.deleted === true) continue;
      await this.#ask(`${REPLICATOR}/${id}?${new URLSearchParams({ rev: value.rev })}`, { method: 'DELETE' });
    }
  }

  async state(): Promise<LineState> {
    const answer = await this.#ask('/db/_scheduler/docs/_replicator', {}, 'quiet');
    const docs: readonly Listed[] = answer.ok ? (await answer.json()).docs : [];
    const send = docs.find(({ doc_id }) => doc_id === SEND);
    const receive = docs.find(({ doc_id }) => doc_id === RECEIVE);
    const own = [send, receive].filter((one) => one !== undefined);
    if (isAtRest(send)) this.#sentUpTo.set(send?.info?.source_seq);
    const state = stateOf(own);
    return {
      isOn: own.length > 0,
      state,
      sent: send?.info?.docs_written ?? 0,
      received: receive?.info?.docs_written ?? 0,
      pending: state === 'off' || state === 'failing' ? await this.#unsent() : pendingOf(own),
      trouble: troubleOf(own),
    };
  }

  /** Changes of this browser that the server does not have. */
  async #unsent(): Promise<number | undefined> {
    const since = this.#sentUpTo.get();
    if (since === undefined) return undefined;
    const query = new URLSearchParams({ since: String(since), limit: '1' });
    const answer = await this.#ask(`/db/${this.#local}/_changes?${query}`, {}, 'quiet');
    if (!answer.ok) return undefined;
    const { results, pending } = await answer.json();
    return results.length + pending;
  }

  async #row(id: string): Promise<{ readonly value?: { readonly rev: string; readonly deleted?: true } } | undefined> {
    const query = new URLSearchParams({ keys: JSON.stringify([id]) });
    const answer = await this.#ask(`${REPLICATOR}/_all_docs?${query}`, {}, 'quiet');
    return answer.ok ? (await answer.json()).rows[0] : undefined;
  }

  #ask(path: string, init: RequestInit, logging?: 'quiet'): Promise<Response> {
    return this.#log.fetch(path, { headers: JSON_HEADERS, ...init }, logging);
  }
}

function stateOf(own: readonly Listed[]): LineState['state'] {
  if (own.length === 0) return 'off';
  if (troubleOf(own) !== undefined) return 'failing';
  return own.every(isAtRest) ? 'resting' : 'copying';
}

/** It runs, and has copied all that there is. */
export function isAtRest(one: Listed | undefined): boolean {
  return one?.state === 'running' && one.info?.changes_pending === 0 && one.info.error === undefined;
}

function pendingOf(own: readonly Listed[]): number {
  return own.reduce((sum, { info }) => sum + (info?.changes_pending ?? 0), 0);
}

/** The longest outage of the two replications, and the earliest next attempt. */
function troubleOf(own: readonly Listed[]): PeerOutage | undefined {
  const failing = own.filter(({ info }) => info?.error !== undefined);
  if (failing.length === 0) return undefined;
  const times = (name: 'error_since' | 'next_attempt') =>
    failing.flatMap(({ info }) => (info?.[name] === undefined ? [] : [Date.parse(info[name])]));
  return {
    reason: failing[0]?.info?.error ?? '',
    since: least(times('error_since')),
    nextAttempt: least(times('next_attempt')),
  };
}

function least(numbers: readonly number[]): number | undefined {
  return numbers.length === 0 ? undefined : Math.min(...numbers);
}

/** A number that is kept for the next visit. */
export class KeptNumber {
  readonly #key: string;
  #value: number | undefined;

  constructor(key: string) {
    this.#key = key;
    const text = localStorage.getItem(key);
    this.#value = text === null ? undefined : Number(text);
  }

  get(): number | undefined {
    return this.#value;
  }

  set(value: unknown): void {
    if (typeof value !== 'number' || value === this.#value) return;
    this.#value = value;
    localStorage.setItem(this.#key, String(value));
  }
}
