import { expect, test } from 'vitest';
import { authorize } from '../../../../src/http/routing/access.ts';
import { contextOf, createTestRouter } from '../support.ts';

test('as long as there is no admin, everybody is one', () => {
  for (const right of ['anyone', 'member', 'databaseAdmin', 'serverAdmin'] as const) {
    expect(() => authorize(contextOf({}), right)).not.toThrow();
  }
});

test('who has not the right is told which one it takes', () => {
  const context = contextOf({});
  context.user = { name: 'ada', roles: [] };
  expect(() => authorize(context, 'anyone')).not.toThrow();
  expect(() => authorize(context, 'member')).toThrow('unauthorized: You are not authorized to access this db.');
  expect(() => authorize(context, 'databaseAdmin')).toThrow('unauthorized: You are not a db or server admin.');
  expect(() => authorize(context, 'serverAdmin')).toThrow('unauthorized: You are not a server admin.');
});

test.each([
  ['PUT', '/db', 'You are not a server admin.'],
  ['DELETE', '/db', 'You are not a server admin.'],
  ['GET', '/_active_tasks', 'You are not a server admin.'],
])('the router asks before it calls a handler: %s %s', (method, url, reason) => {
  const context = contextOf({ method, url });
  context.user = { name: 'ada', roles: [] };
  expect(() => createTestRouter().dispatch(context)).toThrow(expect.objectContaining({ code: 'unauthorized', reason }));
});
