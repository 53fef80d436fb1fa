import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { must } from '../../../src/base/shared/assert.ts';
import type { Commit, PageFile, PageValue } from '../../../src/storage/page-store.ts';
import { contentOf, type FileContent, readPage, rejects } from '../../conformance/storage/expectations.ts';
import type { StorageContext } from '../../conformance/storage/suite.ts';
import { postgresFactory, postgresUrl } from '../../support/postgres/postgres.ts';
import { backends } from './backends.ts';

/** Random commits, openings and stale owners, against a model of a file in two maps. */
interface Model {
  head: string | undefined;
  next: number;
  readonly journal: Map<number, string>;
  readonly pages: Map<number, PageValue>;
}

type Action =
  | { readonly kind: 'open' }
  | { readonly kind: 'stale commit' }
  | {
      readonly kind: 'commit';
      readonly record: string | undefined;
      readonly writes: readonly number[];
      readonly drops: readonly number[];
      readonly head: string | undefined;
      /** How many of the newest records a truncation keeps; undefined where there is none. */
      readonly keep: number | undefined;
      readonly strict: boolean;
    };

const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });
const smallNumbers = fc.uniqueArray(fc.nat(30), { maxLength: 6 });
const commits: fc.Arbitrary<Action> = fc.record({
  kind: fc.constant('commit'),
  record: maybe(fc.string({ maxLength: 10 })),
  writes: smallNumbers,
  drops: smallNumbers,
  head: maybe(fc.string({ maxLength: 10 })),
  keep: maybe(fc.nat(4)),
  strict: fc.boolean(),
});
const actions = fc.oneof(
  { weight: 6, arbitrary: commits },
  { weight: 1, arbitrary: fc.constant<Action>({ kind: 'open' }) },
  { weight: 1, arbitrary: fc.constant<Action>({ kind: 'stale commit' }) },
);

/** A page of a number that was not used before, as the contract has it. */
function newPage(step: number, index: number): { number: number; value: PageValue } {
  const number = step * 100 + index;
  return { number, value: number % 2 === 0 ? `page ${number}` : new Uint8Array([number % 256, 1]) };
}

function commitOf(action: Action & { kind: 'commit' }, step: number, model: Model): Commit {
  const known = [...model.pages.keys()];
  const drops = action.drops.map((index) => known[index] ?? 999_999);
  const end = model.next + (action.record === undefined ? 0 : 1);
  return {
    durability: action.strict ? 'strict' : 'relaxed',
    ...(action.writes.length === 0 ? {} : { writePages: action.writes.map((index) => newPage(step, index)) }),
    ...(drops.length === 0 ? {} : { dropPages: drops }),
    ...(action.record === undefined ? {} : { journal: { number: model.next, text: action.record } }),
    ...(action.head === undefined ? {} : { head: action.head }),
    ...(action.keep === undefined ? {} : { truncateJournal: Math.max(1, end - action.keep) }),
  };
}

function apply(commit: Commit, model: Model): void {
  if (commit.journal !== undefined) model.journal.set(commit.journal.number, commit.journal.text);
  if (commit.journal !== undefined) model.next += 1;
  for (const { number, value } of commit.writePages ?? []) model.pages.set(number, value);
  for (const number of commit.dropPages ?? []) model.pages.delete(number);
  model.head = commit.head ?? model.head;
  for (const number of [...model.journal.keys()]) {
    if (number < (commit.truncateJournal ?? 0)) model.journal.delete(number);
  }
}

function modelContent(model: Model): FileContent {
  const pages = [...model.pages].sort(([left], [right]) => left - right);
  return {
    head: model.head,
    journal: [...model.journal],
    pages: pages.map(([number, value]) => [number, typeof value === 'string' ? value : [...value]]),
  };
}

async function run(context: StorageContext, script: readonly Action[]): Promise<void> {
  const owners: PageFile[] = [await context.createStore().open('file', 'create')];
  const model: Model = { head: undefined, next: 2, journal: new Map(), pages: new Map() };
  const open = async (): Promise<void> => {
    const owner = await context.createStore().open('file', 'open');
    model.next += 1;
    expect(owner.opening.nextJournal).toBe(model.next);
    expect(await contentOf(owner)).toEqual(modelContent(model));
    owners.push(owner);
  };
  for (const [step, action] of script.entries()) {
    if (action.kind === 'open') await open();
    else if (action.kind === 'stale commit') {
      for (const stale of owners.slice(0, -1))
        await rejects('storage_fenced', () => stale.commit({ durability: 'relaxed' }));
    } else {
      const commit = commitOf(action, step + 1, model);
      await must(owners.at(-1)).commit(commit);
      apply(commit, model);
      for (const { number, value } of commit.writePages ?? []) {
        const expected = model.pages.has(number) ? value : undefined;
        const found = await readPage(must(owners.at(-1)), number);
        expect(found).toEqual(expected instanceof Uint8Array ? [...expected] : expected);
      }
    }
  }
  await open();
  for (const owner of owners) await owner.close();
}

const url = await postgresUrl();
const all = url === undefined ? backends : [...backends, { name: 'postgres', factory: postgresFactory(url) }];

describe.each(all)('$name', ({ name, factory }) => {
  test('behaves like the model', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(actions, { maxLength: 30 }), async (script) => {
        const context = await factory.create();
        try {
          await run(context, script);
        } finally {
          await factory.dispose(context);
        }
      }),
      { numRuns: name === 'lmdb' ? 25 : 60 },
    );
  });
});
