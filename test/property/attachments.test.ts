import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AttachmentReader, AttachmentWrite, FinishedUpload, StoredNode } from '../../src/database/contract.ts';
import type { StoredDatabase } from '../../src/database/stored-database.ts';
import { splitAttachments } from '../../src/documents/attachments/stored-attachments.ts';
import type { RevId } from '../../src/documents/contract.ts';
import { toRevId } from '../../src/documents/revisions/revisions.ts';
import { must } from '../../src/shared/assert.ts';
import { Bench, id, rev, TINY, TINY_PAGES } from '../unit/database/harness.ts';

/**
 * Random histories of documents with attachments against a model that knows only what each leaf has: writes that bring bytes, keep or drop
 * them, branches, purges, forgotten ancestors, compactions, restarts and crashes, with uploads that come to nothing between. After each step
 * every leaf's attachments can be read, and are what they were; a verification finds neither wrong counts nor pages that belong to nothing.
 */

/** Contents by their numbers: few, so that the same bytes come again; some are larger than a page. */
const contents = [0, 1, 5, 999, 1000, 1001, 2500].map((size, number) =>
  new Uint8Array(size).map((_unused, at) => (at * 7 + number) % 251),
);
const names = ['a', 'b', 'ü/ c'];
const documents = ['one', 'two', 'three'];

