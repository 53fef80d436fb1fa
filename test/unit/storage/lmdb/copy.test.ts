import { existsSync, readdirSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openEnvironment } from '../../../../src/storage/lmdb/environment.ts';
import { copyFiles } from '../../../../src/storage/lmdb/folder-copy.ts';
import { createLmdbPageStore } from '../../../../src/storage/lmdb/lmdb-page-store.ts';

async function withFolder(run: (root: string) => Promise<void>): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), 'settee-copy-'));
  try {
    await run(root);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

test(
  'a copy during a compaction keeps the file usable',
  () =>
    withFolder(async (root) => {
      const [source, target] = [join(root, 'source'), join(root, 'target')];
      const store = createLmdbPageStore(source);
      await (await store.open('registry', 'create')).close();
      const file = await store.open('a', 'create');
      await file.commit({ durability: 'strict', head: 'head' });
      // So large that the compaction ends before it is copied.
      const large = join(source, 'a', 'journal-999-1.log');
      writeFileSync(large, '');
      truncateSync(large, 2 ** 28);
      const copying = copyFiles(source, target, 'registry').next();
      for (let looks = 0; looks < 1_000; looks++) {
        const drafts = existsSync(target) ? readdirSync(target) : [];
        if (drafts.some((draft) => existsSync(join(target, draft, 'journal-999-1.log')))) break;
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      await file.compact?.();
      await copying;
      await store.close();
      const copy = createLmdbPageStore(target);
      expect((await copy.open('a', 'open')).opening.head).toBe('head');
      await copy.close();
    }),
  30_000,
);

test(
  'a reader creates no data file if one was removed',
  () =>
    withFolder(async (root) => {
      for (let turns = 0; turns < 40; turns++) {
        const name = `a${turns}`;
        const store = createLmdbPageStore(root);
        await (await store.open(name, 'create')).close();
        const path = join(root, name, 'data-1.mdb');
        const opening = openEnvironment(name, path, { readOnly: true }).then(
          (environment) => environment.root.close(),
          () => undefined,
        );
        for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
        unlinkSync(path);
        await opening;
        expect(existsSync(path), `removed after ${turns} turns`).toBe(false);
        await store.close();
      }
    }),
  30_000,
);
