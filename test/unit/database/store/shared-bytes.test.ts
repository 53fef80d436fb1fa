import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import { atOnce } from '../../../../src/base/shared/turn.ts';
import type { RevId } from '../../../../src/database/documents/contract.ts';
import { splitAttachments } from '../../../../src/database/documents/stored-attachments.ts';
import type { AttachmentWrite } from '../../../../src/database/store/contract.ts';
import type { StoredDatabase } from '../../../../src/database/store/stored-database.ts';
import { Bench, id, TINY_PAGES } from './harness.ts';

/**
 * A text that is stored as gzip, and a file that is that gzip: one digest of stored bytes, two attachments.
 */

const text = Array.from({ length: 2000 }, (_unused, at) => (at * at * 7919) % 9973).join(' ');
const gzip = gzipSync(text);
const hex = (bytes: string | Uint8Array) => createHash('md5').update(bytes).digest('hex');

type Kind = 'text' | 'file';
const orders = [
  ['text', 'file'],
  ['file', 'text'],
] as const;

/** An attachment whose name is its kind, and which brings its bytes. */
async function brought(db: StoredDatabase, kind: Kind): Promise<AttachmentWrite> {
  const upload = await db.upload();
  await upload.write(gzip);
  const finished = await upload.finish(kind === 'text' ? { length: text.length, digest: hex(text) } : undefined);
  return { name: kind, contentType: 'x/y', revpos: undefined, ...bytesOf(kind), upload: finished };
}

/** One that is there already. */
function kept(kind: Kind): AttachmentWrite {
  return { name: kind, contentType: 'x/y', revpos: 1, ...bytesOf(kind) };
}

const bytesOf = (kind: Kind) => ({ digest: hex(gzip), length: kind === 'text' ? text.length : gzip.length });

async function write(
  db: StoredDatabase,
  name: string,
  rev: RevId | undefined,
  attachments: readonly AttachmentWrite[],
): Promise<RevId> {
  const options = { newEdits: true, durability: 'relaxed' } as const;
  const [outcome] = await db.write([{ id: id(name), rev, deleted: false, body: '{}', attachments }], options);
  if (outcome?.ok !== true) throw outcome?.error;
  return outcome.rev;
}

/** Of each attachment of the document its name, the length that its stub says, and what can be read. */
async function seen(db: StoredDatabase, name: string): Promise<Record<string, { length: number; content: string }>> {
  const snapshot = db.snapshot();
  try {
    const leaf = must((await snapshot.document(id(name)))?.leaves[0]);
    const stubs = atOnce(splitAttachments(must(await snapshot.body(leaf)))).attachments;
    const entries = stubs.map(async (stub) => {
      const reader = must(await snapshot.openAttachment(stub));
      const parts: Uint8Array[] = [];
      for await (const part of reader.read(0, reader.stored.storedLength)) parts.push(part);
      reader.release();
      const stored = Buffer.concat(parts);
      const content = reader.stored.encoding === 'gzip' ? gunzipSync(stored) : stored;
      return [stub.name, { length: stub.length, content: content.toString('latin1') }] as const;
    });
    return Object.fromEntries(await Promise.all(entries));
  } finally {
    snapshot.release();
  }
}

const right = {
  text: { length: text.length, content: text },
  file: { length: gzip.length, content: gzip.toString('latin1') },
};

async function verified(db: StoredDatabase): Promise<void> {
  expect((await db.verify()).damage).toEqual([]);
}

/** Looks now, after a crash that leaves the journal, after a restart and after a compaction. */
async function holds(bench: Bench, db: StoredDatabase, look: (db: StoredDatabase) => Promise<void>): Promise<void> {
  await look(db);
  const crashed = await bench.crashed().open();
  await look(crashed);
  await verified(crashed);
  await look(crashed);
  await db.close();
  const next = await bench.open();
  await look(next);
  await next.compact();
  await look(next);
  await verified(next);
  await next.close();
}

function pageBytes({ medium }: Bench): number {
  const { pages } = must([...medium.files.values()][0]);
  return [...pages.values()].reduce((sum, page) => sum + page.length, 0);
}

