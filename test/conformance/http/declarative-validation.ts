import { assert } from 'chai';
import { assertError, assertJson, assertWritten } from '../../support/conformance/answer.ts';
import { fakeRev, replicated } from '../../support/conformance/fake-revisions.ts';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

/** As such design documents come: by replication. */
async function ruleBy(t: Toolkit, rule: unknown, { language = 'query', name = 'v' } = {}): Promise<void> {
  await t.replicate([{ _id: `_design/${name}`, _rev: fakeRev(1, 'a'), language, validate_doc_update: rule }]);
}

function write(t: Toolkit, id: string, json: unknown) {
  return t.at('PUT', `/${id}`, { json });
}

const TITLED = { newDoc: { title: { $type: 'string' } } };
const refusal = (...failures: readonly (readonly [path: string, message: string])[]) => ({
  error: 'forbidden',
  reason: 'document is not valid',
  failures: failures.map(([path, message]) => ({
    path: path.split('.').map((name) => (/^\d+$/.test(name) ? Number(name) : name)),
    message,
  })),
});

/** `validate_doc_update` as selectors (docs/http/functions.md#declarative-validation). */
export default suite('declarative_validation', [
  test("a document that the selector doesn't match is refused, with the path", async (t) => {
    await ruleBy(t, TITLED);
    assertWritten(await write(t, 'w', { title: 'good' }), 201, 'w');
    const wrong = ['newDoc.title', 'must be of the type "string"'] as const;
    assertJson(await write(t, 'x', { title: 1 }), 403, refusal(wrong));
    assertJson(await write(t, 'x', {}), 403, refusal(['newDoc.title', 'must be present']));
    const rows = await t.bulk([
      { _id: 'x', title: 1 },
      { _id: 'y', title: 'good' },
    ]);
    assert.deepEqual(rows[0], { id: 'x', rev: '', ...refusal(wrong) });
    assert.equal(at(rows[1], 'ok'), true);
    assert.deepInclude(await t.info(), { doc_count: 3 });
  }),

  test("replicated revisions that don't match are refused, and others are written", async (t) => {
    await ruleBy(t, TITLED);
    const docs = [replicated('a', 2, 'ba', { title: 'good' }), replicated('b', 2, 'ba', { title: 1 })];
    const rows = await t.bulk(docs, { new_edits: false });
    const shown = refusal(['newDoc.title', 'must be of the type "string"']);
    assert.deepEqual(rows, [{ id: 'b', rev: fakeRev(2, 'b'), ...shown }]);
    assert.equal((await t.get('/a')).status, 200);
    assertError(await t.get('/b'), 404, 'not_found', 'missing');
  }),

  test('a refusal lists every mismatch, and the failed alternatives', async (t) => {
    await ruleBy(t, {
      newDoc: {
        $or: [{ _deleted: true }, { year: { $gte: 1000, $lte: 2100 }, tags: { $allMatch: { $type: 'string' } } }],
        'author.name': { $regex: '^[A-Z]' },
        secret: { $exists: false },
        kind: { $not: { $in: ['draft', 'hidden'] } },
      },
    });
    const author = { name: 'Ann' };
    assertWritten(await write(t, 'w', { year: 1999, tags: ['a'], author, kind: 'x' }), 201, 'w');
    const wrong = { year: 2525, tags: ['a', 1, null], author: { name: 'ann' }, secret: 1, kind: 'draft' };
    assertJson(
      await write(t, 'x', wrong),
      403,
      refusal(
        ['newDoc._deleted', 'must be present'],
        ['newDoc.year', 'must be less than or equal to 2100'],
        ['newDoc.tags.1', 'must be of the type "string"'],
        ['newDoc.tags.2', 'must be of the type "string"'],
        ['newDoc.author.name', 'must be a string that matches "^[A-Z]"'],
        ['newDoc.secret', 'must not be present'],
        ['newDoc.kind', 'must be none of ["draft","hidden"]'],
      ),
    );
  }),

  test('a rule sees the replaced document, which is absent for a new one', async (t) => {
    await ruleBy(t, {
      $or: [
        { oldDoc: { $exists: false }, newDoc: { state: 'new' } },
        { oldDoc: { state: 'new' }, newDoc: { state: { $in: ['new', 'done'] } } },
      ],
    });
    const early = [
      ['newDoc.state', 'must be equal to "new"'],
      ['oldDoc.state', 'must be present'],
    ] as const;
    assertJson(await write(t, 'w', { state: 'done' }), 403, refusal(...early));
    const first = assertWritten(await write(t, 'w', { state: 'new' }), 201, 'w');
    const second = assertWritten(await write(t, 'w', { _rev: first, state: 'done' }), 201, 'w');
    const again = await write(t, 'w', { _rev: second, state: 'done' });
    assert.deepEqual([again.status, at(again.json, 'error')], [403, 'forbidden']);
    assertError(await write(t, 'w', { _rev: first, state: 'new' }), 409, 'conflict', 'Document update conflict.');
    // A deletion is a document without its members.
    const deleted = await t.at('DELETE', `/w?rev=${second}`);
    assert.deepEqual([deleted.status, at(deleted.json, 'error')], [403, 'forbidden']);
  }),

  test('a rule applies together with validation functions of other design documents, until it is changed or deleted', async (t) => {
    await ruleBy(t, TITLED);
    const source = 'function (newDoc) { if (newDoc.no) throw { forbidden: "no" }; }';
    await t.put('_design/function', { validate_doc_update: source });
    assertError(await write(t, 'a', { title: 'good', no: true }), 403, 'forbidden', 'no');
    assert.equal((await write(t, 'a', { no: true })).status, 403);
    const changed = await t.put('_design/v', { _rev: fakeRev(1, 'a'), language: 'query', validate_doc_update: {} });
    await t.put('a', {});
    await t.delete('_design/v', changed);
    await t.put('b', {});
  }),

  test('a rule can be in a design document of any language that the service runs', async (t) => {
    await t.put('_design/v', { validate_doc_update: TITLED });
    assert.equal((await write(t, 'a', { title: 1 })).status, 403);
    await t.put('a', { title: 'good' });
  }),

  test('an invalid rule refuses every write, and says which rule', async (t) => {
    for (const [rule, why] of [
      [{ newDoc: { title: { $like: 'x' } } }, /_design\/v.*Invalid operator: "\$like"/],
      [{ newdoc: { title: 'x' } }, /_design\/v.*"newDoc" and "oldDoc".*"newdoc"/],
      [{ newDoc: { title: { $in: 'x' } } }, /_design\/v.*Bad argument for operator \$in/],
    ] as const) {
      const rev = await t.put('_design/v', { language: 'query', validate_doc_update: rule });
      const answer = await write(t, 'a', { title: 'x' });
      assert.deepEqual([answer.status, at(answer.json, 'error')], [500, 'compilation_error']);
      assert.match(`${at(answer.json, 'reason')}`, why);
      await t.delete('_design/v', rev);
    }
    await t.put('a', {});
  }),

  test('a rule in an unsupported language or form refuses nothing', async (t) => {
    const source = 'function () { throw { forbidden: "no" }; }';
    await ruleBy(t, 'fun(_, _, _, _) -> throw({forbidden, no}) end.', { language: 'erlang', name: 'other' });
    await ruleBy(t, TITLED, { language: 'later', name: 'later' });
    await ruleBy(t, source, { language: 'query', name: 'text' });
    await ruleBy(t, 5, { language: 'javascript', name: 'number' });
    await ruleBy(t, [source], { language: 'javascript', name: 'list' });
    await t.put('a', {});
    await t.put('_design/rule', { validate_doc_update: source });
    assertError(await write(t, 'b', {}), 403, 'forbidden', 'no');
  }),

  test(
    'a rule applies after a restart',
    async (t) => {
      await ruleBy(t, TITLED);
      await t.restart();
      assert.equal((await write(t, 'a', {})).status, 403);
    },
    { needs: ['restart'] },
  ),
]);
