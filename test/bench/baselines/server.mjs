/**
 * What an answer costs at least: @hono/node-server without a database behind it.
 * GET answers one text with headers of the caller's choice; PUT reads the body and makes one durable LMDB commit, below `/bare/` none.
 *
 * Arguments: a folder for LMDB, and the GET answer as JSON `{ "text", "headers" }` (optional).
 */
import { join } from 'node:path';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { open } from 'lmdb';

const [folder, answer = '{"text":"","headers":{}}'] = process.argv.slice(2);
const { text, headers } = JSON.parse(answer);
/** What one small write comes to in Settee's journal. */
const record = 'x'.repeat(500);
const written = '{"ok":true,"id":"customer-000000001","rev":"1-967a00dff5e02add41819138abb3284d"}';

const database = open({ path: join(folder, 'floor'), encoding: 'string' });
let key = 0;

const app = new Hono();
app.get('/:database/:id', (context) => context.body(text, 200, headers));
app.put('/bare/:id', async (context) => {
  await context.req.text();
  return context.body(written, 201, { 'content-type': 'application/json' });
});
app.put('/:database/:id', async (context) => {
  await context.req.text();
  await database.put(++key, record);
  await database.flushed;
  return context.body(written, 201, { 'content-type': 'application/json' });
});
serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => {
  process.stdout.write(`http://127.0.0.1:${port}\n`);
});
