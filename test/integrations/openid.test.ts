import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { patient } from '../support/patience.ts';
import { SetteeProcess } from '../unit/node/settee-process.ts';
import { OpenIdProvider } from './provider.mjs';

const AUDIENCE = 'https://notes.example.org';
const ROOT = `Basic ${btoa('root:choose another password')}`;

let folder = '';
let provider: OpenIdProvider;
const ends: (() => unknown)[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'settee-openid-'));
  provider = await OpenIdProvider.start({ ana: ['editor'], bob: [], eve: ['_admin'] });
});

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  await provider.stop().catch(() => undefined);
  await rm(folder, { recursive: true, force: true });
});

/** The code block of that language in the recipe. */
async function inRecipe(language: string): Promise<string> {
  const text = await readFile(join(import.meta.dirname, '../../docs/recipes/openid.md'), 'utf8');
  const block = new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'ms').exec(text)?.[1];
  if (block === undefined) throw new Error(`the recipe has no block of ${language}`);
  return block;
}

/** Writes the recipe's configuration file, with the address of the provider that runs here. */
async function configure(members: Readonly<Record<string, unknown>> = {}): Promise<void> {
  const text = await inRecipe('ini');
  const edited = text.replace(/^main = (.*)$/m, (_line, json: string) => {
    return `main = ${JSON.stringify({ ...JSON.parse(json), issuer: provider.issuer, ...members })}`;
  });
  expect(edited).toContain(provider.issuer);
  await writeFile(join(folder, 'settee.ini'), edited, { mode: 0o600 });
}

async function start(members?: Readonly<Record<string, unknown>>): Promise<string> {
  await configure(members);
  return serve();
}

async function serve(...options: readonly string[]): Promise<string> {
  const server = new SetteeProcess(['serve', '--data', folder, '--port', '0', ...options]);
  ends.push(() => server.stop());
  return (await server.url()).replace(/\/$/, '');
}

interface Answer {
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
  readonly retryAfter: string | null;
}

async function send(url: string, authorization: string, method = 'GET', body?: unknown): Promise<Answer> {
  const content = body === undefined ? {} : { body: JSON.stringify(body) };
  const headers = { authorization, 'content-type': 'application/json' };
  const response = await fetch(url, { method, headers, ...content });
  const retryAfter = response.headers.get('retry-after');
  return { status: response.status, json: JSON.parse(await response.text()), retryAfter };
}

async function bearer(name: string, audience = AUDIENCE): Promise<string> {
  return `Bearer ${await provider.token(name, audience)}`;
}

async function createNotes(url: string): Promise<void> {
  expect((await send(`${url}/notes`, ROOT, 'PUT')).status).toBe(201);
  expect((await send(`${url}/notes/_security`, ROOT, 'PUT', JSON.parse(await inRecipe('json')))).status).toBe(200);
}

test('users of the provider have the rights of their roles', async () => {
  const url = await start();
  await createNotes(url);
  const [ana, bob, eve] = [await bearer('ana'), await bearer('bob'), await bearer('eve')];
  expect((await send(`${url}/_session`, ana)).json['userCtx']).toEqual({ name: 'main:ana', roles: ['editor'] });
  expect((await send(`${url}/notes/a`, ana, 'PUT', { text: 'hello' })).status).toBe(201);
  expect((await send(`${url}/notes/a`, ana)).json['text']).toBe('hello');
  expect((await send(`${url}/notes/a`, bob)).json).toEqual({
    error: 'unauthorized',
    reason: 'You are not authorized to access this db.',
  });
  expect((await send(`${url}/other`, ana, 'PUT')).json['reason']).toBe('You are not a server admin.');
  expect((await send(`${url}/other`, eve, 'PUT')).status).toBe(201);
});

test('a token for another audience, or a changed one, is refused', async () => {
  const url = await start();
  expect(await send(`${url}/_session`, await bearer('ana', 'https://other.example.org'))).toMatchObject({
    status: 401,
    json: { error: 'unauthorized', reason: 'The bearer token is refused: its claim aud does not hold.' },
  });
  const [head = '', claims = '', signature = ''] = (await bearer('bob')).split('.');
  const forged = { ...JSON.parse(atob(claims)), sub: 'root', realm_access: { roles: ['_admin'] } };
  expect(
    await send(`${url}/_session`, `${head}.${btoa(JSON.stringify(forged)).replace(/=+$/, '')}.${signature}`),
  ).toMatchObject({
    status: 401,
    json: { reason: "The bearer token is refused: it can't be read, or its signature is wrong." },
  });
});

test('new keys of the provider are found, and what the old ones proved ends', async () => {
  const url = await start({ max_key_age_seconds: 2 });
  await createNotes(url);
  const old = await bearer('ana');
  const feed = await fetch(`${url}/notes/_changes?feed=continuous&heartbeat=100`, { headers: { authorization: old } });
  expect(feed.status).toBe(200);
  const fed = (async () => {
    for await (const _ of feed.body ?? []);
  })().catch(() => 'broken off');
  await provider.stop();
  await provider.start();
  const fresh = await bearer('ana');
  // A key is looked for again some seconds after the last fetch at the earliest.
  await expect.poll(async () => (await send(`${url}/notes`, fresh)).status, patient).toBe(200);
  expect(await send(`${url}/notes`, old)).toMatchObject({
    status: 401,
    json: { reason: 'The bearer token is refused: its issuer main has no key for it.' },
  });
  // It ends by itself: nothing is written.
  await fed;
});

test('while the provider is down, its users stay in as long as the keys are used, and then have to wait', async () => {
  const url = await start({ max_key_age_seconds: 2 });
  await createNotes(url);
  const ana = await bearer('ana');
  expect((await send(`${url}/notes`, ana)).status).toBe(200);
  await provider.stop();
  expect((await send(`${url}/notes`, ana)).status).toBe(200);
  await expect.poll(async () => (await send(`${url}/notes`, ana)).status, patient).toBe(503);
  expect(await send(`${url}/notes`, ana)).toMatchObject({
    retryAfter: '5',
    json: {
      error: 'service_unavailable',
      reason: expect.stringMatching(
        /^The bearer token can't be checked now: the keys of its issuer main can't be read/,
      ),
    },
  });
  // Others are not affected.
  expect((await send(`${url}/notes`, ROOT)).status).toBe(200);
  await provider.start();
  await expect.poll(async () => (await send(`${url}/notes`, `${await bearer('ana')}`)).status, patient).toBe(200);
});

test('several processes of one server know the provider, also one that is named later', async () => {
  const url = await serve('--workers', '2');
  const settings = [
    ['httpd/authentication_handlers', 'jwt, cookie, default'],
    ['jwt_issuers/main', JSON.stringify({ issuer: provider.issuer, roles_claim_path: 'realm_access.roles' })],
  ] as const;
  for (const [name, value] of settings)
    expect((await send(`${url}/_config/${name}`, '', 'PUT', value)).status).toBe(200);
  const refused = await send(`${url}/_config/jwt_issuers/main`, '', 'PUT', '{}');
  expect(refused.json['reason']).toMatch(/^Setting jwt_issuers\/main does not describe a token issuer/);
  expect((await send(`${url}/_config/admins/root`, '', 'PUT', 'choose another password')).status).toBe(200);
  await createNotes(url);
  const ana = await bearer('ana');
  // Each request has a connection of its own, to any of the processes.
  const answers = await Promise.all(Array.from({ length: 20 }, () => send(`${url}/notes`, ana)));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
});
