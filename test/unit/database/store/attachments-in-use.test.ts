import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import { crc32 } from '../../../../src/base/shared/crc32.ts';
import type { AttachmentReader, AttachmentWrite } from '../../../../src/database/store/contract.ts';
import type { StoredDatabase } from '../../../../src/database/store/stored-database.ts';
import type { MemoryFile } from '../../../../src/storage/memory-page-store.ts';
import { addToBytes, checkBytes } from '../../../../src/storage/paging/checksums.ts';
import { Bench, FILE, id, TINY, TINY_PAGES } from './harness.ts';

/** The bytes of attachments while something else happens to them: damage, and compactions. */
const NEW_EDITS = { newEdits: true, durability: 'relaxed' } as const;
const CONTENT = new Uint8Array(7_500).map((_, index) => (index * 31 + (index >> 8)) % 256);
const DIGEST = createHash('md5').update(CONTENT).digest('hex');
const KEPT: AttachmentWrite = { name: 'a', contentType: 'x/y', revpos: 1, digest: DIGEST, length: CONTENT.length };

/** A database with one document that has the attachment. */
async function build() {
  const bench = new Bench({ settings: TINY, supports: TINY_PAGES });
  const db = await bench.open();
  const upload = await db.upload();
  await upload.write(CONTENT);
  const attachments = [{ ...KEPT, revpos: undefined, upload: await upload.finish() }];
  const write = { id: id('one'), rev: undefined, deleted: false, body: '{"n":1}', attachments };
  const [written] = await db.write([write], NEW_EDITS);
  const file: MemoryFile = must(bench.medium.files.get(FILE));
  return { db, file, rev: must(written).rev };
}

async function open(db: StoredDatabase): Promise<AttachmentReader> {
  const snapshot = db.snapshot();
  const reader = must(await snapshot.openAttachment(KEPT));
  snapshot.release();
  return reader;
}

async function rest(parts: AsyncIterator<Uint8Array>): Promise<Uint8Array> {
  const found: Uint8Array[] = [];
  for (let step = await parts.next(); step.done !== true; step = await parts.next()) found.push(step.value.slice());
  return new Uint8Array(Buffer.concat(found));
}

function pagesWith(file: MemoryFile, bytes: Uint8Array): number[] {
  return [...file.pages].flatMap(([number, value]) =>
    typeof value !== 'string' && Buffer.from(value).includes(Buffer.from(bytes)) ? number : [],
  );
}

describe('a changed byte of an attachment', () => {
  test.each([0, 2_500, 7_499])('at %i makes reading fail, and verify names the attachment', async (at) => {
    const { db, file } = await build();
    const [page] = pagesWith(file, CONTENT.subarray(at, at + 20));
    const stored = Buffer.from(must(file.pages.get(must(page))) as Uint8Array);
    const offset = stored.indexOf(Buffer.from(CONTENT.subarray(at, at + 20)));
    file.pages.set(must(page), new Uint8Array(stored).with(offset, must(stored[offset]) ^ 1));
    const reader = await open(db);
    await expect(rest(reader.read(0, CONTENT.length)[Symbol.asyncIterator]())).rejects.toMatchObject({
      code: 'storage_corrupt',
    });
    reader.release();
    const { damage } = await db.verify();
    expect(damage).toEqual([expect.stringMatching(new RegExp(`^attachment ${DIGEST} is lost: `))]);
  });

  test('with a correct checksum is found by the digest', async () => {
    const { db, file } = await build();
    const [page] = pagesWith(file, CONTENT.subarray(2_500, 2_520));
    const number = must(page);
    const bytes = must(checkBytes(crc32, number, must(file.pages.get(number)) as Uint8Array));
    file.pages.set(number, addToBytes(crc32, number, new Uint8Array(bytes).with(7, must(bytes[7]) ^ 1)));
    expect((await db.verify()).damage).toEqual([`attachment ${DIGEST} is lost: its bytes do not match its digest`]);
  });
});

describe('a compaction while an attachment is read', () => {
  test('lets the reader finish even if no revision has the attachment, and frees its space later', async () => {
    const { db, file, rev } = await build();
    const reader = await open(db);
    const parts = reader.read(0, CONTENT.length)[Symbol.asyncIterator]();
    const first = must((await parts.next()).value).slice();
    await db.write([{ id: id('one'), rev, deleted: false, body: '{"n":2}', attachments: [] }], NEW_EDITS);
    await db.compact();
    expect(new Uint8Array(Buffer.concat([first, await rest(parts)]))).toEqual(CONTENT);
    reader.release();
    await db.compact();
    expect(pagesWith(file, CONTENT.subarray(2_500, 2_520))).toEqual([]);
    expect((await db.verify()).damage).toEqual([]);
  });

  test('that begins during the read ends while it continues', async () => {
    const { db } = await build();
    const reader = await open(db);
    const parts = reader.read(0, CONTENT.length)[Symbol.asyncIterator]();
    const first = must((await parts.next()).value).slice();
    const compaction = db.compact();
    const second = must((await parts.next()).value).slice();
    await compaction;
    expect(new Uint8Array(Buffer.concat([first, second, await rest(parts)]))).toEqual(CONTENT);
    reader.release();
    expect((await db.verify()).damage).toEqual([]);
  });
});
