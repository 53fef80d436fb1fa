import { assert } from 'chai';
import fc from 'fast-check';
import { fakeHash } from './fake-revisions.ts';
import { arrayAt, at, stringAt } from './json.ts';
import type { DatabaseModel, ModelDocument } from './revision-model.ts';
import type { Toolkit } from './toolkit.ts';

/**
 * Steps for the model test: each is plain data that fast-check can shrink and print. References in a step ("the third
 * leaf") are looked up in the model when it is run.
 */

/** Which revision a write names: none, the leaf with that number, or one that is not a leaf. */
type RevChoice = 'none' | 'stale' | 'unknown' | number;

interface Write {
  readonly id: string;
  readonly rev: RevChoice;
  readonly deleted: boolean;
  readonly n: number;
}

/** A replicated branch: from the chosen revision on (or from nothing), with these new hashes, oldest first. */
interface Branch {
  readonly id: string;
  /** Which of the known revisions it grows from; undefined creates a separate root. */
  readonly from: number | undefined;
  readonly digits: readonly string[];
  readonly deleted: boolean;
  readonly n: number;
}

export type Step =
  | { readonly kind: 'put'; readonly write: Write }
  | { readonly kind: 'delete'; readonly id: string; readonly rev: RevChoice }
  | { readonly kind: 'bulk'; readonly writes: readonly Write[] }
  | { readonly kind: 'replicate'; readonly branches: readonly Branch[] }
  | { readonly kind: 'compact' }
  | { readonly kind: 'restart' };

const id = fc.constantFrom('a', 'b', 'c', 'dd', 'e/f', '_design/x', 'Z');
const rev: fc.Arbitrary<RevChoice> = fc.oneof(
  { weight: 3, arbitrary: fc.constant(0) },
  { weight: 2, arbitrary: fc.constant<RevChoice>('none') },
  { weight: 1, arbitrary: fc.nat(3) },
  { weight: 1, arbitrary: fc.constantFrom<RevChoice>('stale', 'unknown') },
);
const flag = fc.boolean();
const n = fc.nat(99);
const write = fc.record({ id, rev, deleted: fc.constantFrom(false, false, true), n });
const branch = fc.record({
  id,
  from: fc.option(fc.nat(5), { nil: undefined }),
  digits: fc.array(fc.constantFrom(...'0123456789abcdef'), { minLength: 1, maxLength: 3 }),
  deleted: flag,
  n,
});

