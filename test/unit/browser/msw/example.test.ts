import { setupServer } from 'msw/node';
import { handlers } from 'settee/msw';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

const server = setupServer();
beforeAll(() => server.listen());
beforeEach(() => server.resetHandlers(...handlers({ base: '/db/' })));
afterAll(() => server.close());

test('a note is kept', async () => {
  const notes = 'http://localhost/db/notes';
  await fetch(notes, { method: 'PUT' });
  await fetch(`${notes}/first`, { method: 'PUT', body: JSON.stringify({ text: 'Hello' }) });
  expect(await (await fetch(`${notes}/first`)).json()).toMatchObject({ _id: 'first', text: 'Hello' });
});
