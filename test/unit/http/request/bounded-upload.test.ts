import { afterEach, expect, test } from 'vitest';
import type { Core } from '../../../../src/core/core.ts';
import { askJson, openCore, pick } from '../support.ts';

let core: Core;

afterEach(() => core.close());

/** A body that does not say how long it is, in chunks of 10,000 bytes. */
function chunks(count: number, last: number) {
  let left = count;
  return {
    pull: async () => {
      left -= 1;
      if (left >= 0) return new Uint8Array(10_000);
      return left === -1 && last > 0 ? new Uint8Array(last) : undefined;
    },
    cancel: async () => {},
  };
}

test('a body that does not say how long it is fails once it exceeds the limit of requests', async () => {
  core = await openCore({ httpd: { max_http_request_size: '70000' } });
  await askJson(core, 'PUT /db');
  const put = async (last: number) => {
    const headers = { 'content-type': 'application/octet-stream' };
    const { status, body } = await core.handle({ method: 'PUT', url: '/db/doc/file', headers, body: chunks(7, last) });
    return [status, JSON.parse(String(body))] as const;
  };
  const [refused, answer] = await put(1);
  expect(refused).toBe(413);
  expect(pick(answer, 'error')).toBe('too_large');
  expect(pick(answer, 'reason')).toBe(
    'the request entity is too large: a body may have 70000 bytes (httpd/max_http_request_size); nothing was changed.',
  );
  expect((await askJson(core, 'GET /db/doc'))[0]).toBe(404);
  expect((await put(0))[0]).toBe(201);
  await core.config.set('httpd', 'max_http_request_size', 'infinity', { persist: false });
  expect((await askJson(core, 'DELETE /db'))[0]).toBe(200);
});
