/** Replications with the session of a page's user, and with tokens that an app provides. */
import { expect, test } from 'vitest';
import { type JsonObject, ownMember } from '../../../../src/base/json/objects.ts';
import type { Network } from '../../../../src/core/core.ts';
import { createFetch } from '../../../../src/http/fetch-adapter.ts';
import type { ProvidedToken, TokenSource, TokenSourceChange } from '../../../../src/replication/contract.ts';
import { Service, useServices } from './support.ts';

useServices();

/** No failure is forgiven: a single one that counts would be the last. */
const STRICT = { replicator: { retries_per_request: '0', max_replication_retry_count: '0' } };
const URL = 'http://db.test/notes';

/** A server on the network, in front of which something checks who sends a request. */
class Remote implements TokenSource {
  /** The one token that the server accepts. */
  valid = 'one';
  hasSession = false;
  /** What the app provides at present. */
  provides: ProvidedToken | undefined | Error;
  readonly asked: (string | undefined)[] = [];
  readonly sent: { readonly credentials: unknown; readonly redirect: unknown; readonly by: string | null }[] = [];
  readonly #server: Service;
  readonly #listeners = new Set<(change: TokenSourceChange) => void>();

  constructor(server: Service) {
    this.#server = server;
  }

  get network(): Network {
    return {
      isBrowserFetch: true,
      tokenSource: this,
      fetch: async (input, init = {}) => {
        const headers = new Headers(init.headers);
        const by = headers.get('authorization');
        const credentials: unknown = Reflect.get(init, 'credentials');
        this.sent.push({ credentials, redirect: init.redirect, by });
        const isKnown = by === `Bearer ${this.valid}` || (this.hasSession && credentials === 'include');
        if (!isKnown) return Response.json({ error: 'unauthorized', reason: 'Please log in.' }, { status: 401 });
        headers.delete('authorization');
        const sent = new Request(String(input), Object.assign({ ...init, headers }, { duplex: 'half' }));
        return createFetch(this.#server.core.handle)(sent);
      },
    };
  }

  async ask(_url: string, refused: string | undefined): Promise<ProvidedToken | undefined> {
    this.asked.push(refused);
    if (this.provides instanceof Error) throw this.provides;
    return this.provides;
  }

  onChange(listener: (change: TokenSourceChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tell(change: TokenSourceChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}

async function start(): Promise<{ server: Service; remote: Remote; service: Service }> {
  const server = await Service.start();
  await server.must('PUT /notes');
  await server.must('PUT /notes/one', { by: 'server' });
  const remote = new Remote(server);
  const service = await Service.start(STRICT, undefined, remote.network);
  await service.must('PUT /_replicator');
  await service.must('PUT /notes');
  return { server, remote, service };
}

const pull = (auth: object) => ({ source: { url: URL, auth }, target: 'notes', continuous: true });
const PROVIDED = pull({ bearer: { provided: true } });

function waitsFor(reason: string): (document: JsonObject) => boolean {
  return (document) => ownMember(document, '_replication_state_reason') === `unauthorized: ${reason}`;
}

const NO_TOKEN = `no open page provides a bearer token for ${URL}. Open the app and log in there; it calls settee.credentials().`;
const NO_SESSION =
  'the user of this browser has no session at http://db.test, or it has ended. Log in there; the replication then goes on.';

test('without a page that provides a token, a document waits as unauthorized, and goes on at once when there is one', async () => {
  const { remote, service } = await start();
  await service.must('PUT /_replicator/pull', PROVIDED);
  const document = await service.until('pull', waitsFor(NO_TOKEN));
  // Servers of the family know no such state.
  expect(document).not.toHaveProperty('_replication_state');
  const times = { error_since: expect.any(String), next_attempt: expect.any(String) };
  const error = `unauthorized: ${NO_TOKEN}`;
  expect(await service.must('GET /_scheduler/docs/_replicator/pull')).toMatchObject({
    state: 'unauthorized',
    error_count: 0,
    info: { error, ...times },
  });
  expect(await service.must('GET /_scheduler/docs?states=unauthorized')).toMatchObject({ total_rows: 1 });
  const jobs = await service.must('GET /_scheduler/jobs');
  expect(jobs).toMatchObject({ jobs: [{ doc_id: 'pull', state: 'unauthorized', info: { error, ...times } }] });
  const tasks = await service.ask('GET /_active_tasks');
  expect(tasks.json).toMatchObject([{ type: 'replication', doc_id: 'pull', state: 'unauthorized', error, ...times }]);
  expect(service.core.replications.activity).toBe('resting');
  expect(remote.sent).toEqual([]);
  remote.provides = { token: 'one' };
  remote.tell({ type: 'added', prefix: 'http://db.test/' });
  expect(await service.untilState('pull', 'triggered')).not.toHaveProperty('_replication_state_reason');
  await service.untilRead('notes', 'one', () => true);
  expect(remote.sent.every(({ by, credentials }) => by === 'Bearer one' && credentials === 'omit')).toBe(true);
});

test('a token that is refused while the replication runs is renewed, and nothing fails', async () => {
  const { server, remote, service } = await start();
  remote.provides = { token: 'one' };
  await service.must('PUT /_replicator/pull', PROVIDED);
  await service.untilRead('notes', 'one', () => true);
  expect(remote.asked).toEqual([undefined]);
  remote.valid = 'two';
  remote.provides = { token: 'two' };
  await server.must('PUT /notes/two', { by: 'server' });
  await service.untilRead('notes', 'two', () => true);
  expect(remote.asked).toEqual([undefined, 'one']);
  const jobs = await service.must('GET /_scheduler/jobs');
  expect(jobs).toMatchObject({ jobs: [{ state: 'running', history: [{ type: 'started' }, { type: 'added' }] }] });
});

test('a page whose app fails is named with its reason', async () => {
  const { remote, service } = await start();
  remote.provides = new Error('/api/token answered 502');
  await service.must('PUT /_replicator/pull', PROVIDED);
  await service.until(
    'pull',
    waitsFor(`the page that provides bearer tokens for ${URL} failed: /api/token answered 502`),
  );
});

test('a page whose app has no network makes a document wait as offline, and its token ends that at once', async () => {
  const { remote, service } = await start();
  remote.provides = Object.assign(new Error('Failed to fetch'), { isOffline: true });
  await service.must('PUT /_replicator/pull', PROVIDED);
  const reason = `offline: the page that provides bearer tokens for ${URL} failed: Failed to fetch`;
  const document = await service.until('pull', (it) => ownMember(it, '_replication_state_reason') === reason);
  expect(document).not.toHaveProperty('_replication_state');
  expect(await service.must('GET /_scheduler/docs/_replicator/pull')).toMatchObject({
    state: 'paused',
    error_count: 0,
    info: { error: reason, next_attempt: expect.any(String) },
  });
  expect(remote.sent).toEqual([]);
  remote.provides = { token: 'one' };
  remote.tell({ type: 'added', prefix: 'http://db.test/' });
  await service.untilRead('notes', 'one', () => true);
});

test('a token that is refused again and again is a failure that counts', async () => {
  const { remote, service } = await start();
  remote.provides = { token: 'wrong' };
  await service.must('PUT /_replicator/pull', PROVIDED);
  const failed = await service.untilState('pull', 'error');
  expect(ownMember(failed, '_replication_state_reason')).toMatch(
    /^unauthorized: unauthorized to access or create database/,
  );
  const jobs = await service.must('GET /_scheduler/jobs');
  expect(jobs).toMatchObject({ jobs: [{ state: 'failed' }] });
});

test('a replication requested once fails if there is no token', async () => {
  const { service } = await start();
  const { source, target } = PROVIDED;
  const answer = await service.ask('POST /_replicate', { source, target });
  expect(answer).toEqual({ status: 500, json: { error: 'unauthorized', reason: NO_TOKEN } });
});

test('a fixed token is sent as it is, and is not part of the id', async () => {
  const { remote, service } = await start();
  const { target } = PROVIDED;
  const source = { url: URL, auth: { bearer: { token: 'one' } } };
  expect(await service.must('POST /_replicate', { source, target })).toMatchObject({ docs_written: 1 });
  expect(remote.asked).toEqual([]);
  expect(new Set(remote.sent.map(({ by }) => by))).toEqual(new Set(['Bearer one']));
});

test('the session of the user: cookies are sent, no redirect is followed, and without one the document waits', async () => {
  const { remote, service } = await start();
  await service.must('PUT /_replicator/pull', pull({ session: true }));
  await service.until('pull', waitsFor(NO_SESSION));
  const listed = await service.must('GET /_scheduler/docs/_replicator/pull');
  expect(listed).toMatchObject({ state: 'unauthorized', error_count: 0 });
  remote.hasSession = true;
  // A page is opened.
  remote.tell({ type: 'added', prefix: undefined });
  await service.untilRead('notes', 'one', () => true);
  expect(remote.sent.every(({ credentials, redirect }) => credentials === 'include' && redirect === 'error')).toBe(
    true,
  );
  expect(remote.sent.every(({ by }) => by === null)).toBe(true);
});

test('without session: true no cookies are sent, and redirects are followed', async () => {
  const { remote, service } = await start();
  const { target } = PROVIDED;
  await service.ask('POST /_replicate', { source: URL, target });
  expect(remote.sent.length).toBeGreaterThan(0);
  expect(remote.sent.every(({ credentials, redirect }) => credentials === 'omit' && redirect === 'follow')).toBe(true);
});
