import { assert } from 'vitest';
import { arrayAt, at } from '../../support/conformance/json.ts';
import type { HttpClient } from './http-client.ts';

/** What a leaf revision holds; `text` is undefined for a deletion. */
export interface Leaf {
  readonly id: string;
  readonly rev: string;
  readonly text: string | undefined;
}

/** Bytes of ids and revisions that one question names. */
const QUESTION_BYTES = 1_000_000;

/** What a database must hold: all that it acknowledged. */
export class WrittenState {
  readonly #leaves = new Map<string, Leaf>();
  readonly #locals = new Map<string, { readonly rev: string; readonly text: string }>();
  security: string | undefined;
  revsLimit: number | undefined;

  get leaves(): readonly Leaf[] {
    return [...this.#leaves.values()];
  }

  get locals(): readonly string[] {
    return [...this.#locals.keys()];
  }

  localRevision(id: string): string | undefined {
    return this.#locals.get(id)?.rev;
  }

  /** A new leaf, which takes the place of the one that it extends. */
  addLeaf(leaf: Leaf, extended?: Leaf): void {
    if (extended !== undefined) this.removeLeaf(extended);
    this.#leaves.set(nameOf(leaf), leaf);
  }

  removeLeaf(leaf: Leaf): void {
    this.#leaves.delete(nameOf(leaf));
  }

  setLocal(id: string, rev: string, text: string | undefined): void {
    if (text === undefined) this.#locals.delete(id);
    else this.#locals.set(id, { rev, text });
  }

  /** Reads all of it, and fails with the first difference. Texts are named by their length alone. */
  async check(client: HttpClient, database: string): Promise<void> {
    await this.#checkLeaves(client, database);
    for (const [id, { rev, text }] of this.#locals) {
      const answer = await client.must(200, 'GET', `/${database}/${encodeURIComponent(id)}`);
      assert.equal(at(answer.json, '_rev'), rev, id);
      assertSame(at(answer.json, 'text'), text, id);
    }
    if (this.security !== undefined) {
      assertSame(
        at((await client.must(200, 'GET', `/${database}/_security`)).json, 'text'),
        this.security,
        '_security',
      );
    }
    if (this.revsLimit !== undefined) {
      assert.equal((await client.must(200, 'GET', `/${database}/_revs_limit`)).json, this.revsLimit);
    }
  }

  async #checkLeaves(client: HttpClient, database: string): Promise<void> {
    let asked: Leaf[] = [];
    let bytes = 0;
    for (const leaf of this.leaves) {
      asked.push(leaf);
      bytes += leaf.id.length + (leaf.text?.length ?? 0);
      if (bytes < QUESTION_BYTES) continue;
      await checkAsked(client, database, asked);
      asked = [];
      bytes = 0;
    }
    await checkAsked(client, database, asked);
  }
}

async function checkAsked(client: HttpClient, database: string, asked: readonly Leaf[]): Promise<void> {
  if (asked.length === 0) return;
  const docs = asked.map(({ id, rev }) => ({ id, rev }));
  const answer = await client.must(200, 'POST', `/${database}/_bulk_get`, { json: { docs } });
  const results = arrayAt(answer.json, 'results');
  asked.forEach(({ id, rev, text }, index) => {
    const name = `${shorten(id)} at ${shorten(rev)}`;
    const found = at(results[index], 'docs', 0, 'ok');
    assert.isDefined(found, `${name} is there, but it is ${shorten(JSON.stringify(results[index]))}`);
    assert.isTrue(at(found, '_rev') === rev, `revision of ${name}`);
    assert.equal(at(found, '_deleted'), text === undefined ? true : undefined, name);
    assertSame(at(found, 'text'), text, name);
  });
}

/** `assert.equal` would print megabytes. */
function assertSame(found: unknown, expected: string | undefined, name: string): void {
  const description = typeof found === 'string' ? `a text of ${found.length}` : JSON.stringify(found);
  assert.isTrue(found === expected, `${name} has a text of ${expected?.length}, and ${description} was found`);
}

export function shorten(text: string): string {
  return text.length <= 100 ? text : `${text.slice(0, 80)}… of ${text.length} characters`;
}

function nameOf({ id, rev }: Leaf): string {
  return JSON.stringify([id, rev]);
}
