/** A client of a cluster: writes and reads at any of its servers, and compares each response with what all clients know. */
import type { SeededRandom } from '../seeded-random.ts';
import { askCluster, type ClusterAnswer, isKnownNotDone } from './answers.ts';
import { type Attempt, generationOf, type KnownDocument, type KnownDocuments, type Seen } from './known-documents.ts';

/** The servers of a cluster, for clients. */
export interface Servers {
  /** URLs with a slash at their ends, of those that were started. */
  readonly urls: readonly string[];
  /** Called with each response that is not a success. */
  onFailure(answer: ClusterAnswer): void;
}

/** `fixed`: always the same server; `moving`: another one when it is refused; `any`: another one for each request. */
export type Loyalty = 'fixed' | 'moving' | 'any';

interface Row {
  readonly id: string;
  readonly value: { readonly rev: string; readonly token?: string; readonly deleted?: boolean };
  readonly doc?: { readonly token?: string } | null;
}

interface Change {
  readonly seq: number | string;
  readonly id: string;
  readonly changes: readonly { readonly rev: string }[];
  readonly deleted?: boolean;
}

/** How far a client has read the changes of a database. */
interface Position {
  since: number | string;
  readonly generations: Map<string, number>;
}

export const DESIGN = {
  _id: '_design/v',
  views: { by: { map: 'function (doc) { if (doc.token) emit(doc._id, { rev: doc._rev, token: doc.token }); }' } },
};
const DOCUMENTS = 6;
const LONGPOLL_MS = 1500;

export class ClusterClient {
  readonly name: string;
  readonly faults: string[] = [];
  done = 0;
  readonly #servers: Servers;
  readonly #databases: readonly KnownDocuments[];
  readonly #random: SeededRandom;
  readonly #loyalty: Loyalty;
  readonly #positions = new Map<string, Position>();
  #tokens = 0;
  #at = 0;

  constructor(
    name: string,
    loyalty: Loyalty,
    servers: Servers,
    databases: readonly KnownDocuments[],
    random: SeededRandom,
  ) {
    this.name = name;
    this.#loyalty = loyalty;
    this.#servers = servers;
    this.#databases = databases;
    this.#random = random;
    this.#at = random.between(0, 9);
  }

  async live(life: { readonly isOver: boolean }): Promise<void> {
    while (!life.isOver) await this.#step();
  }

  async #step(): Promise<void> {
    const random = this.#random;
    const database = random.oneOf(this.#databases);
    if (database === undefined) return;
    const kind = random.between(0, 99);
    if (kind < 40) await this.#writeAndRead(database);
    else if (kind < 48) await this.#writeSome(database);
    else if (kind < 68) await this.#read(database, this.#anyId());
    else if (kind < 75) await this.readList(database);
    else if (kind < 83) await this.readChanges(database, 'normal');
    else if (kind < 87) await this.readChanges(database, 'longpoll');
    else if (kind < 94) await this.#readSome(database);
    else await this.readView(database);
  }

