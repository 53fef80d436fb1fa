import { expect, test } from 'vitest';
import { openCore } from '../http/support.ts';

const LAX = 'HttpOnly; SameSite=Lax';
const NONE = 'HttpOnly; Secure; SameSite=None';

test.each([
  ['http', 'db.example.org', LAX],
  ['http', '192.0.2.1:5984', LAX],
  ['http', 'localhost.example.org', LAX],
  ['https', 'db.example.org', NONE],
  ['http', 'localhost:5984', NONE],
  ['http', 'db.localhost', NONE],
  ['http', '127.0.0.1:5984', NONE],
  ['http', '[::1]:5984', NONE],
  ['http', undefined, NONE],
] as const)('a cross-site cookie by %s to %s has attributes that browsers accept', async (scheme, host, attributes) => {
  const core = await openCore({ svc_httpd_auth: { same_site: 'none' } });
  const headers = { accept: 'application/json', ...(host !== undefined && { host }) };
  const request = { method: 'DELETE', url: '/_session', headers, body: null };
  const answer = await core.handle(scheme === 'https' ? { ...request, scheme } : request);
  expect(answer.headers['set-cookie']).toContain(`; ${attributes}; Expires`);
  await core.close();
});
