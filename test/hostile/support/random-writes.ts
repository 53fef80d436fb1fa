import { assert } from 'vitest';
import { arrayAt, at, stringAt } from '../../support/conformance/json.ts';
import type { SeededRandom } from '../../support/seeded-random.ts';
import type { HttpClient, Question, WholeAnswer } from './http-client.ts';
import { type Leaf, shorten, type WrittenState } from './written-state.ts';

/** Around these something changes in the store: what is inline, what has a page of its own, what fills several. */
const SIZES = [0, 100, 4_096, 8_192, 16_384, 65_536, 262_144, 1_048_576, 1_572_864, 3_145_728] as const;
const HASH_LENGTHS = [1, 31, 32, 33, 127, 128, 129, 1_000, 70_000, 1_100_000] as const;
const DEPTHS = [1, 2, 50, 999, 1_000, 1_001, 5_000, 40_000] as const;

const MAX_ID = 8_192;
const MAX_HASH_LENGTH = 128;
const MAX_SECURITY_LENGTH = 1_048_576;

/** The design document that the writes begin with. */
export const designDocument = {
  updates: {
    make: 'function (doc, req) { var given = JSON.parse(req.body); if (doc) given._rev = doc._rev; return [given, "made"]; }',
  },
  views: {
    by_text: { map: 'function (doc) { emit(doc.text, doc.text ? doc.text.length : null); }', reduce: '_count' },
  },
};

/**
 * Writes of every kind and size. Whatever is accepted goes into the state; what keeps to the written limits must be accepted, what
 * doesn't be refused with 4xx.
 */
export class RandomWrites {
  readonly #random: SeededRandom;
  readonly #database: string;
  readonly #state: WrittenState;
  #client: HttpClient;
  #made = 0;
  /** What was asked for, for the message of a failure. */
  readonly script: string[] = [];

  constructor(random: SeededRandom, database: string, state: WrittenState, client: HttpClient) {
    this.#random = random;
    this.#database = database;
    this.#state = state;
    this.#client = client;
  }

  set client(client: HttpClient) {
    this.#client = client;
  }

  async write(): Promise<void> {
    const kinds = [
      () => this.#put(),
      () => this.#put(),
      () => this.#post(),
      () => this.#bulk(),
      () => this.#replicate(),
      () => this.#replicate(),
      () => this.#local(),
      () => this.#local(),
      () => this.#security(),
      () => this.#revsLimit(),
      () => this.#update(),
      () => this.#copy(),
      () => this.#delete(),
      () => this.#purge(),
    ];
    await this.#random.oneOf(kinds)?.();
  }

