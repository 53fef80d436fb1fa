import { describe, expect, test } from 'vitest';
import type { Handle, PlainRequest, PlainResponse } from '../../../../src/base/shared/message.ts';
import { createConfig } from '../../../../src/core/config/config-store.ts';
import type { Registry } from '../../../../src/database/registry/contract.ts';
import { answerAsMember } from '../../../../src/http/middleware/member.ts';

const response = (text: string, errorCode?: string): PlainResponse => ({
  status: 200,
  headers: {},
  body: text,
  ...(errorCode !== undefined && { errorCode }),
});

/** This server owns `mine`, another one owns `theirs`, and a third one the list of databases. */
class Servers {
  readonly log: string[] = [];
  readonly owners = new Map<string | undefined, string>([
    ['mine', 'here'],
    ['theirs', 'there'],
    [undefined, 'coordinator'],
  ]);
  answers: Record<string, Handle> = {};
  onLook: () => void = () => undefined;
  isReached = true;
  isPresent = true;

  async ask(request: Partial<PlainRequest>, settings = {}): Promise<unknown> {
    const registry = { refresh: () => this.#look(), notes: new Map() };
    const services = { registry: registry as unknown as Registry, basePath: '', config: createConfig(settings) };
    const handle = answerAsMember(services, this.#at('here'), {
      ownerOf: (database) => {
        const owner = this.owners.get(database);
        return owner === 'here' ? undefined : this.#at(owner ?? 'coordinator');
      },
      lookAgain: async () => {
        this.log.push('looked at the servers');
        this.onLook();
      },
      hasPresentSettings: () => this.isPresent,
      whenSettings: async () => {
        this.isPresent = true;
      },
    });
    return (await handle({ method: 'GET', url: '/mine/a', headers: {}, body: null, ...request })).body;
  }

  #look(): void {
    this.log.push('looked at the list');
    if (!this.isReached) throw new Error('the storage is not reached');
  }

  #at(name: string): Handle {
    return (request) => this.answers[name]?.(request) ?? response(name);
  }
}

describe('a member answers', () => {
  test.each([
    { url: '/mine/a', method: 'PUT', by: 'here' },
    { url: '/mine/a', method: 'GET', by: 'here' },
    { url: '/theirs/a', method: 'PUT', by: 'there' },
    { url: '/theirs/a', method: 'GET', by: 'here' },
    { url: '/theirs/_bulk_docs', method: 'POST', by: 'there' },
    { url: '/theirs', method: 'GET', by: 'there' },
    { url: '/mine', method: 'PUT', by: 'coordinator' },
    { url: '/mine', method: 'DELETE', by: 'coordinator' },
    { url: '/mine?q=8', method: 'PUT', by: 'coordinator' },
    { url: '/mine', method: 'GET', by: 'here' },
    { url: '/mine', method: 'POST', by: 'here' },
    { url: '/_users/org.couchdb.user:ana', method: 'PUT', by: 'coordinator' },
    { url: '/_users/org.couchdb.user:ana', method: 'GET', by: 'here' },
    { url: '/_replicate', method: 'POST', by: 'coordinator' },
    { url: '/_session', method: 'POST', by: 'coordinator' },
    { url: '/_session', method: 'GET', by: 'here' },
    { url: '/_all_dbs', method: 'GET', by: 'here' },
    { url: '/_active_tasks', method: 'GET', by: 'coordinator' },
    { url: '/_node/_local/_stats', method: 'GET', by: 'here' },
    { url: '/_node/_local/_restart', method: 'POST', by: 'here' },
    { url: '/_node/settee@there/_restart', method: 'POST', by: 'coordinator' },
    { url: '/_node/_local/_config/log/level', method: 'GET', by: 'coordinator' },
    { url: '/%6dine/a', method: 'PUT', by: 'here' },
    { url: '/%zz/a', method: 'PUT', by: 'coordinator' },
  ])('$method $url by the right server: $by', async ({ url, method, by }) => {
    expect(await new Servers().ask({ url, method })).toBe(by);
  });

  test('a restart of itself whatever happens, and never by restarting another server', async () => {
    const restart = { url: '/_node/_local/_restart', method: 'POST' };
    const later = new Servers();
    later.isPresent = false;
    expect(await later.ask(restart)).toBe('here');
    const refusing = new Servers();
    refusing.answers = { here: () => response('not the owner', 'not_owner') };
    expect(await refusing.ask(restart)).toBe('not the owner');
    const unreached = new Servers();
    unreached.isReached = false;
    expect(await unreached.ask(restart)).toContain('The storage is not reached.');
  });

  test('a method that is overridden as that method', async () => {
    const headers = { 'x-http-method-override': 'DELETE' };
    expect(await new Servers().ask({ url: '/mine', method: 'POST', headers })).toBe('coordinator');
    const ignored = { 'x-http-method-override': 'delete' };
    expect(await new Servers().ask({ url: '/mine', method: 'POST', headers: ignored })).toBe('here');
    const ofCopy = { 'x-http-method-override': 'COPY', destination: 'http://settee.test/theirs/b' };
    expect(await new Servers().ask({ method: 'POST', headers: ofCopy })).toBe('there');
    expect(await new Servers().ask({ method: 'PUT', headers: ofCopy })).toBe('here');
  });

  test('a copy into another database by the owner of that one', async () => {
    const headers = { destination: 'http://settee.test/theirs/b' };
    expect(await new Servers().ask({ method: 'COPY', headers })).toBe('there');
    expect(await new Servers().ask({ method: 'COPY', headers: { destination: 'b' } })).toBe('here');
  });

  test('virtual hosts by what they stand for', async () => {
    const settings = { vhosts: { 'app.test': '/theirs/_design/app/_rewrite' } };
    expect(await new Servers().ask({ url: '/', headers: { host: 'app.test' } }, settings)).toBe('there');
  });

  test('nothing older than the list of databases', async () => {
    const servers = new Servers();
    await servers.ask({});
    expect(servers.log).toEqual(['looked at the list']);
  });

  test('nothing itself while the storage is not reached', async () => {
    const servers = new Servers();
    servers.isReached = false;
    expect(await servers.ask({ url: '/theirs/a' })).toBe('there');
    expect(String(await servers.ask({}))).toContain('The storage is not reached');
  });

  test('after other settings have come', async () => {
    const servers = new Servers();
    servers.isPresent = false;
    expect(await servers.ask({})).toBe('here');
    servers.isPresent = false;
    expect(await servers.ask({ url: '/theirs/a' })).toBe('there');
  });
});

