import { assert } from 'chai';
import { basic, type Headers, ROOT, withUsers } from '../../../support/conformance/accounts.ts';
import { type Answer, assertError } from '../../../support/conformance/answer.ts';
import { arrayAt, at, stringAt } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import type { Toolkit } from '../../../support/conformance/toolkit.ts';
import { newTarget, until } from './steps.ts';

const ANA = basic('ana', 'ana');
const BOB = basic('bob', 'bob');
const AS_ANA = { name: 'ana', roles: ['staff'] };

const OTHERS = "Can't update replication documents from other users.";
const NOT_DELETED = 'Replication documents can only be deleted by admins or by the users who created them.';

async function withAnaAndBob(t: Toolkit): Promise<Toolkit> {
  const own = await withUsers(t, [{ name: 'ana', roles: ['staff'] }, { name: 'bob' }]);
  await own.createDatabase('_replicator');
  return own;
}

function write(t: Toolkit, headers: Headers, id: string, members: object): Promise<Answer> {
  return t.request('PUT', `/_replicator/${id}`, { headers, json: { source: t.db, ...members } });
}

/** The document once the service has said how its replication is. */
async function ended(t: Toolkit, id: string): Promise<unknown> {
  const read = async () => (await t.request('GET', `/_replicator/${id}`, { headers: ROOT })).json;
  const isOver = (document: unknown) => ['completed', 'error'].includes(String(at(document, '_replication_state')));
  return until(read, isOver, `${id} should come to an end`);
}

async function put(t: Toolkit, path: string, json: object): Promise<string> {
  const answer = await t.request('PUT', path, { headers: ROOT, json });
  assert.include([200, 201], answer.status, answer.text);
  return `${at(answer.json, 'rev')}`;
}

const needs = ['settings'] as const;

/** Who may write which documents of `_replicator`, and with whose rights they are done. */
export default suite('replication_document_users', [
  test(
    "a user who isn't an admin writes and deletes own documents, which have that user's rights only",
    async (t) => {
      const own = await withAnaAndBob(t);
      const members = { target: await newTarget(own), continuous: true, user_ctx: AS_ANA };
      const refused = async (answer: Promise<Answer>, reason: string) =>
        assertError(await answer, 403, 'forbidden', reason);
      await refused(
        write(own, ANA, 'one', { ...members, user_ctx: undefined }),
        "The `user_ctx' property is missing (it is optional for admins only).",
      );
      await refused(write(own, BOB, 'one', members), "The given `user_ctx.name' is not valid");
      const boss = { name: 'ana', roles: ['boss'] };
      await refused(write(own, ANA, 'one', { ...members, user_ctx: boss }), "Invalid role (`boss') in the `user_ctx'");
      await refused(write(own, ANA, 'one', { ...members, owner: 'bob' }), OTHERS);
      // So that it is never triggered, and may be edited.
      const waits = { ...members, source: `${own.db}_none` };
      const written = await write(own, ANA, 'one', waits);
      assert.equal(written.status, 201, written.text);
      const document = await ended(own, 'one');
      assert.equal(at(document, 'owner'), 'ana');
      const rev = stringAt(document, '_rev');
      await refused(write(own, BOB, 'one', { ...waits, _rev: rev, user_ctx: { name: 'bob', roles: [] } }), OTHERS);
      for (const headers of [BOB, {}]) {
        await refused(own.request('DELETE', `/_replicator/one?rev=${rev}`, { headers }), NOT_DELETED);
      }
      assert.equal((await own.request('DELETE', `/_replicator/one?rev=${rev}`, { headers: ANA })).status, 200);
    },
    { needs },
  ),

  test(
    'the rights of the user apply to local databases',
    async (t) => {
      const own = await withAnaAndBob(t);
      const target = await newTarget(own);
      const rule = "function (doc, old, user) { if (user.name !== 'ana') throw { forbidden: 'not ana' }; }";
      await put(own, `/${target}/_design/rule`, { validate_doc_update: rule });
      await put(own, `/${own.db}/doc`, {});
      await put(own, `/${own.db}/_design/mine`, { views: {} });
      assert.equal((await write(own, ANA, 'anas', { target, user_ctx: AS_ANA })).status, 201);
      const anas = await ended(own, 'anas');
      const stats = at(anas, '_replication_stats');
      assert.deepInclude(stats, { docs_written: 1, doc_write_failures: 1 });
      assert.deepEqual(
        arrayAt(stats, 'refused').map((refused) => at(refused, 'id')),
        ['_design/mine'],
      );
      assert.equal((await own.request('GET', `/${target}/doc`, { headers: ROOT })).status, 200);
    },
    { needs },
  ),

  test(
    'a document written by an admin has admin rights, unless it names another user',
    async (t) => {
      const own = await withAnaAndBob(t);
      const target = await newTarget(own);
      await put(own, `/${own.db}/_security`, { members: { names: ['bob'], roles: [] } });
      await put(own, `/${own.db}/_design/mine`, { views: {} });
      assert.equal((await write(own, ROOT, 'roots', { target })).status, 201);
      const roots = await ended(own, 'roots');
      assert.deepInclude(roots, { owner: 'root', _replication_state: 'completed' });
      assert.equal((await own.request('GET', `/${target}/_design/mine`, { headers: ROOT })).status, 200);
      assert.equal((await write(own, ROOT, 'anas', { target, user_ctx: AS_ANA })).status, 201);
      const anas = await ended(own, 'anas');
      assert.equal(at(anas, '_replication_state'), 'error');
      const why = `unauthorized to access or create database ${own.db}: You are not authorized to access this db.`;
      assert.equal(stringAt(anas, '_replication_state_reason'), `unauthorized: ${why}`);
      const asked = {
        headers: { ...ANA, 'content-type': 'application/json' },
        body: JSON.stringify({ source: own.db, target }),
      };
      assertError(await own.request('POST', '/_replicate', asked), 500, 'unauthorized', why);
    },
    { needs },
  ),
]);
