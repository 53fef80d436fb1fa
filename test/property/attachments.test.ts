import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { must } from '../../src/base/shared/assert.ts';
import { atOnce } from '../../src/base/shared/turn.ts';
import type { RevId } from '../../src/database/documents/contract.ts';
import { toRevId } from '../../src/database/documents/revisions/revisions.ts';
import { splitAttachments } from '../../src/database/documents/stored-attachments.ts';
import type {
  AttachmentBytes,
  AttachmentReader,
  AttachmentWrite,
  FinishedUpload,
  StoredNode,
} from '../../src/database/store/contract.ts';
import type { StoredDatabase } from '../../src/database/store/stored-database.ts';
import { roundsOf } from '../support/long-runs.ts';
import { Bench, id, rev, TINY, TINY_PAGES } from '../unit/database/store/harness.ts';

/**
 * Random histories of documents with attachments against a model that knows only what each leaf has: writes that bring bytes, keep or drop
 * them, branches, purges, forgotten ancestors, compactions, restarts and crashes, with uploads that come to nothing between. After each step
 * every leaf's attachments can be read, and are what they were; a verification, after half of them, finds neither wrong counts nor pages that
 * belong to nothing.
 */

interface Content {
  /** What a reader gets to see. */
  readonly plain: Uint8Array;
  readonly stored: Uint8Array;
}

const files = [0, 1, 5, 999, 1000, 1001, 2500].map((size, number) =>
  new Uint8Array(size).map((_unused, at) => (at * 7 + number) % 251),
);
const texts = ['ab'.repeat(300), Array.from({ length: 1500 }, (_unused, at) => (at * at * 7919) % 9973).join(' ')].map(
  (text) => new TextEncoder().encode(text),
);
/**
 * By their numbers: few, so that the same bytes come again; some are larger than a page. The last ones are texts that are stored as gzip,
 * and files with the very same bytes.
 */
const contents: readonly Content[] = [
  ...files.map((file) => ({ plain: file, stored: file })),
  ...texts.flatMap((text) => {
    const gzip = new Uint8Array(gzipSync(text));
    return [
      { plain: text, stored: gzip },
      { plain: gzip, stored: gzip },
    ];
  }),
];
const names = ['a', 'b', 'ü/ c'];
const documents = ['one', 'two', 'three'];

const name = fc.constantFrom(...names);
const content = fc.oneof(
  { weight: 1, arbitrary: fc.nat({ max: files.length - 1 }) },
  { weight: 2, arbitrary: fc.integer({ min: files.length, max: contents.length - 1 }) },
);
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
  { weight: 2, arbitrary: fc.constant({ kind: 'crash' as const }) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(...(['compact', 'reopen', 'read', 'release'] as const)).map((kind) => ({ kind })),
  },
);
/** A verification writes a checkpoint first: a crash behind one finds no journal. */
const verifiedStep = fc.tuple(step, fc.boolean());
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

  async take(one: Step, isVerified: boolean): Promise<void> {
    if (one.kind === 'edit') await this.#edit(one.one);
    else if (one.kind === 'upload') await this.#upload(one.content, one.ending);
    else if (one.kind === 'purge') await this.#purge(one.document, one.leaf);
    else if (one.kind === 'limit') await this.#db.setRevsLimit(one.limit);
    else if (one.kind === 'compact') await this.#db.compact();
    else if (one.kind === 'read') await this.#hold();
    else if (one.kind === 'release') this.#release();
    else await this.#restart(one.kind === 'reopen');
    await this.#check(isVerified);
  }

  async #restart(isInOrder: boolean): Promise<void> {
    this.#release();
    if (isInOrder) await this.#db.close();
    this.#db = await this.#bench.open();
  }

  async #store(number: number): Promise<FinishedUpload> {
    const { plain, stored } = must(contents[number]);
    const upload = await this.#db.upload();
    for (let at = 0; at < stored.length; at += 333) await upload.write(stored.subarray(at, at + 333));
    return upload.finish(plain === stored ? undefined : { length: plain.length, digest: md5(plain) });
  }

  async #upload(number: number, ending: string): Promise<void> {
    const upload = await this.#db.upload();
    await upload.write(must(contents[number]).stored);
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
      writes.push({ name: kept, contentType: 'x/y', revpos: 1, ...bytesOf(number) });
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
        ...bytesOf(number),
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
    const reader = must(await snapshot.openAttachment(bytesOf(number)));
    snapshot.release();
    this.#held = { reader, bytes: must(contents[number]).plain };
  }

  #release(): void {
    this.#held?.reader.release();
    this.#held = undefined;
  }

  async #check(isVerified: boolean): Promise<void> {
    const snapshot = this.#db.snapshot();
    try {
      for (const [document, leaves] of this.#model) {
        const record = await snapshot.document(id(document));
        const found = new Map((record?.leaves ?? []).map((node) => [toRevId(node.generation, node.hash), node]));
        for (const leaf of leaves) await this.#checkLeaf(leaf, must(found.get(leaf.rev), `${leaf.rev} is not there`));
        expect(record?.leaves.length ?? 0).toBe(leaves.length);
      }
      if (this.#held !== undefined) expect(await read(this.#held.reader)).toEqual(this.#held.bytes);
    } finally {
      snapshot.release();
    }
    if (isVerified) expect((await this.#db.verify()).damage).toEqual([]);
  }

  async #checkLeaf({ attachments, deleted }: Leaf, node: StoredNode): Promise<void> {
    expect(node.deleted).toBe(deleted);
    const snapshot = this.#db.snapshot();
    try {
      const stubs = atOnce(splitAttachments((await snapshot.body(node)) ?? '')).attachments;
      expect(stubs.map((stub) => stub.name).sort()).toEqual(Object.keys(attachments).sort());
      for (const stub of stubs) {
        const reader = must(await snapshot.openAttachment(stub));
        expect(await read(reader)).toEqual(contents[attachments[stub.name] ?? -1]?.plain);
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

function md5(bytes: Uint8Array): string {
  return createHash('md5').update(bytes).digest('hex');
}

function bytesOf(number: number): AttachmentBytes {
  const { plain, stored } = must(contents[number]);
  return { digest: md5(stored), length: plain.length };
}

/** Without the encoding. */
async function read(reader: AttachmentReader): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const part of reader.read(0, reader.stored.storedLength)) parts.push(part);
  const stored = Buffer.concat(parts);
  return new Uint8Array(reader.stored.encoding === undefined ? stored : gunzipSync(stored));
}

test('attachments are stored as long as a leaf has them, and then leave nothing', { timeout: 300_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(verifiedStep, { minLength: 1, maxLength: 40, size: 'max' }), async (steps) => {
      const run = new Run();
      await run.start();
      for (const [one, isVerified] of steps) await run.take(one, isVerified);
      await run.end();
    }),
    { numRuns: roundsOf(12, 30) },
  );
});
