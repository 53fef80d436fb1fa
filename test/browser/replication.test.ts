import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { arrayAt, at } from '../support/conformance/json.ts';
import { patient } from '../support/patience.ts';
import { type Site, useBrowserSession } from './browser-session.ts';
import { call, type Way } from './controls.ts';
import type { Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';
import { type ProxiedServer, startProxiedServer } from './proxied-server.ts';

const ways: readonly Way[] = ['settee', 'fetch'];
const soon = { ...patient, interval: 20 };

describe.each(chosenEngines())('replication in %s', (engine) => {
  const session = useBrowserSession(engine);
  let server: ProxiedServer;
  let site: Site;

  afterEach(() => server?.close());

  async function openSite(): Promise<Tab> {
    site = await session.openSite();
    server = await startProxiedServer(site);
    return openTab();
  }

  async function openTab(): Promise<Tab> {
    const tab = await site.open('control');
    await call(tab, 'start', { base: '/db/' });
    return tab;
  }

  async function make(tab: Tab): Promise<void> {
    expect(await call(tab, 'request', 'settee', 'PUT', '/db/notes')).toMatchObject({ status: 201 });
    expect(await server.ask('PUT', '/notes')).toEqual({ ok: true });
  }

  async function replicate(tab: Tab, way: Way, direction: 'pull' | 'push', more: object = {}) {
    const remote = `${server.url}notes`;
    const ends = direction === 'pull' ? { source: remote, target: 'notes' } : { source: 'notes', target: remote };
    return call(tab, 'request', way, 'POST', '/db/_replicate', { ...ends, ...more });
  }

  async function write(tab: Tab, id: string): Promise<void> {
    const answer = await call(tab, 'request', 'settee', 'PUT', `/db/notes/${id}`, { by: 'page' });
    expect(answer).toMatchObject({ status: 201 });
  }

  async function read(tab: Tab, id: string): Promise<unknown> {
    return (await call(tab, 'request', 'settee', 'GET', `/db/notes/${id}`)).json;
  }

  /** The states of all. */
  async function jobs(tab: Tab): Promise<readonly unknown[]> {
    const { json } = await call(tab, 'request', 'settee', 'GET', '/db/_scheduler/jobs');
    return arrayAt(json, 'jobs').map((job) => at(job, 'state'));
  }

  test.each(ways)('runs live in both directions when requested by %s', async (way) => {
    const tab = await openSite();
    await make(tab);
    for (const direction of ['pull', 'push'] as const) {
      expect(await replicate(tab, way, direction, { continuous: true })).toMatchObject({ status: 202 });
    }
    expect(await server.ask('PUT', '/notes/there', { n: 1 })).toMatchObject({ ok: true });
    await expect
      .poll(() => call(tab, 'request', way, 'GET', '/db/notes/there'), soon)
      .toMatchObject({ status: 200, json: { n: 1 } });
    expect(await call(tab, 'request', way, 'PUT', '/db/notes/here', { n: 2 })).toMatchObject({ status: 201 });
    await expect.poll(() => server.ask('GET', '/notes/here'), soon).toMatchObject({ n: 2 });
  });

  test('requested of an owner that closes is continued by the next owner', async () => {
    const tab = await openSite();
    await make(tab);
    const other = await openTab();
    for (const direction of ['pull', 'push'] as const) {
      expect(await replicate(other, 'settee', direction, { continuous: true })).toMatchObject({ status: 202 });
    }
    await write(tab, 'first');
    await expect.poll(() => server.ask('GET', '/notes/first'), soon).toMatchObject({ by: 'page' });
    await tab.close();
    // A write under way while the owner goes may be answered 503, a read never.
    await read(other, 'first');
    await write(other, 'second');
    await expect.poll(() => server.ask('GET', '/notes/second'), soon).toMatchObject({ by: 'page' });
    await server.ask('PUT', '/notes/third', { by: 'server' });
    await expect.poll(() => read(other, 'third'), soon).toMatchObject({ by: 'server' });
    expect(await jobs(other)).toEqual(['running', 'running']);
  });

  test('reaches the server even if its address is the base, below which pages are answered locally', async () => {
    const elsewhere = await session.openSite();
    server = await startProxiedServer(elsewhere);
    await server.ask('PUT', '/notes');
    await server.ask('PUT', '/notes/there', { by: 'server' });
    site = await session.openSite();
    const tab = await site.open('control');
    const base = server.url;
    await call(tab, 'start', { base });
    for (const way of ways) {
      expect(await call(tab, 'request', way, 'GET', `${base}notes`)).toMatchObject({ status: 404 });
    }
    expect(await call(tab, 'request', 'fetch', 'PUT', `${base}notes`)).toMatchObject({ status: 201 });
    expect(server.seen).toEqual([]);
    const both = [
      { source: `${base}notes`, target: 'notes' },
      { source: 'notes', target: `${base}notes` },
    ];
    for (const ends of both) {
      const asked = await call(tab, 'request', 'fetch', 'POST', `${base}_replicate`, { ...ends, continuous: true });
      expect(asked).toMatchObject({ status: 202 });
    }
    const there = () => call(tab, 'request', 'fetch', 'GET', `${base}notes/there`);
    await expect.poll(there, soon).toMatchObject({ status: 200, json: { by: 'server' } });
    await call(tab, 'request', 'fetch', 'PUT', `${base}notes/here`, { by: 'page' });
    await expect.poll(() => server.ask('GET', '/notes/here'), soon).toMatchObject({ by: 'page' });
    expect(server.seen.filter((line) => line.startsWith('PUT /notes/here') || line.includes('#'))).toEqual([]);
  });

  test('copies conflicts, deletions and attachments both ways once, and both sides have the same winners', async () => {
    const tab = await openSite();
    await make(tab);
    await write(tab, 'both');
    await server.ask('PUT', '/notes/both', { by: 'server' });
    const text = { content_type: 'text/plain', data: btoa('bytes of the page') };
    const file = { content_type: 'application/octet-stream', data: btoa('bytes of the server '.repeat(5_000)) };
    await call(tab, 'request', 'settee', 'PUT', '/db/notes/text', { _attachments: { 'a b.txt': text } });
    await server.ask('PUT', '/notes/file', { _attachments: { 'ü.bin': file } });
    const gone = await server.ask('PUT', '/notes/gone', {});
    await server.ask('DELETE', `/notes/gone?rev=${at(gone, 'rev')}`);
    for (const direction of ['pull', 'push'] as const) {
      expect(await replicate(tab, 'fetch', direction)).toMatchObject({ status: 200, json: { ok: true } });
    }
    for (const id of ['both', 'text', 'file']) {
      const there = await server.ask('GET', `/notes/${id}?conflicts=true`);
      expect(await read(tab, `${id}?conflicts=true`)).toEqual(there);
      expect(at(there, '_rev')).toMatch(/^1-/);
    }
    expect(await read(tab, 'both?conflicts=true')).toMatchObject({ _conflicts: [expect.stringMatching(/^1-/)] });
    expect(await server.ask('GET', '/notes/text?attachments=true')).toMatchObject({
      _attachments: { 'a b.txt': { data: text.data } },
    });
    expect(await read(tab, 'file/%C3%BC.bin')).toBe('bytes of the server '.repeat(5_000));
    expect(await read(tab, 'gone')).toEqual({ error: 'not_found', reason: 'deleted' });
    // What was pushed is no news; then there is nothing more to do, which is known from the checkpoints.
    expect(await replicate(tab, 'fetch', 'pull')).toMatchObject({ status: 200 });
    server.forget();
    for (const direction of ['pull', 'push'] as const) {
      expect(await replicate(tab, 'fetch', direction)).toMatchObject({ json: { no_changes: true } });
    }
    expect(server.seen.length).toBeLessThanOrEqual(6);
  });

  test('of many databases with one server uses two connections, and the page is answered meanwhile', async () => {
    const tab = await openSite();
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'];
    for (const name of names) {
      await server.ask('PUT', `/${name}`);
      const body = { source: `${server.url}${name}`, target: name, create_target: true, continuous: true };
      expect(await call(tab, 'request', 'settee', 'POST', '/db/_replicate', body)).toMatchObject({ status: 202 });
    }
    await expect.poll(() => server.seen.filter((line) => line.includes('feed=continuous')).length, soon).toBe(2);
    await expect.poll(() => server.open, soon).toBe(2);
    // If the feeds took all the connections that a browser has for a host, it would be answered when one of them ends.
    expect(await call(tab, 'request', 'fetch', 'GET', server.url)).toMatchObject({ status: 200 });
    await expect.poll(() => server.open, soon).toBe(2);
    const news = () => server.seen.filter((line) => line.startsWith('GET /_db_updates')).length;
    expect(news()).toBe(1);
    for (const name of names) await server.ask('PUT', `/${name}/doc`, { in: name });
    for (const name of names) {
      const copy = async () => (await call(tab, 'request', 'settee', 'GET', `/db/${name}/doc`)).json;
      await expect.poll(copy, soon).toMatchObject({ in: name });
    }
    await expect.poll(() => server.open, soon).toBe(2);
  });

  test('works as in the example of the documentation', async () => {
    const tab = await openSite();
    await make(tab);
    const page = readFileSync(join(import.meta.dirname, '../../docs/browser.md'), 'utf8');
    const example = /## Sync with a server.*?```js\n(.*?)```/s.exec(page)?.[1] ?? '';
    expect(example).toContain('https://app.example/server/');
    await tab.evaluate(`(async () => { ${example.replace('https://app.example/server/', server.url)} })()`);
    await write(tab, 'here');
    await expect.poll(() => server.ask('GET', '/notes/here'), soon).toMatchObject({ by: 'page' });
    await server.ask('PUT', '/notes/there', { by: 'server' });
    await expect.poll(() => read(tab, 'there'), soon).toMatchObject({ by: 'server' });
  });
});
