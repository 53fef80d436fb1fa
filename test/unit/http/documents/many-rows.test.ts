import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { nextTurn } from '../../../../src/base/shared/turn.ts';
import type { Core } from '../../../../src/core/core.ts';
import { ask, askJson, openCore, textOf } from '../support.ts';

let core: Core;

beforeEach(async () => {
  core = await openCore();
  await ask(core, 'PUT /db');
});

afterEach(async () => {
  vi.restoreAllMocks();
  await core.close();
});

test('requests whose writes end with the same commit make their rows in turns', async () => {
  const docs = Array.from({ length: 200 }, (_, n) => ({ _id: `doc${n}` }));
  const body = JSON.stringify({ docs });
  expect((await ask(core, 'POST /db/_bulk_docs', { body })).status).toBe(201);
  let now = performance.now();
  let rows = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  const stringify = JSON.stringify;
  vi.spyOn(JSON, 'stringify').mockImplementation((value: unknown) => {
    if (Object(value).error === 'conflict') {
      // Each row takes a tenth of a millisecond.
      now += 0.1;
      rows += 1;
    }
    return stringify(value);
  });
  let left = 40;
  const answers = Array.from({ length: left }, async () => {
    const answer = await ask(core, 'POST /db/_bulk_docs', { body });
    left -= 1;
    return answer.status;
  });
  let most = 0;
  while (left > 0) {
    rows = 0;
    await nextTurn();
    most = Math.max(most, rows);
  }
  expect(await Promise.all(answers)).toEqual(Array.from({ length: 40 }, () => 201));
  // Those of all of them would be 8,000.
  expect(most).toBeLessThanOrEqual(600);
});

test('a document with very many attachments is followed by them, and has the length that it says', async () => {
  const count = 2_000;
  const _attachments = Object.fromEntries(
    Array.from({ length: count }, (_, n) => [`ä${n}`, { content_type: 'image/png', data: 'eHh4' }]),
  );
  expect((await ask(core, 'PUT /db/doc', { body: JSON.stringify({ _attachments, text: 'ö' }) })).status).toBe(201);
  const headers = { accept: 'multipart/related' };
  const answer = await ask(core, 'GET /db/doc?attachments=true', { headers });
  const boundary = /boundary="([^"]+)"/.exec(String(answer.headers['content-type']))?.[1];
  const { body } = answer;
  const length = typeof body === 'object' && body !== null && 'length' in body ? body.length : undefined;
  const text = await textOf(body);
  expect(length).toBe(new TextEncoder().encode(text).length);
  const [, first = '', ...parts] = text.split(`--${boundary}`);
  const document: unknown = JSON.parse(first.slice(first.indexOf('\r\n\r\n')));
  expect(document).toMatchObject({ _id: 'doc', text: 'ö' });
  expect(Object.keys(Object(document)._attachments)).toEqual(Object.keys(_attachments));
  expect(parts.at(-1)).toBe('--');
  expect(parts.slice(0, -1).every((part) => part.endsWith('\r\n\r\nxxx\r\n'))).toBe(true);
  expect(parts).toHaveLength(count + 1);
  expect((await askJson(core, 'GET /db/doc'))[0]).toBe(200);
});