  async #put(): Promise<void> {
    const leaf = this.#random.chance(50) ? this.#shortLeaf() : undefined;
    const id = leaf?.id ?? this.#newId();
    const text = this.#text();
    const json = { ...revisionOf(leaf), text };
    const answer = await this.#ask('PUT', `/${encodeURIComponent(id)}`, { json }, `${text.length} characters`);
    this.#accept(answer, 201);
    this.#state.addLeaf({ id, rev: stringAt(answer.json, 'rev'), text }, leaf);
  }

  async #post(): Promise<void> {
    const id = this.#anyId();
    const text = this.#text();
    const note = `an id of ${Buffer.byteLength(id)} bytes, ${text.length} characters`;
    const answer = await this.#ask('POST', '', { json: { _id: id, text } }, note);
    if (Buffer.byteLength(id) > MAX_ID) return this.#refuse(answer);
    this.#accept(answer, 201);
    this.#state.addLeaf({ id, rev: stringAt(answer.json, 'rev'), text });
  }

  async #bulk(): Promise<void> {
    const docs = Array.from({ length: this.#random.between(1, 12) }, () => ({
      _id: this.#newId(),
      text: this.#text(),
    }));
    const sizes = docs.map(({ text }) => text.length).join();
    const answer = await this.#ask('POST', '/_bulk_docs', { json: { docs } }, `${sizes} characters`);
    this.#acceptRows(answer);
    docs.forEach(({ _id, text }, index) => {
      this.#state.addLeaf({ id: _id, rev: stringAt(answer.json, index, 'rev'), text });
    });
  }

  /** A new document or a new branch of one that is there, with ancestors that nobody knows. */
  async #replicate(): Promise<void> {
    const hashLength = this.#random.chance(70) ? 32 : (this.#random.oneOf(HASH_LENGTHS) ?? 32);
    // Longer ones are refused, few are enough for that.
    const depth = hashLength > MAX_HASH_LENGTH ? 2 : (this.#random.oneOf(DEPTHS) ?? 1);
    const branches = this.#random.chance(30) ? this.#random.between(2, 15) : 1;
    const id = this.#random.chance(40) ? (this.#shortLeaf()?.id ?? this.#newId()) : this.#newId();
    const start = depth + this.#random.between(0, 2) * 1_000_000;
    const leaves = Array.from({ length: branches }, () => this.#branch(id, start, depth, hashLength));
    const docs = leaves.map(({ leaf, ids }) => ({
      _id: id,
      _rev: leaf.rev,
      _revisions: { start, ids },
      ...(leaf.text === undefined ? { _deleted: true } : { text: leaf.text }),
    }));
    const note = `${branches} branches from ${start}, ${depth} deep, with hashes of ${hashLength}`;
    const answer = await this.#ask('POST', '/_bulk_docs', { json: { new_edits: false, docs } }, note);
    if (hashLength > MAX_HASH_LENGTH) return this.#refuse(answer);
    this.#accept(answer, 201);
    assert.lengthOf(arrayAt(answer.json), 0, answer.summary);
    for (const { leaf } of leaves) this.#state.addLeaf(leaf);
  }

  #branch(id: string, start: number, depth: number, hashLength: number) {
    const seed = this.#random.hexDigits(16);
    const ids = Array.from({ length: depth }, (_, index) =>
      `${index}x${seed}`.padEnd(hashLength, 'a').slice(-hashLength),
    );
    // A hash of one character can't be told from another's.
    const [hash = ''] = hashLength === 1 ? [`${++this.#made}${seed}`] : ids;
    const text = this.#random.chance(15) ? undefined : this.#text();
    return { leaf: { id, rev: `${start}-${hash}`, text }, ids: [hash, ...ids.slice(1)] };
  }

  async #local(): Promise<void> {
    const known = this.#random.chance(50) ? this.#random.oneOf(this.#state.locals) : undefined;
    const id = known ?? `_local/${this.#newId()}`;
    const rev = this.#state.localRevision(id);
    const path = `/${id}`;
    if (rev !== undefined && this.#random.chance(30)) {
      this.#accept(await this.#ask('DELETE', `${path}?rev=${rev}`), 200);
      return this.#state.setLocal(id, '0-0', undefined);
    }
    const text = this.#text();
    const json = { ...(rev === undefined ? {} : { _rev: rev }), text };
    const answer = await this.#ask('PUT', path, { json }, `${text.length} characters`);
    this.#accept(answer, 201);
    this.#state.setLocal(id, stringAt(answer.json, 'rev'), text);
  }

  async #security(): Promise<void> {
    const text = this.#text();
    const bytes = Buffer.byteLength(JSON.stringify({ text }));
    const answer = await this.#ask('PUT', '/_security', { json: { text } }, `${bytes} bytes`);
    if (bytes > MAX_SECURITY_LENGTH) return this.#refuse(answer);
    this.#accept(answer, 200);
    this.#state.security = text;
  }

  async #revsLimit(): Promise<void> {
    const limit = this.#random.oneOf([1, 2, 50, 1_000, 1_001, 20_000]) ?? 1_000;
    const answer = await this.#ask('PUT', '/_revs_limit', { body: `${limit}` }, `${limit}`);
    if (answer.status === 200) this.#state.revsLimit = limit;
    else this.#refuse(answer);
  }

  async #update(): Promise<void> {
    const id = this.#random.chance(20) ? this.#anyId() : this.#newId();
    const text = this.#text();
    const note = `an id of ${Buffer.byteLength(id)} bytes, ${text.length} characters`;
    const body = JSON.stringify({ _id: id, text });
    const answer = await this.#ask('POST', '/_design/writes/_update/make', { body }, note);
    if (Buffer.byteLength(id) > MAX_ID) return this.#refuse(answer);
    this.#accept(answer, 201);
    this.#state.addLeaf({ id, rev: `${answer.headers['x-svc-update-newrev']}`, text });
  }

  async #copy(): Promise<void> {
    const leaf = this.#shortLeaf();
    if (leaf?.text === undefined) return this.#put();
    const destination = this.#newId();
    const path = `/${encodeURIComponent(leaf.id)}?rev=${leaf.rev}`;
    const answer = await this.#ask('COPY', path, { headers: { destination: encodeURIComponent(destination) } });
    this.#accept(answer, 201);
    this.#state.addLeaf({ id: destination, rev: stringAt(answer.json, 'rev'), text: leaf.text });
  }

  async #delete(): Promise<void> {
    const leaf = this.#shortLeaf();
    if (leaf?.text === undefined) return this.#put();
    const docs = [{ _id: leaf.id, _rev: leaf.rev, _deleted: true }];
    const answer = await this.#ask('POST', '/_bulk_docs', { json: { docs } });
    this.#acceptRows(answer);
    this.#state.addLeaf({ id: leaf.id, rev: stringAt(answer.json, 0, 'rev'), text: undefined }, leaf);
  }

  async #purge(): Promise<void> {
    const leaf = this.#shortLeaf();
    if (leaf === undefined) return this.#put();
    const answer = await this.#ask('POST', '/_purge', { json: { [leaf.id]: [leaf.rev] } });
    this.#accept(answer, 200);
    assert.deepEqual(at(answer.json, 'purged', leaf.id), [leaf.rev]);
    this.#state.removeLeaf(leaf);
  }

  async #ask(method: string, path: string, question: Question = {}, note = ''): Promise<WholeAnswer> {
    this.script.push(`${method} ${shorten(path)} ${note}`);
    const answer = await this.#client.ask(method, `/${this.#database}${path}`, question);
    this.script.push(`  ${answer.status} ${shorten(answer.text.trim())}`);
    return answer;
  }

  #accept(answer: WholeAnswer, status: number): void {
    assert.equal(answer.status, status, `${this.script.at(-2)}: ${answer.summary}`);
  }

  #acceptRows(answer: WholeAnswer): void {
    this.#accept(answer, 201);
    for (const row of arrayAt(answer.json))
      assert.isTrue(at(row, 'ok'), `${this.script.at(-2)}: ${JSON.stringify(row)}`);
  }

  #refuse(answer: WholeAnswer): void {
    assert.include([400, 413], answer.status, `${this.script.at(-2)} is over a limit: ${answer.summary}`);
  }

  /** Of a document whose id and revision fit into a path. */
  #shortLeaf(): Leaf | undefined {
    return this.#random.oneOf(this.#state.leaves.filter(({ id }) => id.length < 100));
  }

  #newId(): string {
    return `doc-${String(++this.#made).padStart(5, '0')}`;
  }

  #anyId(): string {
    const character = this.#random.oneOf(['i', 'é', '語']) ?? 'i';
    const name = this.#newId();
    const bytes = Math.max(this.#size(), name.length);
    return name + character.repeat(Math.floor((bytes - name.length) / Buffer.byteLength(character)));
  }

  #text(): string {
    return (this.#random.oneOf(['x', 'x', 'ü', '"', '\n']) ?? 'x').repeat(this.#size());
  }

  /** One of the sizes, or a little less or more; large ones are seldom, since they take their time. */
  #size(): number {
    const most = this.#random.chance(40) ? SIZES.length : SIZES.length - 4;
    const size = this.#random.oneOf(SIZES.slice(0, most)) ?? 0;
    return Math.max(0, size + (this.#random.chance(50) ? this.#random.between(-120, 120) : 0));
  }
}

function revisionOf(leaf: Leaf | undefined): object {
  return leaf === undefined ? {} : { _rev: leaf.rev };
}
