import { assert } from 'chai';
import { at, numberAt, stringAt } from '../../../support/conformance/json.ts';
import { nextPoll, type Toolkit } from '../../../support/conformance/toolkit.ts';
import { deadlineMs } from '../../../support/conformance/with-deadline.ts';

/** Steps that the cases about replications begin with. Their source is the case's database, their target another one. */

/** An empty database to copy to. */
export async function newTarget(t: Toolkit, suffix = 'target'): Promise<string> {
  const name = `${t.db}_${suffix}`;
  await t.createDatabase(name);
  return name;
}

/** A replication that is done when it is answered; gives its result. */
export async function replicate(t: Toolkit, members: Readonly<Record<string, unknown>>): Promise<unknown> {
  const answer = await t.request('POST', '/_replicate', { json: { source: t.db, ...members } });
  assert.equal(answer.status, 200, answer.text);
  assert.isTrue(at(answer.json, 'ok'));
  return answer.json;
}

export async function documentCount(t: Toolkit, database: string): Promise<number> {
  return numberAt((await t.request('GET', `/${database}`)).json, 'doc_count');
}

/** Has the case work with an empty `_replicator`. */
export async function useReplicator(t: Toolkit): Promise<void> {
  await t.createDatabase('_replicator');
}

/** Writes a document that asks for a replication from the case's database; it must be taken. */
export async function ask(t: Toolkit, id: string, members: Readonly<Record<string, unknown>>): Promise<string> {
  const answer = await t.request('PUT', `/_replicator/${id}`, { json: { source: t.db, ...members } });
  assert.equal(answer.status, 201, answer.text);
  return stringAt(answer.json, 'rev');
}

export async function readAsked(t: Toolkit, id: string): Promise<unknown> {
  const answer = await t.request('GET', `/_replicator/${id}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

/** The document once it says that; waits for it. */
export async function untilState(t: Toolkit, id: string, state: string): Promise<unknown> {
  return until(
    () => readAsked(t, id),
    (document) => at(document, '_replication_state') === state,
    `${id} should be ${state}`,
  );
}

/** What is read, once it is as it should be. */
export async function until<T>(read: () => Promise<T>, isDone: (value: T) => boolean, what: string): Promise<T> {
  const giveUpAt = Date.now() + deadlineMs;
  for (;;) {
    const value = await read();
    if (isDone(value)) return value;
    assert.isBelow(Date.now(), giveUpAt, `${what}, and is ${JSON.stringify(value)}`);
    await nextPoll();
  }
}

/** Waits until the document is there. */
export async function arrives(t: Toolkit, database: string, id: string): Promise<void> {
  const read = async () => (await t.request('GET', `/${database}/${id}`)).status;
  await until(read, (status) => status === 200, `${id} should come to ${database}`);
}

/** Waits until no job is left. */
export async function noJobs(t: Toolkit): Promise<void> {
  const read = async () => numberAt((await t.request('GET', '/_scheduler/jobs')).json, 'total_rows');
  await until(read, (count) => count === 0, 'no replication should be left');
}
