/** One of the two databases that replication keeps the same: in this browser, or at the server. Both are accessed in the same way. */
import { RequestError } from '../data/database.ts';
import type { RequestLog } from '../data/request-log.ts';
import { type ServerReason, whyNotReached } from '../following/server-reason.ts';

export interface Item {
  readonly id: string;
  readonly text: string;
  readonly isPacked: boolean;
  readonly rev: string;
  /** Revisions that are still in conflict, with their content; the first is the one that is shown. Only one if there is no conflict. */
  readonly versions: readonly Version[];
}

export interface Version {
  readonly rev: string;
  readonly text: string;
  readonly isPacked: boolean;
}

interface StoredItem {
  readonly _id: string;
  readonly _rev: string;
  readonly text?: string;
  readonly packed?: boolean;
  readonly _conflicts?: readonly string[];
}

const FIRST_ITEMS = ['Tent and pegs', 'Coffee, and the small pot', 'Rain jackets', 'A book for the train'];

const JSON_HEADERS = { Accept: 'application/json', 'Content-Type': 'application/json' };

export class PackingList {
  /** The path of the database, as pages of the demo reach it. */
  readonly path: string;
  readonly #log: RequestLog;

  constructor(path: string, log: RequestLog) {
    this.path = path;
    this.#log = log;
  }

  get changesAddress(): string {
    return `${this.path}/_changes?feed=eventsource&since=now&heartbeat=20000`;
  }

  /** Creates the database if it does not exist; returns whether it was created. At a server with an admin, only the admin may. */
  async create(): Promise<boolean> {
    const answer = await this.#ask('?if-missing=true', { method: 'PUT' }, 'quiet');
    if (answer.status === 401 && (await this.#ask('', {}, 'quiet')).ok) return false;
    const { existed } = await succeed(answer);
    return existed !== true;
  }

  /** Why the database can't be used; undefined: it can, and was made if it was not there. */
  reach(): Promise<ServerReason | undefined> {
    const name = this.path.split('/').at(-1) ?? '';
    return whyNotReached(name, (query, init) => this.#ask(query, init, 'quiet'));
  }

  /** Makes the database as an admin of the server. Returns false if name or password is wrong. What is sent is not shown among the requests. */
  async createAs(name: string, password: string): Promise<boolean> {
    const bytes = new TextEncoder().encode(`${name}:${password}`);
    const headers = { ...JSON_HEADERS, Authorization: `Basic ${btoa(String.fromCharCode(...bytes))}` };
    const answer = await this.#ask('?if-missing=true', { method: 'PUT', headers }, 'quiet');
    if (answer.status === 401) return false;
    await succeed(answer);
    return true;
  }

  /** Uses the same items and ids on either side: if both begin, they agree. */
  async addFirstItems(): Promise<void> {
    const docs = FIRST_ITEMS.map((text, index) => ({ _id: `item-${index + 1}`, text, packed: false }));
    await succeed(await this.#ask('/_bulk_docs', { method: 'POST', body: JSON.stringify({ docs }) }));
  }

  async items(): Promise<readonly Item[]> {
    const { rows } = await succeed(await this.#ask('/_all_docs?include_docs=true&conflicts=true', {}, 'quiet'));
    const stored: StoredItem[] = rows.map(({ doc }: { doc: StoredItem }) => doc);
    return Promise.all(stored.map((document) => this.#toItem(document)));
  }

  /** Returns false if someone else was quicker. */
  async save({ id, rev }: Pick<Item, 'id' | 'rev'>, text: string, isPacked: boolean): Promise<boolean> {
    const body = JSON.stringify({ _rev: rev, text, packed: isPacked });
    return isTaken(await this.#ask(`/${id}`, { method: 'PUT', body }));
  }

  /** Writes an item that was removed again, under its id. Returns false if somebody else did so already. */
  async restore({ id, text, isPacked }: Item): Promise<boolean> {
    return isTaken(await this.#ask(`/${id}`, { method: 'PUT', body: JSON.stringify({ text, packed: isPacked }) }));
  }

  /** Does nothing if there is an item with this id. */
  async add(text: string, id = newId()): Promise<void> {
    await isTaken(await this.#ask(`/${id}`, { method: 'PUT', body: JSON.stringify({ text, packed: false }) }));
  }

  /** Deletes all of its versions: if only one were deleted, another would become the winner. */
  async remove({ id, versions }: Item): Promise<void> {
    for (const { rev } of versions) await this.#delete(id, rev);
  }

  /** The chosen version replaces the one that is shown, and the others are deleted. */
  async resolve({ id, versions }: Item, { text, isPacked }: Version): Promise<void> {
    const [shown, ...others] = versions;
    if (shown) await this.save({ id, rev: shown.rev }, text, isPacked);
    for (const { rev } of others) await this.#delete(id, rev);
  }

  /** If someone else was quicker there is nothing left to delete. */
  async #delete(id: string, rev: string): Promise<void> {
    await isTaken(await this.#ask(`/${id}?${new URLSearchParams({ rev })}`, { method: 'DELETE' }));
  }

  async #toItem(document: StoredItem): Promise<Item> {
    const shown = toVersion(document);
    const others = (document._conflicts ?? []).map((rev) => this.#version(document._id, rev));
    return { id: document._id, ...shown, versions: [shown, ...(await Promise.all(others))] };
  }

  async #version(id: string, rev: string): Promise<Version> {
    return toVersion(await succeed(await this.#ask(`/${id}?${new URLSearchParams({ rev })}`, {}, 'quiet')));
  }

  #ask(path: string, init: RequestInit = {}, logging?: 'quiet'): Promise<Response> {
    return this.#log.fetch(`${this.path}${path}`, { headers: JSON_HEADERS, ...init }, logging);
  }
}

export function newId(): string {
  return `item-${Date.now().toString(36)}`;
}

function toVersion({ _rev: rev, text = '', packed = false }: StoredItem): Version {
  return { rev, text, isPacked: packed };
}

async function isTaken(answer: Response): Promise<boolean> {
  if (answer.status === 409) return false;
  await succeed(answer);
  return true;
}

async function succeed(answer: Response) {
  // What answers in place of a server that is away does not answer in JSON.
  if (answer.status >= 502 && answer.status <= 504)
    throw new RequestError(answer.status, 'The server can’t be reached.');
  const json = await answer.json();
  if (answer.ok) return json;
  throw new RequestError(answer.status, `${json.reason ?? json.error ?? answer.statusText}`);
}
