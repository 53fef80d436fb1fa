import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import { must } from '../../../../src/base/shared/assert.ts';
import { toRevision } from '../../../../src/database/documents/revisions/revisions.ts';
import { PageAttachment } from '../../../../src/database/store/attachment-pages.ts';
import type { AttachmentWrite, FinishedUpload, StoredBytes } from '../../../../src/database/store/contract.ts';
import type { StoredDatabase } from '../../../../src/database/store/stored-database.ts';
import { Bench, FILE, id, put, settle, TINY, TINY_PAGES } from './harness.ts';

const NEW_EDITS = { newEdits: true, durability: 'relaxed' } as const;
const bytes = new Uint8Array(2500).fill(7);
const digest = createHash('md5').update(bytes).digest('hex');

async function store(db: StoredDatabase, content = bytes): Promise<FinishedUpload> {
  const upload = await db.upload();
  await upload.write(content);
  return upload.finish();
}

function write(db: StoredDatabase, name: string, rev: string | undefined, attachments: readonly AttachmentWrite[]) {
  const known = rev === undefined ? undefined : (rev as Awaited<ReturnType<typeof put>>);
  return db.write([{ id: id(name), rev: known, deleted: false, body: '{"n":1}', attachments }], NEW_EDITS);
}

const brought = (upload: FinishedUpload): AttachmentWrite => ({
  name: 'a.bin',
  contentType: 'x/y',
  revpos: undefined,
  digest: upload.stored.digest,
  length: 2500,
  upload,
});
const kept: AttachmentWrite = { name: 'a.bin', contentType: 'x/y', revpos: 1, digest, length: 2500 };

function storedBytes(bench: Bench): number {
  const { pages } = must([...bench.medium.files.values()][0]);
  return [...pages.values()].reduce((sum, page) => sum + page.length, 0);
}

async function bodyAndBytes(db: StoredDatabase, name: string): Promise<{ body: string | undefined; length: number }> {
  const snapshot = db.snapshot();
  const leaf = must((await snapshot.document(id(name)))?.leaves[0]);
  const reader = must(await snapshot.openAttachment(kept));
  let length = 0;
  for await (const part of reader.read(0, reader.stored.storedLength)) length += part.length;
  const body = await snapshot.body(leaf);
  reader.release();
  snapshot.release();
  return { body, length };
}

test('a body is stored after the stubs of its attachments', async () => {
  const db = await new Bench().open();
  await write(db, 'one', undefined, [brought(await store(db))]);
  const stub = '{"content_type":"x/y","revpos":1,"digest":"md5-mDPt5dRPRjNlRBi6Dk2XYQ==","length":2500,"stub":true}';
  expect(await bodyAndBytes(db, 'one')).toEqual({ body: `{"_attachments":{"a.bin":${stub}},"n":1}`, length: 2500 });
});

test('the hash of a revision includes names, types and digests of the plain bytes', async () => {
  const db = await new Bench().open();
  const [plain] = await write(db, 'one', undefined, [brought(await store(db))]);
  const expected = createHash('md5').update(`0\n\n["a.bin","x/y","${digest}"]\n{"n":1}`).digest('hex');
  expect(plain?.ok && toRevision(plain.rev)).toEqual({ generation: 1, hash: expected });
  const encoded = await db.upload();
  await encoded.write(new Uint8Array([1, 2, 3]));
  const upload = await encoded.finish({ length: 2500, digest });
  const [zipped] = await write(db, 'two', undefined, [brought(upload)]);
  expect(zipped?.ok && toRevision(zipped.rev).hash).toBe(expected);
});

test('equal bytes are stored once', async () => {
  const bench = new Bench({ supports: TINY_PAGES });
  const db = await bench.open();
  await write(db, 'one', undefined, [brought(await store(db))]);
  const second = await db.upload();
  await second.write(bytes);
  await write(db, 'two', undefined, [brought(await second.finish())]);
  second.discard();
  await db.compact();
  expect(storedBytes(bench)).toBeLessThan(4000);
  expect((await db.verify()).damage).toEqual([]);
});

test('a stub of missing bytes is refused, and nothing is written', async () => {
  const db = await new Bench().open();
  const [outcome] = await write(db, 'one', undefined, [kept]);
  expect(outcome).toMatchObject({ ok: false, error: { code: 'missing_stub' } });
  expect(db.updateSeq).toBe(0);
});

