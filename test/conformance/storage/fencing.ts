import { assert } from 'chai';
import { must } from '../../../src/base/shared/assert.ts';
import type { Commit, PageFile } from '../../../src/storage/page-store.ts';
import { contentOf, type FileContent, rejects, relaxed, storedContent } from './expectations.ts';
import type { StorageCase, StorageContext } from './suite.ts';

/**
 * A stale owner wakes at every possible step. The first owner runs a script; before step i another one opens the file.
 * From then on no commit of the first may get through, whatever its successor did meanwhile:
 *
 *     first    1 2 3 | 4 5 6 …     each: storage_fenced, and nothing changed
 *     second         open [appends, truncates]
 */
type Step = { readonly commit: Commit } | { readonly read: number };

const SCRIPT: readonly Step[] = [
  { commit: relaxed({ journal: { number: 2, text: 'two' } }) },
  { commit: relaxed({ writePages: [{ number: 2, value: 'p2' }] }) },
  {
    commit: relaxed({ journal: { number: 3, text: 'three' }, writePages: [{ number: 3, value: new Uint8Array([3]) }] }),
  },
  { read: 2 },
  { commit: relaxed({ head: 'checkpoint 1', truncateJournal: 3 }) },
  { commit: relaxed({ dropPages: [2] }) },
  { commit: { durability: 'strict', journal: { number: 4, text: 'four' } } },
  { commit: relaxed({ journal: { number: 5, text: 'five' }, head: 'checkpoint 2', dropPages: [3] }) },
  { read: 3 },
  { commit: relaxed({ truncateJournal: 6 }) },
  { commit: { durability: 'strict' } },
  { commit: relaxed({ journal: { number: 6, text: 'six' } }) },
];

/** What the file holds after the first n steps, n from 0. */
const AFTER: readonly FileContent[] = [
  { head: undefined, journal: [], pages: [] },
  { head: undefined, journal: [[2, 'two']], pages: [] },
  { head: undefined, journal: [[2, 'two']], pages: [[2, 'p2']] },
  ...twice({
    head: undefined,
    journal: [
      [2, 'two'],
      [3, 'three'],
    ],
    pages: [
      [2, 'p2'],
      [3, [3]],
    ],
  }),
  {
    head: 'checkpoint 1',
    journal: [[3, 'three']],
    pages: [
      [2, 'p2'],
      [3, [3]],
    ],
  },
  { head: 'checkpoint 1', journal: [[3, 'three']], pages: [[3, [3]]] },
  {
    head: 'checkpoint 1',
    journal: [
      [3, 'three'],
      [4, 'four'],
    ],
    pages: [[3, [3]]],
  },
  ...twice({
    head: 'checkpoint 2',
    journal: [
      [3, 'three'],
      [4, 'four'],
      [5, 'five'],
    ],
    pages: [],
  }),
  ...twice({ head: 'checkpoint 2', journal: [], pages: [] }),
  { head: 'checkpoint 2', journal: [[6, 'six']], pages: [] },
];

function twice(content: FileContent): FileContent[] {
  return [content, content];
}

interface Successor {
  readonly name: string;
  /** Runs after the opening; gives what the file holds then. */
  act(file: PageFile, found: FileContent): Promise<FileContent>;
}

const SUCCESSORS: readonly Successor[] = [
  { name: 'does nothing', act: async (_file, found) => found },
  {
    name: 'appends',
    act: async (file, found) => {
      const number = file.opening.nextJournal;
      await file.commit(relaxed({ journal: { number, text: 'successor' } }));
      return { ...found, journal: [...found.journal, [number, 'successor']] };
    },
  },
  {
    name: 'checkpoints, which removes its claim from the journal',
    act: async (file, found) => {
      const number = file.opening.nextJournal;
      await file.commit(relaxed({ journal: { number, text: 'successor' } }));
      await file.commit(relaxed({ head: 'successor', truncateJournal: number + 1 }));
      return { ...found, head: 'successor', journal: [] };
    },
  },
];