export const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('put' as const), write }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('delete' as const), id, rev }) },
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant('bulk' as const), writes: fc.array(write, { maxLength: 8 }) }),
    },
    {
      weight: 5,
      arbitrary: fc.record({ kind: fc.constant('replicate' as const), branches: fc.array(branch, { maxLength: 4 }) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('compact' as const) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
  ),
  { minLength: 1, maxLength: 25, size: 'max' },
);

/** Runs the step against service and model alike, and checks the service's response. */
export async function runStep(t: Toolkit, model: DatabaseModel, step: Step): Promise<void> {
  if (step.kind === 'put') return put(t, model, step.write);
  if (step.kind === 'delete') return remove(t, model, step.id, step.rev);
  if (step.kind === 'bulk') return bulk(t, model, step.writes);
  if (step.kind === 'replicate') return replicate(t, model, step.branches);
  if (step.kind === 'compact') return t.compact();
  return t.restart();
}

async function put(t: Toolkit, model: DatabaseModel, write: Write): Promise<void> {
  const document = model.document(write.id);
  const named = revOf(document, write.rev);
  const parent = document.parentFor(named);
  const answer = await t.at('PUT', pathOf(write.id), { json: bodyOf(write, named) });
  if (parent === 'conflict') {
    assert.equal(answer.status, 409, `${JSON.stringify(write)}: ${answer.text}`);
    return;
  }
  assert.equal(answer.status, write.deleted ? 200 : 201, answer.text);
  addWritten(document, parent?.rev, stringAt(answer.json, 'rev'), write);
}

async function remove(t: Toolkit, model: DatabaseModel, id: string, choice: RevChoice): Promise<void> {
  const document = model.document(id);
  const named = revOf(document, choice);
  const live = document.isLive();
  const parent = document.parentFor(named);
  const answer = await t.at('DELETE', `${pathOf(id)}${named === undefined ? '' : `?rev=${named}`}`);
  if (!live) {
    assert.equal(answer.status, 404, answer.text);
  } else if (parent === undefined || parent === 'conflict') {
    assert.equal(answer.status, 409, answer.text);
  } else {
    assert.equal(answer.status, 200, answer.text);
    addWritten(document, parent.rev, stringAt(answer.json, 'rev'), { deleted: true });
  }
}

async function bulk(t: Toolkit, model: DatabaseModel, writes: readonly Write[]): Promise<void> {
  const named = writes.map((write) => revOf(model.document(write.id), write.rev));
  const rows = await t.bulk(writes.map((write, index) => ({ _id: write.id, ...bodyOf(write, named[index]) })));
  assert.lengthOf(rows, writes.length);
  // All are checked against the state before: a write can't build on another of the same request. Each leaf is taken once, and a
  // write that names none comes first among those of its document.
  const before = writes.map((write, index) => model.document(write.id).parentFor(named[index]));
  const edited = new Set<string>();
  const taken = new Set<string>();
  for (const [index, write] of writes.entries()) {
    const parent = before[index];
    const leaf = `${write.id} ${parent === 'conflict' ? '' : parent?.rev}`;
    const isTaken = taken.has(leaf) || (named[index] === undefined && edited.has(write.id));
    const clash = parent === 'conflict' || isTaken;
    assert.equal(at(rows, index, 'error'), clash ? 'conflict' : undefined, JSON.stringify({ write, index, rows }));
    assert.equal(at(rows, index, 'id'), write.id);
    if (clash) continue;
    edited.add(write.id);
    taken.add(leaf);
    addWritten(model.document(write.id), parent?.rev, stringAt(rows, index, 'rev'), write);
  }
}

async function replicate(t: Toolkit, model: DatabaseModel, branches: readonly Branch[]): Promise<void> {
  const docs: object[] = [];
  for (const branch of branches) {
    const document = model.document(branch.id);
    const known = document.revisions;
    const base = branch.from === undefined ? undefined : known[branch.from % Math.max(known.length, 1)];
    const ids = [...branch.digits.map(fakeHash).toReversed(), ...(base === undefined ? [] : document.path(base.rev))];
    const start = (base?.generation ?? 0) + branch.digits.length;
    const body = { n: branch.n };
    const clash = document.get(`${start}-${ids[0]}`);
    // One name stands for one content: a known revision is sent with the content that it has.
    const deleted = clash?.deleted ?? branch.deleted;
    if (clash !== undefined && clash.body === undefined) continue;
    docs.push({
      _id: branch.id,
      _rev: `${start}-${ids[0]}`,
      _revisions: { start, ids },
      ...(deleted ? { _deleted: true } : {}),
      ...(clash?.body ?? body),
    });
    document.merge(start, ids, deleted, body);
  }
  await t.replicate(docs);
}

function addWritten(
  document: ModelDocument,
  parent: string | undefined,
  rev: string,
  write: { readonly deleted: boolean; readonly n?: number },
): void {
  const generation = (parent === undefined ? 0 : Number.parseInt(parent, 10)) + 1;
  assert.match(rev, new RegExp(`^${generation}-[0-9a-f]{32}$`));
  assert.isUndefined(document.get(rev), 'a new revision should be new');
  const body = write.n === undefined ? {} : { n: write.n };
  document.add({ rev, generation, hash: rev.slice(rev.indexOf('-') + 1), parent, deleted: write.deleted, body });
}

function bodyOf(write: Write, rev: string | undefined): object {
  return { ...(rev === undefined ? {} : { _rev: rev }), ...(write.deleted ? { _deleted: true } : {}), n: write.n };
}

function revOf(document: ModelDocument, choice: RevChoice): string | undefined {
  if (choice === 'none') return undefined;
  const leaves = document.leaves();
  if (choice === 'unknown') return `1-${fakeHash('0')}0`;
  if (choice === 'stale') return document.revisions.find((revision) => !leaves.includes(revision))?.rev;
  return leaves[choice % Math.max(leaves.length, 1)]?.rev;
}

function pathOf(id: string): string {
  return id.startsWith('_design/') ? `/${id}` : `/${encodeURIComponent(id)}`;
}

/** Compares everything that can be read of the document with the model. */
export async function checkDocument(t: Toolkit, document: ModelDocument): Promise<void> {
  const leaves = document.leaves();
  const winner = leaves[0];
  const read = await t.get(`${pathOf(document.id)}?conflicts=true&deleted_conflicts=true&revs=true`);
  if (winner === undefined || winner.deleted) {
    assert.equal(read.status, 404, read.text);
    assert.equal(at(read.json, 'reason'), winner === undefined ? 'missing' : 'deleted');
  } else {
    assert.equal(read.status, 200, read.text);
    const others = leaves.slice(1);
    const live = others.filter((leaf) => !leaf.deleted).map((leaf) => leaf.rev);
    const dead = others.filter((leaf) => leaf.deleted).map((leaf) => leaf.rev);
    assert.deepEqual(read.json, {
      _id: document.id,
      _rev: winner.rev,
      ...winner.body,
      _revisions: { start: winner.generation, ids: document.path(winner.rev) },
      ...(live.length > 0 ? { _conflicts: live } : {}),
      ...(dead.length > 0 ? { _deleted_conflicts: dead } : {}),
    });
  }
  const open = await t.get(`${pathOf(document.id)}?open_revs=all&revs=true`);
  const expected = leaves.map((leaf) => ({
    ok: {
      _id: document.id,
      _rev: leaf.rev,
      ...(leaf.deleted ? { _deleted: true } : {}),
      ...leaf.body,
      _revisions: { start: leaf.generation, ids: document.path(leaf.rev) },
    },
  }));
  assert.sameDeepMembers([...arrayAt(open.json)], expected);
}
