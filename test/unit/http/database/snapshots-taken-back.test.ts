/** What is read of documents for feeds whose snapshot is taken back for its age between finding them and reading their bodies. */
import { afterEach, assert, beforeEach, describe, expect, test } from 'vitest';
import type { ChangeFilter, SelectedChange } from '../../../../src/database/changes/contract.ts';
import type { RevId } from '../../../../src/database/documents/contract.ts';
import type { ChangeParameters } from '../../../../src/http/database/change-parameters.ts';
import { ChangeRows, isLongRow } from '../../../../src/http/database/change-rows.ts';
import { documentFilter } from '../../../../src/http/database/document-filter.ts';
import { isLongRow as isLongRowOfList } from '../../../../src/http/documents/lists/document-list.ts';
import { LiveSelection } from '../../../../src/http/queries/find/live-selection.ts';
import { withDocuments } from '../../../../src/http/queries/views/view-documents.ts';
import { Watched } from '../../database/changes/watched-databases.ts';
import { id, toWrite } from '../../database/store/harness.ts';
import { pick } from '../support.ts';

const NAMES = Array.from({ length: 40 }, (_, n) => `d${n + 10}`);

let watched: Watched;

beforeEach(async () => {
  // Each snapshot is too old at once, and nothing is in memory that is no longer in the file.
  watched = await Watched.open({ snapshotMaxAgeMs: -1, cacheBytes: 0 });
  await writeAll(1);
  await compact();
});

afterEach(() => watched.registry.close());

/** Anew, where they are there. */
async function writeAll(n: number, names: readonly string[] = NAMES): Promise<void> {
  const revs = await revisions();
  const body = JSON.stringify({ n, text: String(n).repeat(3_000) });
  await watched.registry.use('db', async (database) => {
    const writes = names.map((name) => {
      const rev = revs.get(name);
      return toWrite(name, { body, ...(rev === undefined ? {} : { rev }) });
    });
    const outcomes = await database.write(writes, { newEdits: true, durability: 'relaxed' });
    expect(outcomes.every(({ ok }) => ok)).toBe(true);
  });
}

const compact = async (): Promise<void> => watched.registry.use('db', (database) => database.compact());

async function revisions(): Promise<Map<string, RevId>> {
  return watched.registry.use('db', async (database) => {
    const snapshot = database.snapshot();
    try {
      const found = new Map<string, RevId>();
      for await (const rows of snapshot.rows({})) for (const { id: name, rev } of rows) found.set(name, rev);
      return found;
    } finally {
      snapshot.release();
    }
  });
}

/** The next bodies are asked for when documents have been written anew, and what they were before is gone. */
function replaceBeforeBodies(names?: readonly string[]): void {
  watched.hooks.beforeBodies = async () => {
    watched.hooks.beforeBodies = undefined;
    await writeAll(2, names);
    await compact();
  };
}

/** What passes, up to the first wait after all of the later documents. */
async function selected(filter: ChangeFilter): Promise<SelectedChange[]> {
  const changes: SelectedChange[] = [];
  for await (const event of (await watched.open({ filter })).events()) {
    if (event.type === 'wait') break;
    if (event.type === 'changes') changes.push(...event.changes);
  }
  return changes;
}

describe('a feed with a revoked snapshot continues with documents of the later state', () => {
  test('if a filter reads them', async () => {
    replaceBeforeBodies();
    const seen: unknown[] = [];
    const passing = await selected(
      documentFilter((texts) => {
        seen.push(...texts.map((text) => pick(JSON.parse(text), 'n')));
        return texts.map(() => true);
      }, false),
    );
    expect(passing.map(({ row }) => row.id)).toEqual(NAMES);
    expect(passing.map(({ row }) => row.seq)).toEqual(NAMES.map((_, n) => n + 41));
    expect(seen).toEqual(NAMES.map(() => 2));
  });

  test('if a selector reads them', async () => {
    replaceBeforeBodies();
    const selection = new LiveSelection({
      test: (document) => pick(JSON.parse(document), 'n') === 2,
      show: (text) => text,
      conflicts: false,
    });
    const passing = await selected(selection);
    expect(passing.map(({ row }) => row.id)).toEqual(NAMES);
    expect(passing.map((change) => selection.shown(change)?.includes('"n":2'))).toEqual(NAMES.map(() => true));
  });

  test('if they are included', async () => {
    const rows = new ChangeRows({ includeDocs: true } as ChangeParameters);
    const texts: string[] = [];
    replaceBeforeBodies();
    const feed = await watched.open();
    for await (const event of feed.events()) {
      if (event.type === 'wait') break;
      if (event.type !== 'changes') continue;
      for await (const some of rows.of(feed, event)) {
        assert(!isLongRow(some));
        texts.push(...some.map(({ text }) => text));
      }
    }
    const last = new Map(texts.map((text) => JSON.parse(text)).map((row) => [pick(row, 'id'), pick(row, 'doc', 'n')]));
    expect([...last]).toEqual(NAMES.map((name) => [name, 2]));
  });

  test('if a view filter reads them', async () => {
    const { database, release } = await watched.acquire('db');
    const snapshot = database.snapshot();
    const rows = NAMES.map((name) => ({ id: id(name), idText: `"${name}"`, keyText: '1', valueText: 'null' }));
    const options = { includeDocs: true, conflicts: false, attachments: false, attEncodingInfo: false };
    replaceBeforeBodies();
    const shown: unknown[] = [];
    for await (const some of withDocuments(snapshot, rows, options)) {
      assert(!isLongRowOfList(some));
      shown.push(...some.map((text) => pick(JSON.parse(text), 'doc', 'n')));
    }
    snapshot.release();
    release();
    expect(shown).toEqual(NAMES.map(() => 2));
  });
});

test('a descending feed is aborted if a filter would miss documents that moved up', async () => {
  // The first that is listed: what is left to be listed has not moved.
  replaceBeforeBodies(NAMES.slice(-1));
  const filter = documentFilter((texts) => texts.map(() => true), false);
  const feed = await watched.open({ filter, descending: true, lasts: 'once' });
  const reading = (async () => {
    for await (const event of feed.events()) void event;
  })();
  await expect(reading).rejects.toMatchObject({ code: 'cancelled' });
});
