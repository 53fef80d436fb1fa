import { assert } from 'chai';
import { Answer, assertDecent } from './answer.ts';
import { FeedReader } from './feed-reader.ts';
import type { BrokenBody, Host, HostRequest, Settings } from './host.ts';
import { arrayAt, numberAt, stringAt } from './json.ts';
import { deadlineMs, withDeadline } from './with-deadline.ts';

export interface RequestOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | BrokenBody;
  /** Sent as JSON text, with the content type of JSON. */
  readonly json?: unknown;
}

/** What a case uses: a fresh database, requests, and the few steps with which nearly every case begins. */
export class Toolkit {
  readonly host: Host;
  /** Name of a database that exists, is empty, and is removed when the case has ended. */
  readonly db: string;
  readonly #names: string[] = [];
  /** Toolkits on services of their own, which end with the case. */
  readonly #variants: Toolkit[] = [];
  readonly #feeds: FeedReader[] = [];
  /** Sent with the toolkit's own requests, which create and remove databases. */
  readonly #ownHeaders: Readonly<Record<string, string>>;

  private constructor(host: Host, db: string, ownHeaders: Readonly<Record<string, string>>) {
    this.host = host;
    this.db = db;
    this.#ownHeaders = ownHeaders;
  }

  static async open(host: Host, db: string, ownHeaders: Readonly<Record<string, string>> = {}): Promise<Toolkit> {
    const toolkit = new Toolkit(host, db, ownHeaders);
    await toolkit.createDatabase(db);
    return toolkit;
  }

  get baseUrl(): string {
    return this.host.baseUrl;
  }

  /** The beginning of the path of every address; empty for a service at the root. */
  get basePath(): string {
    return new URL(this.baseUrl).pathname.replace(/\/$/, '');
  }

  /**
   * `path` is sent unchanged, percent-encoding included. The headers are those given, and `Accept: application/json`
   * unless `accept` is among them (an empty one omits it).
   */
  async request(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const request: HostRequest = { method, path, headers: headersOf(options), body: bodyOf(options) };
    const answer = new Answer(await withDeadline(this.host.send(request), `the answer to ${method} ${path}`));
    assertDecent(request, answer);
    return answer;
  }

  /** Sends a request below the case's database; `path` begins with `/` or `?`, or is empty. */
  async at(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    return this.request(method, `${databasePath(this.db)}${path}`, options);
  }

  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.at('GET', path, { headers });
  }

  /** Requests a response that is read while it is being sent. It is cancelled after the case, if it did not end. */
  async follow(path: string, options: RequestOptions & { readonly method?: string } = {}): Promise<FeedReader> {
    const { method = 'GET' } = options;
    const request: HostRequest = { method, path, headers: headersOf(options), body: bodyOf(options) };
    const answer = await withDeadline(this.host.open(request), `the head of ${method} ${path}`);
    const feed = new FeedReader(answer, `${method} ${path}`);
    this.#feeds.push(feed);
    return feed;
  }

  /** A feed of the case's database that must be answered with 200; `parameters` follows the `?`. */
  async feed(parameters: string, options: RequestOptions & { readonly method?: string } = {}): Promise<FeedReader> {
    const feed = await this.follow(`${databasePath(this.db)}/_changes?${parameters}`, options);
    assert.equal(feed.status, 200, parameters);
    return feed;
  }

  /** Writes a document that must be accepted, and returns its new revision. `path` is the id in the form used in a path. */
  async put(path: string, document: unknown): Promise<string> {
    const answer = await this.at('PUT', `/${path}`, { json: document });
    assert.include([200, 201], answer.status, answer.text);
    return stringAt(answer.json, 'rev');
  }

  async delete(path: string, rev: string): Promise<string> {
    const answer = await this.at('DELETE', `/${path}?rev=${rev}`);
    assert.equal(answer.status, 200, answer.text);
    return stringAt(answer.json, 'rev');
  }

  /** Sends `_bulk_docs`, which must answer 201; returns its rows. */
  async bulk(docs: readonly unknown[], members: Readonly<Record<string, unknown>> = {}): Promise<readonly unknown[]> {
    const answer = await this.at('POST', '/_bulk_docs', { json: { docs, ...members } });
    assert.equal(answer.status, 201, answer.text);
    return arrayAt(answer.json);
  }

  /** Writes revisions like a replicator; none may be refused. */
  async replicate(docs: readonly unknown[]): Promise<void> {
    assert.deepEqual(await this.bulk(docs, { new_edits: false }), []);
  }

  async info(): Promise<unknown> {
    const answer = await this.get('');
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  }

  async updateSeq(): Promise<number> {
    return numberAt(await this.info(), 'update_seq');
  }

  /** Compacts, and waits for the end. */
  async compact(): Promise<void> {
    const answer = await this.at('POST', '/_compact', { headers: { 'content-type': 'application/json' } });
    assert.equal(answer.status, 202, answer.text);
    const giveUpAt = Date.now() + deadlineMs;
    while (JSON.stringify(await this.info()).includes('"compact_running":true')) {
      assert.isBelow(Date.now(), giveUpAt, 'compaction should have ended');
      await nextPoll();
    }
  }

  /** Creates another database (again, if it exists), and removes it after the case. */
  async createDatabase(name: string): Promise<void> {
    const headers = this.#ownHeaders;
    const path = databasePath(name);
    let answer = await this.request('PUT', path, { headers });
    if (answer.status === 412) {
      await this.request('DELETE', path, { headers });
      answer = await this.request('PUT', path, { headers });
    }
    assert.equal(answer.status, 201, answer.text);
    this.forgetLater(name);
  }

  /** Removes a database after the case that the case itself creates. */
  forgetLater(name: string): void {
    this.#names.push(name);
  }

  async restart(): Promise<void> {
    assert(this.host.restart, 'the case should declare that it needs a restart');
    await this.host.restart();
  }

  /** A toolkit on a service of its own with these settings. `ownHeaders`: the headers needed there to create and remove databases. */
  async withSettings(settings: Settings, ownHeaders: Readonly<Record<string, string>> = {}): Promise<Toolkit> {
    assert(this.host.withSettings, 'the case should declare that it needs settings');
    const host = await this.host.withSettings(settings);
    const toolkit = new Toolkit(host, this.db, ownHeaders);
    this.#variants.push(toolkit);
    await toolkit.createDatabase(this.db);
    return toolkit;
  }

  async close(): Promise<void> {
    await this.#endFeeds();
    await this.#closeVariants();
    for (const name of this.#names) await this.request('DELETE', databasePath(name), { headers: this.#ownHeaders });
  }

  /** A service that is closed lets open requests end for some seconds. */
  async #closeVariants(): Promise<void> {
    for (const variant of this.#variants.splice(0)) {
      await variant.#endFeeds();
      await variant.#closeVariants();
      await variant.host.close();
    }
  }

  async #endFeeds(): Promise<void> {
    for (const feed of this.#feeds.splice(0)) await feed.cancel();
  }
}

/** The pause between two checks of something that has no event in the interface. Yields to timers and input. */
export function nextPoll(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}

export function databasePath(name: string): string {
  return `/${encodeURIComponent(name)}`;
}

function headersOf(options: RequestOptions): Record<string, string> {
  const { accept = 'application/json', ...others } = options.headers ?? {};
  return {
    ...(accept === '' ? {} : { accept }),
    ...('json' in options ? { 'content-type': 'application/json' } : {}),
    ...others,
  };
}

function bodyOf(options: RequestOptions): HostRequest['body'] {
  return 'json' in options ? JSON.stringify(options.json) : (options.body ?? null);
}
