// @vitest-environment jsdom
import { setupServer } from 'msw/node';
import { handlers } from 'settee/msw';
import { afterAll, beforeAll, expect, test } from 'vitest';

const server = setupServer(...handlers({ base: '/db/' }));
beforeAll(() => server.listen());
afterAll(() => server.close());

test('an app in jsdom is answered on the origin of its page', async () => {
  const notes = new URL('/db/notes', Reflect.get(globalThis, 'location').href).href;
  expect((await fetch(notes, { method: 'PUT' })).status).toBe(201);
  const headers = { 'Content-Type': 'application/json' };
  const saved = await fetch(notes, { method: 'POST', headers, body: JSON.stringify({ _id: 'a', text: 'Hello' }) });
  expect(await saved.json()).toMatchObject({ ok: true, id: 'a' });
  expect(await (await fetch(`${notes}/a`)).json()).toMatchObject({ text: 'Hello' });
});