const name = fc.constantFrom(...names);
const content = fc.nat({ max: contents.length - 1 });
const edit = fc.record({
  document: fc.constantFrom(...documents),
  leaf: fc.nat({ max: 2 }),
  deleted: fc.boolean(),
  /** New bytes, under these names. */
  brings: fc.dictionary(name, content, { maxKeys: 3 }),
  /** What is kept of the parent's, by stubs. */
  keeps: fc.subarray(names),
  branches: fc.boolean(),
  /** Whether a checkpoint comes between the bytes and the document. */
  waits: fc.boolean(),
});
const step = fc.oneof(
  { weight: 10, arbitrary: edit.map((one) => ({ kind: 'edit' as const, one })) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('upload' as const),
      content,
      ending: fc.constantFrom('leave', 'discard', 'break off'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('purge' as const),
      document: fc.constantFrom(...documents),
      leaf: fc.nat({ max: 2 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('limit' as const), limit: fc.integer({ min: 1, max: 4 }) }) },
  {
    weight: 3,
    arbitrary: fc
      .constantFrom(...(['compact', 'reopen', 'crash', 'read', 'release'] as const))
      .map((kind) => ({ kind })),
  },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

interface Leaf {
  readonly rev: RevId;
  readonly deleted: boolean;
  /** Numbers of contents, by name. */
  readonly attachments: Readonly<Record<string, number>>;
}

class Run {
  readonly #bench = new Bench({ settings: { ...TINY, cacheBytes: 3_000 }, supports: TINY_PAGES });
  #db!: StoredDatabase;
  readonly #model = new Map<string, Leaf[]>();
  #held: { reader: AttachmentReader; bytes: Uint8Array } | undefined;
  #edits = 0;

  async start(): Promise<void> {
    this.#db = await this.#bench.open();
  }

  async take(one: Step): Promise<void> {
    if (one.kind === 'edit') await this.#edit(one.one);
    else if (one.kind === 'upload') await this.#upload(one.content, one.ending);
    else if (one.kind === 'purge') await this.#purge(one.document, one.leaf);
    else if (one.kind === 'limit') await this.#db.setRevsLimit(one.limit);
    else if (one.kind === 'compact') await this.#db.compact();
    else if (one.kind === 'read') await this.#hold();
    else if (one.kind === 'release') this.#release();
    else await this.#restart(one.kind === 'reopen');
    await this.#check();
  }

  async #restart(isInOrder: boolean): Promise<void> {
    this.#release();
    if (isInOrder) await this.#db.close();
    this.#db = await this.#bench.open();
  }

  async #store(number: number): Promise<FinishedUpload> {
    const bytes = must(contents[number]);
    const upload = await this.#db.upload();
    for (let at = 0; at < bytes.length; at += 333) await upload.write(bytes.subarray(at, at + 333));
    return upload.finish();
  }

  async #upload(number: number, ending: string): Promise<void> {
    const upload = await this.#db.upload();
    await upload.write(must(contents[number]));
    if (ending !== 'break off') await upload.finish();
    if (ending === 'discard') upload.discard();
  }

  async #edit({
    document,
    leaf,
    deleted,
    brings,
    keeps,
    branches,
    waits,
  }: typeof edit extends fc.Arbitrary<infer E> ? E : never) {
    const leaves = this.#model.get(document) ?? [];
    const parent = leaves[leaf % Math.max(leaves.length, 1)];
    const attachments: Record<string, number> = {};
    const writes: AttachmentWrite[] = [];
    for (const kept of keeps) {
      const number = parent?.attachments[kept];
      if (number === undefined || kept in brings) continue;
      attachments[kept] = number;
      writes.push({ name: kept, contentType: 'x/y', revpos: 1, digest: digestOf(number), length: 0 });
    }
    const uploads = [];
    for (const [brought, number] of Object.entries(brings)) {
      attachments[brought] = number;
      const upload = await this.#store(number);
      uploads.push(upload);
      writes.push({
        name: brought,
        contentType: 'x/y',
        revpos: undefined,
        digest: upload.stored.digest,
        length: 0,
        upload,
      });
    }
    if (waits) await this.#checkpoint();
    this.#edits += 1;
    const body = JSON.stringify({ edit: this.#edits });
    const write = { id: id(document), rev: parent?.rev, deleted, body, attachments: writes };
    const generation = Number.parseInt(parent?.rev ?? '0', 10) + 1;
    const [outcome] = branches
      ? await this.#merge(write, generation)
      : await this.#db.write([write], { newEdits: true, durability: 'relaxed' });
    if (outcome?.ok !== true) throw outcome?.error;
    const rest = leaves.filter((other) => other !== parent || branches);
    this.#model.set(document, [...rest, { rev: outcome.rev, deleted, attachments }]);
  }

  /** Writes a head: without a change there would be none to write. */
  async #checkpoint(): Promise<void> {
    await this.#db.setSecurity(JSON.stringify({ edit: this.#edits }));
    await this.#db.compact();
  }

  /** A branch of its own, with the parent's generation as its only known ancestor's. */
  #merge(
    write: {
      readonly id: ReturnType<typeof id>;
      readonly deleted: boolean;
      readonly body: string;
      readonly attachments: AttachmentWrite[];
    },
    generation: number,
  ) {
    const hash = createHash('md5').update(write.body).digest('hex');
    const merged = { ...write, rev: rev(`${generation}-${hash}`), revisions: { start: generation, ids: [hash] } };
    return this.#db.write([merged], { newEdits: false, durability: 'relaxed' });
  }

  async #purge(document: string, leaf: number): Promise<void> {
    const leaves = this.#model.get(document) ?? [];
    const gone = leaves[leaf];
    if (gone === undefined) return;
    await this.#db.purge(new Map([[id(document), [gone.rev]]]));
    // What is below the purged leaf may be a leaf now, or gone as well: the database says which.
    this.#model.set(
      document,
      leaves.filter((other) => other !== gone),
    );
  }

  async #hold(): Promise<void> {
    if (this.#held !== undefined) return;
    const number = [...this.#model.values()].flat().flatMap(({ attachments }) => Object.values(attachments))[0];
    if (number === undefined) return;
    const snapshot = this.#db.snapshot();
    const reader = must(await snapshot.openAttachment(digestOf(number)));
    snapshot.release();
    this.#held = { reader, bytes: must(contents[number]) };
  }

  #release(): void {
    this.#held?.reader.release();
    this.#held = undefined;
  }

  async #check(): Promise<void> {
    const snapshot = this.#db.snapshot();
    try {
      for (const [document, leaves] of this.#model) {
        const record = await snapshot.document(id(document));
        const found = new Map((record?.leaves ?? []).map((node) => [toRevId(node.generation, node.hash), node]));
        for (const leaf of leaves) await this.#checkLeaf(leaf, must(found.get(leaf.rev), `${leaf.rev} is not there`));
        expect(record?.leaves.length ?? 0).toBe(leaves.length);
      }
      if (this.#held !== undefined) expect(await bytesOf(this.#held.reader)).toEqual(this.#held.bytes);
    } finally {
      snapshot.release();
    }
    expect((await this.#db.verify()).damage).toEqual([]);
  }

  async #checkLeaf({ attachments, deleted }: Leaf, node: StoredNode): Promise<void> {
    expect(node.deleted).toBe(deleted);
    const snapshot = this.#db.snapshot();
    try {
      const stubs = splitAttachments((await snapshot.body(node)) ?? '').attachments;
      expect(stubs.map((stub) => stub.name).sort()).toEqual(Object.keys(attachments).sort());
      for (const stub of stubs) {
        const reader = must(await snapshot.openAttachment(stub.digest));
        expect(await bytesOf(reader)).toEqual(contents[attachments[stub.name] ?? -1]);
        reader.release();
      }
    } finally {
      snapshot.release();
    }
  }

  /** When nothing is left, nothing takes space. */
  async end(): Promise<void> {
    this.#release();
    await this.#restart(true);
    for (const [document, leaves] of this.#model) {
      if (leaves.length > 0) await this.#db.purge(new Map([[id(document), leaves.map((leaf) => leaf.rev)]]));
    }
    await this.#db.compact();
    const sizes = (await this.#db.verify()).damage;
    expect(sizes).toEqual([]);
    const { pages } = must([...this.#bench.medium.files.values()][0]);
    const bytes = [...pages.values()].reduce((sum, page) => sum + page.length, 0);
    expect(bytes).toBeLessThan(1_500);
    await this.#db.close();
  }
}

function digestOf(number: number): string {
  return createHash('md5').update(must(contents[number])).digest('hex');
}

async function bytesOf(reader: AttachmentReader): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const part of reader.read(0, reader.stored.storedLength)) parts.push(part);
  return new Uint8Array(Buffer.concat(parts));
}

test('attachments are there as long as a leaf has them, and leave nothing behind', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
      const run = new Run();
      await run.start();
      for (const one of steps) await run.take(one);
      await run.end();
    }),
    { numRuns: 60 },
  );
});