  /** Its own document, or one that all write. */
  #id(): string {
    const number = this.#random.between(1, DOCUMENTS);
    return this.#random.chance(60) ? `doc-${this.name}-${number}` : `doc-all-${number}`;
  }

  #anyId(): string {
    return this.#random.chance(30) ? `doc-client${this.#random.between(0, 5)}-1` : this.#id();
  }

  async #writeAndRead(database: KnownDocuments): Promise<void> {
    const id = this.#id();
    await this.#write(database, id);
    if (this.#random.chance(40)) await this.#read(database, id);
  }

  async #ask(method: string, path: string, body?: unknown): Promise<ClusterAnswer> {
    const { urls } = this.#servers;
    if (this.#loyalty === 'any') this.#at = this.#random.between(0, urls.length - 1);
    const url = urls[this.#at % urls.length] ?? '';
    const waitMs = this.#random.chance(30) ? 6_000 : 40_000;
    const answer = await askCluster({ method, url: `${url}${path}`, body, waitMs });
    const { status, text } = answer;
    if (status >= 200 && status < 300) this.done += 1;
    else {
      this.#servers.onFailure(answer);
      if (this.#loyalty === 'moving' && status !== 404 && status !== 409) this.#at += 1;
      if (![0, 307, 404, 409, 503].includes(status)) this.#fail(answer);
      if (status === 404 && !/deleted|missing/.test(text)) this.#fail(answer);
      if (status === 0 || status === 503 || status === 307) await new Promise((resolve) => setTimeout(resolve, 30));
    }
    return answer;
  }

  async #write(database: KnownDocuments, id: string): Promise<void> {
    const known = database.of(id);
    const { rev, isDeleted } = known.latest;
    const isDeletion = !isDeleted && this.#random.chance(12);
    const attempt = known.begin(this.#token(), isDeletion);
    const path = `${database.name}/${id}`;
    const answer = isDeletion
      ? await this.#ask('DELETE', `${path}?rev=${rev}`)
      : await this.#ask('PUT', path, { token: attempt.token, ...(!isDeleted && { _rev: rev }) });
    await this.#conclude(database, id, { known, attempt, answer });
  }

  async #conclude(
    database: KnownDocuments,
    id: string,
    { known, attempt, answer }: { known: KnownDocument; attempt: Attempt; answer: ClusterAnswer },
  ): Promise<void> {
    const { status, text } = answer;
    const where = this.#where(answer);
    if (status === 201 || status === 200 || status === 202) {
      known.acknowledge(attempt, (JSON.parse(text) as { rev: string }).rev, where);
      return;
    }
    if (isKnownNotDone(answer)) known.refuse(attempt, status === 409 ? 'conflict' : `${status} ${text}`, where);
    else known.lose(attempt, `${status} ${text}`, where);
    await this.#readRevision(database, id);
  }

  /** Several documents in one request. */
  async #writeSome(database: KnownDocuments): Promise<void> {
    const ids = [...new Set([this.#id(), this.#id(), this.#id()])];
    const begun = ids.map((id) => {
      const known = database.of(id);
      const { rev, isDeleted } = known.latest;
      const isDeletion = !isDeleted && this.#random.chance(10);
      const attempt = known.begin(this.#token(), isDeletion);
      const { token } = attempt;
      return { known, attempt, doc: { _id: id, token, _deleted: isDeletion, ...(!isDeleted && { _rev: rev }) } };
    });
    const answer = await this.#ask('POST', `${database.name}/_bulk_docs`, { docs: begun.map(({ doc }) => doc) });
    const where = this.#where(answer);
    const results =
      answer.status === 201 ? (JSON.parse(answer.text) as { id: string; rev?: string; error?: string }[]) : undefined;
    for (const [index, { known, attempt }] of begun.entries()) {
      const result = results?.[index];
      if (result?.rev !== undefined && result.error === undefined) known.acknowledge(attempt, result.rev, where);
      else if (result?.error === 'conflict') known.refuse(attempt, 'conflict', where);
      else if (results !== undefined) known.fail(`${JSON.stringify(result)} for ${attempt.token}, by ${where}`);
      else if (isKnownNotDone(answer)) known.refuse(attempt, `${answer.status} ${answer.text}`, where);
      else known.lose(attempt, `${answer.status} ${answer.text}`, where);
    }
    for (const id of ids) await this.#readRevision(database, id);
  }

  async #read(database: KnownDocuments, id: string): Promise<void> {
    const known = database.of(id);
    const least = known.latest;
    const answer = await this.#ask('GET', `${database.name}/${id}?conflicts=true`);
    const where = this.#where(answer);
    if (answer.status === 404) known.miss(least, where);
    if (answer.status !== 200) return;
    const found = JSON.parse(answer.text) as { _rev: string; token: string; _conflicts?: string[] };
    known.see({ rev: found._rev, token: found.token, isDeleted: false }, least, where);
    if (found._conflicts !== undefined) known.fail(`${found._rev} and ${found._conflicts}, by ${where}`);
  }

  /** Also that of a deletion. */
  async #readRevision(database: KnownDocuments, id: string): Promise<void> {
    const known = database.of(id);
    const least = known.latest;
    const answer = await this.#ask('POST', `${database.name}/_all_docs?include_docs=true`, { keys: [id] });
    if (answer.status !== 200) return;
    const where = this.#where(answer);
    const [row] = (JSON.parse(answer.text) as { rows: (Row & { error?: string })[] }).rows;
    if (row?.value === undefined) known.miss(least, where);
    else known.see({ rev: row.value.rev, token: row.doc?.token, isDeleted: row.value.deleted === true }, least, where);
  }

  async readList(database: KnownDocuments): Promise<void> {
    const least = database.now();
    const answer = await this.#ask('GET', `${database.name}/_all_docs?include_docs=true`);
    if (answer.status !== 200) return;
    const found = (JSON.parse(answer.text) as { rows: Row[] }).rows.filter(({ id }) => id.startsWith('doc-'));
    const seen = found.map(({ id, value: { rev }, doc }): [string, Seen] => [
      id,
      { rev, token: doc?.token, isDeleted: false },
    ]);
    database.compare(new Map(seen), least, `_all_docs by ${this.#where(answer)}`);
  }

  async readView(database: KnownDocuments): Promise<void> {
    const least = database.now();
    const answer = await this.#ask('GET', `${database.name}/_design/v/_view/by`);
    if (answer.status !== 200) return;
    const { rows } = JSON.parse(answer.text) as { rows: Row[] };
    const seen = rows.map(({ id, value: { rev, token } }): [string, Seen] => [id, { rev, token, isDeleted: false }]);
    database.compare(new Map(seen), least, `the view by ${this.#where(answer)}`);
  }

  async #readSome(database: KnownDocuments): Promise<void> {
    const ids = [...new Set([this.#anyId(), this.#id(), this.#id()])];
    const least = database.now();
    const answer = await this.#ask('POST', `${database.name}/_bulk_get`, { docs: ids.map((id) => ({ id })) });
    if (answer.status !== 200) return;
    const where = `_bulk_get by ${this.#where(answer)}`;
    const { results } = JSON.parse(answer.text) as {
      results: { id: string; docs: { ok?: { _rev: string; token?: string; _deleted?: boolean } }[] }[];
    };
    for (const { id, docs } of results) {
      const known = database.of(id);
      const before = least.get(id) ?? { generation: 0, rev: undefined, isDeleted: true };
      if (docs.length !== 1) known.fail(`${docs.length} revisions, by ${where}`);
      const ok = docs[0]?.ok;
      if (ok === undefined) known.miss(before, where);
      else known.see({ rev: ok._rev, token: ok.token, isDeleted: ok._deleted === true }, before, where);
    }
  }

  /** Goes on where it has stopped, at another server. */
  async readChanges(database: KnownDocuments, feed: 'normal' | 'longpoll'): Promise<void> {
    const position = this.#positions.get(database.name) ?? { since: 0, generations: new Map<string, number>() };
    this.#positions.set(database.name, position);
    const least = database.now();
    const since = encodeURIComponent(position.since);
    const answer = await this.#ask(
      'GET',
      `${database.name}/_changes?feed=${feed}&timeout=${LONGPOLL_MS}&since=${since}`,
    );
    if (answer.status !== 200) return;
    const where = `${feed} _changes by ${this.#where(answer)}`;
    const { results, last_seq: last } = JSON.parse(answer.text) as { results: Change[]; last_seq: number | string };
    let before = Number.parseInt(`${position.since}`, 10);
    for (const { seq, id, changes, deleted } of results) {
      const number = Number.parseInt(`${seq}`, 10);
      if (number <= before) this.faults.push(`${database.name}: ${seq} after ${before}, ${where}`);
      before = number;
      if (!id.startsWith('doc-')) continue;
      const rev = changes[0]?.rev ?? '';
      database.tell(number, id, rev, where);
      database.of(id).see({ rev, isDeleted: deleted === true }, NOTHING, where);
      position.generations.set(id, generationOf(rev));
    }
    if (Number.parseInt(`${last}`, 10) < before)
      this.faults.push(`${database.name}: last_seq ${last} after ${before}, ${where}`);
    position.since = last;
    for (const [id, { generation, rev }] of least)
      if ((position.generations.get(id) ?? 0) < generation) database.of(id).fail(`${rev} was not told, ${where}`);
  }

  #token(): string {
    this.#tokens += 1;
    return `${this.name}#${this.#tokens}`;
  }

  #where({ method, url, sentAt }: ClusterAnswer): string {
    return `${this.name} ${method} ${url.slice(0, 120)} sent at ${Math.round(sentAt)}`;
  }

  #fail(answer: ClusterAnswer): void {
    this.faults.push(
      `${Math.round(answer.endedAt)} ${this.#where(answer)}: ${answer.status} ${answer.text.slice(0, 500)}`,
    );
  }
}

const NOTHING = { generation: 0, rev: undefined, isDeleted: true };