async function runStep(file: PageFile, step: Step): Promise<void> {
  if ('commit' in step) await file.commit(step.commit);
  else await (step.read % 2 === 0 ? file.read(step.read, 'text') : file.read(step.read, 'bytes'));
}

async function wakeAt(context: StorageContext, index: number, successor: Successor): Promise<void> {
  const first = await context.createStore().open('file', 'create');
  for (const step of SCRIPT.slice(0, index)) await runStep(first, step);
  const store = context.createStore();
  const second = await store.open('file', 'open');
  const found = must(AFTER[index]);
  assert.deepEqual(await contentOf(second), found, 'the second owner finds what was committed');
  const expected = await successor.act(second, found);
  for (const step of SCRIPT.slice(index)) {
    if ('commit' in step) await rejects('storage_fenced', () => first.commit(fitting(step.commit, first, index)));
    else await runStep(first, step);
    assert.isFalse(await first.isCurrent());
    assert.isTrue(await second.isCurrent());
  }
  await first.close();
  await second.commit(relaxed({ writePages: [{ number: 100, value: 'second' }] }));
  await second.close();
  const pages = [...expected.pages, [100, 'second'] as const];
  assert.deepEqual(await storedContent(store, 'file'), { ...expected, pages });
}

/** A commit as the stale owner would make it: its numbers stand still, since none of its commits gets through. */
function fitting(commit: Commit, file: PageFile, index: number): Commit {
  const appended = SCRIPT.slice(0, index).filter((step) => 'commit' in step && step.commit.journal !== undefined);
  const number = file.opening.nextJournal + appended.length;
  const { journal, truncateJournal, ...others } = commit;
  return {
    ...others,
    ...(journal === undefined ? {} : { journal: { ...journal, number } }),
    ...(truncateJournal === undefined ? {} : { truncateJournal: Math.min(truncateJournal, number) }),
  };
}

const wakingCases: readonly StorageCase[] = SUCCESSORS.flatMap((successor) =>
  Array.from({ length: SCRIPT.length + 1 }, (_, index) => ({
    name: `a stale owner wakes at step ${index}; its successor ${successor.name}`,
    run: (context: StorageContext) => wakeAt(context, index, successor),
  })),
);

export const fencingCases: readonly StorageCase[] = [
  ...wakingCases,
  {
    name: 'of a chain of owners, only the last one gets through',
    run: async (context) => {
      const owners = [await context.createStore().open('chain', 'create')];
      for (let index = 1; index < 5; index += 1) owners.push(await context.createStore().open('chain', 'open'));
      const last = must(owners.at(-1));
      for (const owner of owners.slice(0, -1)) {
        await rejects('storage_fenced', () =>
          owner.commit(relaxed({ journal: { number: owner.opening.nextJournal, text: 'stale' } })),
        );
        await rejects('storage_fenced', () => owner.commit(relaxed({ head: 'stale' })));
      }
      await last.commit(relaxed({ journal: { number: last.opening.nextJournal, text: 'last' } }));
      await last.close();
      const content = await storedContent(context.createStore(), 'chain');
      assert.deepEqual(content, { head: undefined, journal: [[6, 'last']], pages: [] });
    },
  },
  {
    name: 'a commit under way while another owner opens is either seen by it, or fenced',
    run: async (context) => {
      const store = context.createStore();
      await (await store.open('file', 'create')).close();
      for (let round = 0; round < 10; round += 1) {
        const first = await store.open('file', 'open');
        const text = `round ${round}`;
        const commit = first.commit(relaxed({ journal: { number: first.opening.nextJournal, text }, head: text })).then(
          () => 'committed',
          (error: unknown) => String(error),
        );
        const second = await context.createStore().open('file', 'open');
        const outcome = await commit;
        const isSeen = second.opening.journal.some((record) => record.text === text);
        if (isSeen) assert.equal(outcome, 'committed');
        else assert.match(outcome, /storage_fenced/);
        assert.equal(second.opening.head === text, isSeen);
        await Promise.all([first.close(), second.close()]);
      }
    },
  },
];