test('an older revision has its attachment until the database is compacted', async () => {
  const bench = new Bench({ supports: TINY_PAGES });
  const db = await bench.open();
  const [first] = await write(db, 'one', undefined, [brought(await store(db))]);
  await write(db, 'one', first?.rev, []);
  const snapshot = db.snapshot();
  expect(await snapshot.attachment(kept)).toMatchObject({ storedLength: 2500 } satisfies Partial<StoredBytes>);
  snapshot.release();
  const before = storedBytes(bench);
  await db.compact();
  const after = db.snapshot();
  expect(await after.attachment(kept)).toBe(undefined);
  after.release();
  expect(storedBytes(bench)).toBeLessThan(before - 2000);
  expect((await db.verify()).damage).toEqual([]);
});

test('bytes listed as free in the head survive a crash after a document has adopted them', async () => {
  const bench = new Bench({ settings: TINY, supports: TINY_PAGES });
  const db = await bench.open();
  const upload = await store(db);
  await db.setSecurity('{"a":1}');
  await db.compact();
  await write(db, 'one', undefined, [brought(upload)]);
  const next = await bench.open();
  await put(next, 'two');
  await settle();
  await next.compact();
  expect((await bodyAndBytes(next, 'one')).length).toBe(2500);
  expect((await next.verify()).damage).toEqual([]);
});

test('bytes that were added and purged take no space after a crash that replays both', async () => {
  const bench = new Bench({ supports: TINY_PAGES });
  const db = await bench.open();
  const [written] = await write(db, 'one', undefined, [brought(await store(db))]);
  if (written?.ok !== true) throw new Error('the document was refused');
  await db.purge(new Map([[id('one'), [written.rev]]]));
  const successor = await bench.open();
  await put(successor, 'two');
  await successor.compact();
  expect((await successor.verify()).damage).toEqual([]);
  expect(storedBytes(bench)).toBeLessThan(2_500);
});

test('an upload that was interrupted takes no space after the next opening', async () => {
  const bench = new Bench({ settings: TINY, supports: TINY_PAGES });
  const db = await bench.open();
  await store(db);
  const next = await bench.open();
  await put(next, 'two');
  await next.compact();
  expect((await next.verify()).damage).toEqual([]);
  expect(storedBytes(bench)).toBeLessThan(1500);
});

test('a discarded upload takes no space, even without room for a checkpoint', async () => {
  const bench = new Bench({ settings: TINY, supports: TINY_PAGES });
  const db = await bench.open();
  await write(db, 'one', undefined, [brought(await store(db))]);
  await db.compact();
  const before = storedBytes(bench);
  const upload = await db.upload();
  await upload.write(new Uint8Array(5_000).fill(1));
  expect(storedBytes(bench)).toBeGreaterThan(before + 3_000);
  bench.hooks.beforeCommit = ({ writePages }) => {
    if (writePages !== undefined) throw new DatabaseError('storage_full', 'The test medium is full');
  };
  await expect(upload.write(new Uint8Array(5_000).fill(1))).rejects.toMatchObject({ code: 'storage_full' });
  upload.discard();
  upload.discard();
  await new Promise((resolve) => setImmediate(resolve));
  await settle();
  expect(storedBytes(bench)).toBe(before);
  expect((await db.verify()).damage).toEqual([]);
});

test('an attachment arrives in order from slow storage, and a page that is too short is damage', async () => {
  let shortened: number | undefined;
  const bench = new Bench({ supports: TINY_PAGES });
  const db = await bench.open();
  const content = new Uint8Array(7_500).map((_, index) => (index * 31 + (index >> 8)) % 256);
  const { stored, pages } = await store(db, content);
  bench.hooks.onRead = async (page, value) => {
    await new Promise((resolve) => setImmediate(resolve));
    return page === shortened && value instanceof Uint8Array ? value.subarray(0, 10) : value;
  };
  const file = await bench.store().open(FILE, 'open');
  const reader = new PageAttachment(stored, file, () => undefined);
  const collect = async (from: number, to: number) => {
    const parts: Uint8Array[] = [];
    for await (const part of reader.read(from, to)) parts.push(part);
    return new Uint8Array(Buffer.concat(parts));
  };
  for (const [from, to] of [
    [0, 7_500],
    [999, 1_001],
    [2_500, 7_499],
    [7_499, 7_500],
    [10, 10],
  ] as const) {
    expect(await collect(from, to)).toEqual(content.subarray(from, to));
  }
  shortened = pages[2];
  await expect(collect(0, 7_500)).rejects.toMatchObject({ code: 'storage_corrupt' });
});
