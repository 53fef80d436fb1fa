import { assert } from 'chai';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { readQuickJsWasm } from '../../src/node/server/platform.ts';
import { CoreHost } from '../support/conformance/core-host.ts';
import type { Host } from '../support/conformance/host.ts';
import { arrayAt, numberAt } from '../support/conformance/json.ts';
import { lmdbStorage } from '../support/conformance/lmdb-storage.ts';
import { memoryStorage } from '../support/conformance/memory-storage.ts';
import { checkDocument, runStep, type Step, steps } from '../support/conformance/model-steps.ts';
import { NodeHost } from '../support/conformance/node-host.ts';
import { DatabaseModel } from '../support/conformance/revision-model.ts';
import { Toolkit } from '../support/conformance/toolkit.ts';
import { roundsOf } from '../support/long-runs.ts';

/**
 * Random sequences of writes against the service and against a model of it: whatever was done, reads, listings and
 * counts agree. A failure prints the seed and the shortest sequence that still fails.
 */

interface Range {
  readonly start: string | undefined;
  readonly end: string | undefined;
  readonly inclusiveEnd: boolean;
  readonly descending: boolean;
  readonly skip: number;
  readonly limit: number;
}

const bound = fc.option(fc.constantFrom('', 'A', 'Z', '_', '_design/x', 'a', 'b', 'bb', 'dd', 'e', 'e/f', 'z'), {
  nil: undefined,
});
const ranges = fc.array(
  fc.record({
    start: bound,
    end: bound,
    inclusiveEnd: fc.boolean(),
    descending: fc.boolean(),
    skip: fc.nat(3),
    limit: fc.nat(8),
  }),
  { minLength: 3, maxLength: 5 },
);

/** Rows by the model: sort, cut, skip, limit. */
function rowsOf(model: DatabaseModel, range: Range): object[] {
  const { start, end, inclusiveEnd, descending, skip, limit } = range;
  const ids = model.live.map((document) => document.id);
  const after = (left: string, right: string): boolean => (descending ? left < right : left > right);
  const cut = (descending ? ids.toReversed() : ids)
    .filter((id) => start === undefined || id === start || after(id, start))
    .filter((id) => end === undefined || (inclusiveEnd && id === end) || after(end, id));
  return cut.slice(skip, skip + limit).map((id) => ({ id, key: id, value: { rev: model.document(id).winner()?.rev } }));
}

async function checkRange(t: Toolkit, model: DatabaseModel, range: Range): Promise<void> {
  const query = new URLSearchParams({ skip: `${range.skip}`, limit: `${range.limit}` });
  if (range.start !== undefined) query.set('startkey', JSON.stringify(range.start));
  if (range.end !== undefined) query.set('endkey', JSON.stringify(range.end));
  if (range.descending) query.set('descending', 'true');
  if (!range.inclusiveEnd) query.set('inclusive_end', 'false');
  const answer = await t.get(`/_all_docs?${query}`);
  const rows = arrayAt(answer.json, 'rows');
  assert.deepEqual(rows, rowsOf(model, range));
  assert.equal(numberAt(answer.json, 'total_rows'), model.live.length);
  const first = rows[0];
  if (first === undefined) return;
  const everything = rowsOf(model, { ...range, start: undefined, end: undefined, skip: 0, limit: 1000 });
  const position = everything.findIndex((row) => JSON.stringify(row) === JSON.stringify(first));
  assert.equal(numberAt(answer.json, 'offset'), position);
}

async function checkInfo(t: Toolkit, model: DatabaseModel): Promise<void> {
  assert.deepInclude(await t.info(), {
    doc_count: model.live.length,
    doc_del_count: model.documents.length - model.live.length,
  });
}

async function runSequence(host: Host, sequence: readonly Step[], wanted: readonly Range[]): Promise<void> {
  const t = await Toolkit.open(host, 'model');
  try {
    const model = new DatabaseModel();
    let sequenceBefore = 0;
    for (const step of sequence) {
      await runStep(t, model, step);
      await checkInfo(t, model);
      const sequenceNow = await t.updateSeq();
      assert.isAtLeast(sequenceNow, sequenceBefore);
      if (step.kind === 'compact' || step.kind === 'restart') assert.equal(sequenceNow, sequenceBefore, step.kind);
      sequenceBefore = sequenceNow;
    }
    for (const document of model.documents) await checkDocument(t, document);
    for (const range of wanted) await checkRange(t, model, range);
  } finally {
    await t.close();
  }
}

/** The rounds are fixed: what is too slow for them fails by the time of the test, and never passes with fewer. */
async function compare(host: Host, numRuns: number): Promise<void> {
  let done = 0;
  try {
    await fc.assert(
      fc.asyncProperty(steps, ranges, async (sequence, wanted) => {
        await runSequence(host, sequence, wanted);
        done++;
      }),
      { numRuns, endOnFailure: false },
    );
    assert.equal(done, numRuns);
  } finally {
    await host.close();
  }
}

describe('the service agrees with a model of it', () => {
  test('on memory', { timeout: 300_000 }, async () => {
    await compare(
      await CoreHost.start({ name: 'memory', newStorage: memoryStorage, loadWasm: readQuickJsWasm }),
      roundsOf(80, 200),
    );
  });

  test('through node:http', { timeout: 300_000 }, async () => {
    await compare(await NodeHost.start(), roundsOf(6, 15));
  });

  test('on LMDB', { timeout: 300_000 }, async () => {
    await compare(
      await CoreHost.start({ name: 'LMDB', newStorage: lmdbStorage, loadWasm: readQuickJsWasm }),
      roundsOf(6, 15),
    );
  });
});
