/** The line between the two databases: two documents that ask for replications, one for each direction. Deleting them takes it away. */
import type { RequestLog } from '../requests/request-log.ts';

/** How a replication is, as `_scheduler/docs` tells. */
interface Listed {
  readonly doc_id: string;
  readonly state: string | null;
  readonly info: { readonly docs_written?: number; readonly changes_pending?: number; readonly error?: string } | null;
}

export interface LineState {
  readonly isOn: boolean;
  /** `resting`: both sides are the same. */
  readonly state: 'off' | 'copying' | 'resting' | 'failing';
  /** Documents that were copied since the replications began. */
  readonly sent: number;
  readonly received: number;
}

const REPLICATOR = '/db/_replicator';
const IDS = ['demo-send', 'demo-receive'];
const JSON_HEADERS = { Accept: 'application/json', 'Content-Type': 'application/json' };
const OFF: LineState = { isOn: false, state: 'off', sent: 0, received: 0 };

export class Line {
  readonly #log: RequestLog;
  readonly #local: string;
  readonly #remote: string;

  /** `local`: a database's name; `remote`: an absolute address. */
  constructor(local: string, remote: string, log: RequestLog) {
    this.#local = local;
    this.#remote = remote;
    this.#log = log;
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
      const rev = await this.#revision(id);
      if (rev !== undefined)
        await this.#ask(`${REPLICATOR}/${id}?${new URLSearchParams({ rev })}`, { method: 'DELETE' });
    }
  }

  async state(): Promise<LineState> {
    const answer = await this.#ask('/db/_scheduler/docs/_replicator', {}, 'quiet');
    if (!answer.ok) return OFF;
    const { docs }: { readonly docs: readonly Listed[] } = await answer.json();
    const own = docs.filter(({ doc_id }) => IDS.includes(doc_id));
    if (own.length === 0) return OFF;
    const written = (id: string) => own.find(({ doc_id }) => doc_id === id)?.info?.docs_written ?? 0;
    return { isOn: true, state: stateOf(own), sent: written('demo-send'), received: written('demo-receive') };
  }

  async #revision(id: string): Promise<string | undefined> {
    const query = new URLSearchParams({ keys: JSON.stringify([id]) });
    const answer = await this.#ask(`${REPLICATOR}/_all_docs?${query}`, {}, 'quiet');
    if (!answer.ok) return undefined;
    const { rows } = await answer.json();
    return rows[0]?.value?.deleted === true ? undefined : rows[0]?.value?.rev;
  }

  #ask(path: string, init: RequestInit, logging?: 'quiet'): Promise<Response> {
    return this.#log.fetch(path, { headers: JSON_HEADERS, ...init }, logging);
  }
}

function stateOf(listed: readonly Listed[]): LineState['state'] {
  if (listed.some(({ state, info }) => state === 'crashing' || state === 'failed' || info?.error)) return 'failing';
  const isResting = listed.every(({ state, info }) => state === 'running' && info?.changes_pending === 0);
  return isResting ? 'resting' : 'copying';
}
