/** The two ends of a replication as a test writes and reads them, past the relays. */
import { documentPath } from '../../../src/replication/peers/identifiers.ts';
import { arrayAt, at } from '../conformance/json.ts';
import type { KillablePouch } from './pouch-process.ts';

export interface HistoryEnd {
  readonly name: string;
  /** Its `_revs_limit`. */
  readonly revsLimit: number;
  /** `PouchDB`: removes attachments of every tombstone that it writes (9.0.0), into its own storage and into servers. */
  readonly keepsAttachmentsOfTombstones: boolean;
  /** Rows of the changes feed, with the winners. */
  changes(): Promise<readonly unknown[]>;
  /** All leaves, with `_revisions`, and attachments as stubs. */
  leaves(id: string): Promise<readonly unknown[]>;
  attachment(id: string, name: string, rev: string): Promise<Uint8Array>;
  /** `_bulk_docs`. Rejects if a document is refused, or if the end is killed before it has answered. */
  write(docs: readonly object[], newEdits: boolean): Promise<readonly unknown[]>;
  /** Resolves when the end answers again after a kill. */
  restarted(): Promise<void>;
}

export class PouchEnd implements HistoryEnd {
  readonly name = 'PouchDB';
  readonly keepsAttachmentsOfTombstones = false;
  readonly revsLimit: number;
  readonly #pouch: KillablePouch;

  constructor(pouch: KillablePouch, revsLimit: number) {
    this.#pouch = pouch;
    this.revsLimit = revsLimit;
  }

  async changes(): Promise<readonly unknown[]> {
    return arrayAt(await this.#pouch.ask('changes'), 'results');
  }

  async leaves(id: string): Promise<readonly unknown[]> {
    return arrayAt(await this.#pouch.ask('get', id, { open_revs: 'all', revs: true })).map((one) => at(one, 'ok'));
  }

  async attachment(id: string, name: string, rev: string): Promise<Uint8Array> {
    const found = await this.#pouch.ask('getAttachment', id, name, { rev });
    if (found instanceof Uint8Array) return found;
    throw new Error(`PouchDB has no bytes of ${name}`);
  }

  async write(docs: readonly object[], newEdits: boolean): Promise<readonly unknown[]> {
    return expectWritten(await this.#pouch.ask('bulkDocs', docs, { new_edits: newEdits }));
  }

  restarted(): Promise<void> {
    return this.#pouch.restarted();
  }
}

/** What distinguishes a database at an address. */
interface HttpEndOptions {
  readonly name: string;
  readonly revsLimit: number;
  /** Of the database; may have a name and a password, and may change. */
  url(): string;
  restarted(): Promise<void>;
}

export class HttpEnd implements HistoryEnd {
  readonly keepsAttachmentsOfTombstones = true;
  readonly #options: HttpEndOptions;

  constructor(options: HttpEndOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  get revsLimit(): number {
    return this.#options.revsLimit;
  }

  restarted(): Promise<void> {
    return this.#options.restarted();
  }

  async create(): Promise<void> {
    await this.#json('PUT', '');
    await this.#json('PUT', '/_revs_limit', this.revsLimit);
  }

  async remove(): Promise<void> {
    await this.#json('DELETE', '');
  }

  async changes(): Promise<readonly unknown[]> {
    return arrayAt(await this.#json('GET', '/_changes'), 'results');
  }

  async leaves(id: string): Promise<readonly unknown[]> {
    const found = await this.#json('GET', `${documentPath(id)}?open_revs=all&revs=true`);
    return arrayAt(found).map((one) => at(one, 'ok'));
  }

  async attachment(id: string, name: string, rev: string): Promise<Uint8Array> {
    const response = await this.#ask('GET', `${documentPath(id)}/${encodeURIComponent(name)}?rev=${rev}`);
    return new Uint8Array(await response.arrayBuffer());
  }

  async write(docs: readonly object[], newEdits: boolean): Promise<readonly unknown[]> {
    return expectWritten(await this.#json('POST', '/_bulk_docs', { docs, new_edits: newEdits }));
  }

  async #json(method: string, path: string, body?: unknown): Promise<unknown> {
    return (await this.#ask(method, path, body)).json();
  }

  async #ask(method: string, path: string, body?: unknown): Promise<Response> {
    const { username, password, origin, pathname } = new URL(this.#options.url());
    const account = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    const authorization = username === '' ? {} : { authorization: `Basic ${Buffer.from(account).toString('base64')}` };
    const response = await fetch(`${origin}${pathname}${path}`, {
      method,
      headers: { accept: 'application/json', 'content-type': 'application/json', ...authorization },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new RefusedRequest(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response;
  }
}

/** The end has answered, and did not do what was asked. */
export class RefusedRequest extends Error {}

function expectWritten(rows: unknown): readonly unknown[] {
  const refused = arrayAt(rows).filter((row) => at(row, 'error') !== undefined);
  if (refused.length > 0) throw new RefusedRequest(`not written: ${JSON.stringify(refused)}`);
  return arrayAt(rows);
}