describe.each(orders)('storing %s first, then %s', (first, second) => {
  test('in different documents keeps both', async () => {
    const bench = new Bench({ supports: TINY_PAGES });
    const db = await bench.open();
    await write(db, 'one', undefined, [await brought(db, first)]);
    await write(db, 'two', undefined, [await brought(db, second)]);
    await holds(bench, db, async (now) => {
      expect(await seen(now, 'one')).toEqual({ [first]: right[first] });
      expect(await seen(now, 'two')).toEqual({ [second]: right[second] });
    });
  });

  test('in different documents of one commit keeps both', async () => {
    const bench = new Bench({ supports: TINY_PAGES });
    const db = await bench.open();
    const writes = [await brought(db, first), await brought(db, second)];
    await Promise.all(writes.map((attachment) => write(db, attachment.name, undefined, [attachment])));
    await holds(bench, db, async (now) => {
      expect(await seen(now, first)).toEqual({ [first]: right[first] });
      expect(await seen(now, second)).toEqual({ [second]: right[second] });
    });
  });

  test('in one revision keeps both', async () => {
    const bench = new Bench({ supports: TINY_PAGES });
    const db = await bench.open();
    await write(db, 'one', undefined, [await brought(db, first), await brought(db, second)]);
    await holds(bench, db, async (now) => expect(await seen(now, 'one')).toEqual(right));
  });

  test('in one document, the first as a stub, keeps both', async () => {
    const bench = new Bench({ supports: TINY_PAGES });
    const db = await bench.open();
    const rev = await write(db, 'one', undefined, [await brought(db, first)]);
    await write(db, 'one', rev, [kept(first), await brought(db, second)]);
    await holds(bench, db, async (now) => expect(await seen(now, 'one')).toEqual(right));
  });

  test('in its place, if nothing else refers to the bytes, keeps the second', async () => {
    const bench = new Bench({ supports: TINY_PAGES });
    const db = await bench.open();
    await db.setRevsLimit(1);
    const rev = await write(db, 'one', undefined, [await brought(db, first)]);
    await verified(db);
    await write(db, 'one', rev, [await brought(db, second)]);
    await holds(bench, db, async (now) => expect(await seen(now, 'one')).toEqual({ [second]: right[second] }));
  });

  test('after a checkpoint has stored the first keeps both', async () => {
    const bench = new Bench({ supports: TINY_PAGES });
    const db = await bench.open();
    await write(db, 'one', undefined, [await brought(db, first)]);
    await verified(db);
    await write(db, 'two', undefined, [await brought(db, second)]);
    await holds(bench, db, async (now) => {
      expect(await seen(now, 'one')).toEqual({ [first]: right[first] });
      expect(await seen(now, 'two')).toEqual({ [second]: right[second] });
    });
  });

  test.each(orders)('and removing %s keeps %s', async (gone, left) => {
    const bench = new Bench({ supports: TINY_PAGES });
    const db = await bench.open();
    const revs: Partial<Record<Kind, RevId>> = {};
    for (const kind of [first, second]) revs[kind] = await write(db, kind, undefined, [await brought(db, kind)]);
    await write(db, gone, revs[gone], []);
    await db.compact();
    await holds(bench, db, async (now) => {
      expect(await seen(now, gone)).toEqual({});
      expect(await seen(now, left)).toEqual({ [left]: right[left] });
    });
  });

  test('stores the bytes once, and frees them with the last of both', async () => {
    const bench = new Bench({ supports: TINY_PAGES });
    const db = await bench.open();
    const attachments = [await brought(db, first), await brought(db, second)];
    const rev = await write(db, 'one', undefined, attachments);
    await db.close();
    const next = await bench.open();
    await next.compact();
    expect(pageBytes(bench)).toBeLessThan(gzip.length + 1500);
    await next.purge(new Map([[id('one'), [rev]]]));
    await next.compact();
    expect(pageBytes(bench)).toBeLessThan(1500);
    await verified(next);
  });
});

test('a text of which only the gzip file is stored is missing', async () => {
  const db = await new Bench().open();
  await write(db, 'one', undefined, [await brought(db, 'file')]);
  await expect(write(db, 'two', undefined, [kept('text')])).rejects.toMatchObject({ code: 'missing_stub' });
});

test('gzip is stored decoded if that has the same length', async () => {
  const db = await new Bench().open();
  const upload = await db.upload();
  await upload.write(gzip);
  await expect(upload.finish({ length: gzip.length, digest: hex(text) })).rejects.toThrow();
  upload.discard();
});
