import { assert } from 'chai';
import { arrayAt, at, stringAt } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import type { Toolkit } from '../../../support/conformance/toolkit.ts';
import { arrives, ask, documentCount, newTarget, replicate, untilState, useReplicator } from './steps.ts';

const needs = ['network'] as const;

/** The service itself by its URL: with a header it stays one, and is not the name of a database. */
function remote(t: Toolkit, database: string): object {
  return { url: `${t.baseUrl}/${database}`, headers: { 'x-test': 'a secret' } };
}

export default suite('replication_remote', [
  test(
    'a replication copies from and to a URL',
    async (t) => {
      const target = await newTarget(t);
      await t.put('doc', { _attachments: { a: { content_type: 'text/plain', data: 'QSB3YWxr' } } });
      await replicate(t, { source: remote(t, t.db), target });
      assert.equal((await t.request('GET', `/${target}/doc/a`)).text, 'A walk');
      const back = await newTarget(t, 'back');
      await replicate(t, { source: target, target: remote(t, back) });
      assert.equal((await t.request('GET', `/${back}/doc/a`)).text, 'A walk');
    },
    { needs },
  ),

  test(
    'a replication by a document shows no secrets in lists and tasks',
    async (t) => {
      await useReplicator(t);
      const target = await newTarget(t);
      await t.put('one', {});
      await ask(t, 'live', { source: remote(t, t.db), target, continuous: true });
      await arrives(t, target, 'one');
      const document = await untilState(t, 'live', 'triggered');
      assert.equal(at(document, 'source', 'url'), `${t.baseUrl}/${t.db}`);
      assert.match(stringAt(document, 'source', 'headers', 'x-test'), /^-sealed-/);
      const listed = (await t.request('GET', '/_scheduler/docs/_replicator/live')).json;
      assert.deepInclude(listed, { source: `${t.baseUrl}/${t.db}/`, target, state: 'running' });
      const tasks = arrayAt((await t.request('GET', '/_active_tasks')).json);
      const task = tasks.find((each) => at(each, 'doc_id') === 'live');
      assert.deepInclude(task, { source: `${t.baseUrl}/${t.db}/`, target });
      const jobs = (await t.request('GET', '/_scheduler/jobs')).text;
      assert.notInclude(JSON.stringify([listed, tasks]) + jobs, 'a secret');
    },
    { needs },
  ),

  test(
    'a session or a token of a page is refused on a server',
    async (t) => {
      for (const auth of [{ session: true }, { bearer: { provided: true } }]) {
        const source = { url: 'http://127.0.0.1:1/a', auth };
        const answer = await t.request('POST', '/_replicate', { json: { source, target: t.db } });
        assert.equal(answer.status, 400, answer.text);
        assert.equal(at(answer.json, 'error'), 'bad_request');
      }
    },
    { needs },
  ),

  test(
    'a URL of the service itself is the local database',
    async (t) => {
      const target = await newTarget(t);
      await t.put('doc', {});
      await replicate(t, { source: `${t.baseUrl}/${t.db}`, target: `${t.baseUrl}/${target}` });
      assert.equal(await documentCount(t, target), 1);
    },
    { needs },
  ),

  test(
    'an unreachable source is named in the state, without the password',
    async (t) => {
      await useReplicator(t);
      const target = await newTarget(t);
      await ask(t, 'copy', { source: 'http://ana:hidden@127.0.0.1:1/none', target, retries_per_request: 0 });
      const document = await untilState(t, 'copy', 'error');
      assert.match(String(at(document, '_replication_state_reason')), /127\.0\.0\.1:1\/none/);
      assert.notMatch(String(at(document, '_replication_state_reason')), /hidden|ana/);
    },
    { needs },
  ),
]);