describe('while a database moves, a member', () => {
  test('sends what it does not own any more to the next owner', async () => {
    const servers = new Servers();
    servers.answers = { here: () => response('fenced', 'storage_fenced') };
    servers.onLook = () => void servers.owners.set('mine', 'there');
    expect(await servers.ask({ method: 'PUT', body: '{}' })).toBe('there');
  });

  test('answers again what it still owns', async () => {
    const servers = new Servers();
    let attempts = 0;
    servers.answers = { here: () => (attempts++ === 0 ? response('fenced', 'storage_fenced') : response('here')) };
    expect(await servers.ask({ method: 'PUT', body: '{}' })).toBe('here');
  });

  test('sends a request to the next owner if the one it asked is none', async () => {
    const servers = new Servers();
    servers.answers = { there: () => response('refused', 'not_owner') };
    servers.onLook = () => void servers.owners.set('theirs', 'here');
    expect(await servers.ask({ url: '/theirs/a', method: 'PUT', body: '{}' })).toBe('here');
  });

  test('does not send a stream twice', async () => {
    const servers = new Servers();
    servers.answers = { there: () => response('refused', 'not_owner') };
    const body = { pull: async () => undefined, cancel: async () => undefined };
    expect(await servers.ask({ url: '/theirs/a', method: 'PUT', body })).toBe('refused');
    expect(servers.log).toEqual([]);
  });

  test('passes on nothing that another server has sent to it, and looks first', async () => {
    const servers = new Servers();
    const sent = { url: '/theirs/a', method: 'PUT', body: '{}', hops: 1 };
    expect(String(await servers.ask(sent))).toContain('Another server owns the database');
    expect(servers.log).toEqual(['looked at the servers']);
    servers.onLook = () => void servers.owners.set('theirs', 'here');
    expect(await servers.ask(sent)).toBe('here');
  });
});

describe('a member that can not read the list of databases', () => {
  test('refuses what another server has sent: that one looks again', async () => {
    const servers = new Servers();
    servers.isReached = false;
    expect(await servers.ask({ method: 'PUT', hops: 1 })).toContain('Another server owns the database');
  });

  test('answers health checks', async () => {
    const servers = new Servers();
    servers.isReached = false;
    servers.isPresent = false;
    expect(await servers.ask({ url: '/_up' })).toBe('here');
    expect(servers.log).toEqual([]);
  });
});
