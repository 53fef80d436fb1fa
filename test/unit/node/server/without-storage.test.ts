import { describe, expect, test } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import type { SharedHome } from '../../../../src/node/server/home.ts';
import { answerWithoutStorage } from '../../../../src/node/server/without-storage.ts';

type ShownHome = Pick<SharedHome, 'isOwner' | 'owner' | 'rollback' | 'machine'>;

describe('the responses of a server while the storage is not certainly its own', () => {
  function ask(
    home: Partial<ShownHome>,
    {
      url = '/db/doc?rev=1',
      method = 'GET',
      peer,
      isOpen = false,
    }: { url?: string; method?: string; peer?: string; isOpen?: boolean } = {},
  ) {
    const { status, headers, body } = answerWithoutStorage(
      { method, url, headers: {}, body: null, peer },
      {
        home: { isOwner: false, owner: undefined, rollback: undefined, machine: 'here', ...home },
        isOpen,
        ownUrl: 'http://127.0.0.1:5984',
        headers: { 'access-control-allow-origin': 'http://app.example' },
      },
    );
    expect(headers['access-control-allow-origin']).toBe('http://app.example');
    return { status, location: headers['location'], retry: headers['retry-after'], body: JSON.parse(String(body)) };
  }

  test('send back what another server has sent', () => {
    const asked = { method: 'PUT', url: '/db/doc', headers: {}, body: '{}', hops: 1 };
    for (const isOwner of [true, false]) {
      const home = { isOwner, owner: undefined, rollback: undefined, machine: 'here' };
      const response = answerWithoutStorage(asked, { home, isOpen: false, ownUrl: undefined, headers: {} });
      expect([response.status, response.errorCode]).toEqual([503, 'not_owner']);
    }
  });

  const owner = (address: string | undefined, machine = 'there') => ({
    owner: { described: 'process 7 on there', machine, address },
  });

  test.each([
    ['an address that others reach', owner('http://10.0.0.1:5984/'), undefined, 'http://10.0.0.1:5984/db/doc?rev=1'],
    ['a name without a slash', owner('https://db1.example'), '10.0.0.9', 'https://db1.example/db/doc?rev=1'],
    [
      'a loopback address of this machine',
      owner('http://127.0.0.1:5985/', 'here'),
      '127.0.0.1',
      'http://127.0.0.1:5985/db/doc?rev=1',
    ],
    ['a loopback address, for another machine', owner('http://127.0.0.1:5985/', 'here'), '10.0.0.9', undefined],
    ['a loopback address of another machine', owner('http://127.0.0.1:5985/'), '127.0.0.1', undefined],
    ['the address that this server now has', owner('http://127.0.0.1:5984/', 'here'), '127.0.0.1', undefined],
    ['all addresses', owner('http://0.0.0.0:5984/'), '10.0.0.9', undefined],
    ['all addresses of IPv6', owner('http://[::]:5984/'), '10.0.0.9', undefined],
    ['no address', owner(undefined), '10.0.0.9', undefined],
  ])('an owner with %s', (_, home, peer, location) => {
    const found = ask(home, peer === undefined ? {} : { peer });
    expect(found.location).toBe(location);
    expect(found.status).toBe(location === undefined ? 503 : 307);
    expect(found.retry).toBe('5');
    expect(found.body.error).toBe(location === undefined ? 'service_unavailable' : 'temporary_redirect');
  });

  test('name the owner that clients can’t be sent to', () => {
    expect(ask(owner('http://0.0.0.0:5984/')).body.reason).toBe(
      'This server stands by for the databases. process 7 on there serves them. Send the request there, or again in a moment.',
    );
    expect(ask({}).body.reason).toContain('No server serves the databases at the moment.');
  });

  test.each(['/_up', '/_up/', '//_up?x=1', 'http://db.example/_up'])('%s says what the server is', (url) => {
    expect(ask(owner('http://10.0.0.1:5984/'), { url })).toMatchObject({
      status: 503,
      location: undefined,
      body: { status: 'standby', role: 'standby', owner: 'http://10.0.0.1:5984/' },
    });
    expect(ask({}, { url }).body).toEqual({ status: 'standby', role: 'standby', owner: null });
    expect(ask({ isOwner: true }, { url })).toMatchObject({ status: 503, body: { status: 'starting', role: 'owner' } });
    expect(ask({ isOwner: true }, { url, isOpen: true })).toMatchObject({
      status: 503,
      body: { status: 'storage_unreachable', role: 'owner' },
    });
  });

  test.each(['/_upload', '/db/_up', '/_users'])('%s is sent on like any request', (url) => {
    expect(ask(owner('http://10.0.0.1:5984/'), { url }).location).toBe(`http://10.0.0.1:5984${url}`);
  });

  test('never lead elsewhere than to the owner', () => {
    const { location } = ask(owner('http://10.0.0.1:5984/'), { url: '//evil.example/db' });
    expect(new URL(location ?? '').host).toBe('10.0.0.1:5984');
  });

  test('ask to come again while the server takes over, and while it does not reach its storage', () => {
    expect(ask({ isOwner: true })).toMatchObject({ status: 503, retry: '1', body: { error: 'service_unavailable' } });
    const lapsed = ask({ isOwner: true }, { isOpen: true });
    expect(lapsed).toMatchObject({ status: 503, retry: '5', body: { error: 'service_unavailable' } });
    expect(lapsed.body.reason).toMatch(/has not reached its storage for a while.*Try again in a moment/);
  });

  test('say what to do about a database that has gone back to an earlier state', () => {
    const rollback = new DatabaseError('storage_rolled_back', 'It has gone back. Do this.');
    expect(ask({ rollback, isOwner: true }, { isOpen: true })).toMatchObject({
      status: 503,
      body: { error: 'storage_rolled_back', reason: 'It has gone back. Do this.' },
    });
    expect(ask({ rollback }, { url: '/_up' }).body).toEqual({
      status: 'storage_rolled_back',
      role: 'none',
      reason: 'It has gone back. Do this.',
    });
  });
});
