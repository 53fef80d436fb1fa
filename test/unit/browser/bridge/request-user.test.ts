import { expect, test } from 'vitest';
import { requestFromWire } from '../../../../src/browser/bridge/wire-codec.ts';

test("a message of a page can't set the user of its request", () => {
  const transport = {
    offer: () => '',
    open: () => {
      throw new Error('there is no stream');
    },
  };
  const wire = { method: 'GET', url: '/db/', headers: {}, body: null, user: { name: 'root', roles: ['_admin'] } };
  expect(requestFromWire(wire, transport)).toEqual({ method: 'GET', url: '/db/', headers: {}, body: null });
});
