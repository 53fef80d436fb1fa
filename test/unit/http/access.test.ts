import { expect, test } from 'vitest';
import { ANONYMOUS } from '../../../src/accounts/contract.ts';
import { authorize } from '../../../src/http/router.ts';
import { contextOf, createTestRouter } from './support.ts';

const noAccounts = () => Promise.reject(new Error('no accounts are needed here'));

test('as long as there is no admin, every client is one', () => {
  const context = contextOf({});
  context.user = context.services.access.withoutCredentials;
  for (const right of ['anyone', 'member', 'databaseAdmin', 'serverAdmin'] as const) {
    expect(authorize(context, { right, inSystem: undefined }, 'db', noAccounts)).toBeUndefined();
  }
});

test('with an admin, a client without credentials is anonymous', () => {
  const { access } = contextOf({}, { admins: { root: 'secret' } }).services;
  expect(access.withoutCredentials).toBe(ANONYMOUS);
});

test.each([
  ['PUT', '/db', 'You are not a server admin.'],
  ['DELETE', '/db', 'You are not a server admin.'],
  ['GET', '/_active_tasks', 'You are not a server admin.'],
])('the router checks access before it calls a handler: %s %s', async (method, url, reason) => {
  const context = contextOf({ method, url });
  context.user = { name: 'ada', roles: [] };
  const { services } = context;
  Object.assign(services.access, { securityOf: () => ({ admins: NONE, members: NONE }) });
  const dispatched = (async () => createTestRouter().dispatch(context))();
  await expect(dispatched).rejects.toMatchObject({ code: 'unauthorized', reason });
});

const NONE = { names: new Set(), roles: new Set() };
