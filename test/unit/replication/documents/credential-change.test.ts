import { describe, expect, test } from 'vitest';
import type { Credentials } from '../../../../src/replication/contract.ts';
import { continuedCheckpoint, isSameReplication } from '../../../../src/replication/documents/credential-change.ts';
import { local, remote, replicationOf } from '../support.ts';

const jwtOf = (claims: object) => `e30.${btoa(JSON.stringify(claims)).replace(/=+$/, '')}.c2ln`;
const password = (name: string): Credentials => ({ kind: 'password', name, password: 'pw' });
const SESSION: Credentials = { kind: 'session' };
const PROVIDED: Credentials = { kind: 'bearer' };
const ofAna: Credentials = { kind: 'bearer', token: jwtOf({ sub: 'ana' }) };

const withCredentials = (credentials: Credentials | undefined) =>
  replicationOf(local('a'), remote('https://db.test/b', { credentials }));

describe('a replication continues from the former checkpoint', () => {
  const continued = (former: Credentials | undefined, next: Credentials | undefined) =>
    continuedCheckpoint({ replication: withCredentials(former), checkpointId: 'former' }, withCredentials(next));

  test.each([
    [password('ana'), SESSION],
    [SESSION, password('ana')],
    [password('ana'), PROVIDED],
    [PROVIDED, SESSION],
    [password('ana'), ofAna],
    [undefined, undefined],
  ])('of %j with %j', (former, next) => {
    expect(continued(former, next)).toBe('former');
  });

  test.each([
    [password('ana'), password('bob')],
    [password('bob'), ofAna],
    [undefined, SESSION],
    [SESSION, undefined],
    [undefined, password('ana')],
  ])('but not of %j with %j', (former, next) => {
    expect(continued(former, next)).toBeUndefined();
  });

  test('if there was one', () => {
    expect(continuedCheckpoint(undefined, withCredentials(SESSION))).toBeUndefined();
  });
});

test('secrets are no part of what a replication is', async () => {
  const isSame = (one: Credentials, other: Credentials) =>
    isSameReplication(withCredentials(one), withCredentials(other));
  expect(await isSame(password('ana'), { kind: 'password', name: 'ana', password: 'other' })).toBe(true);
  expect(await isSame(ofAna, PROVIDED)).toBe(true);
  expect(await isSame(ofAna, SESSION)).toBe(false);
  expect(await isSame(password('ana'), password('bob'))).toBe(false);
});
