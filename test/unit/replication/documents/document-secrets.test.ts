/** Secrets in documents of `_replicator` (docs/http/replication.md#secrets-in-replication-documents). */
import { beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../src/base/json/objects.ts';
import { systemRandom } from '../../../../src/base/shared/clock.ts';
import { parseDocId } from '../../../../src/database/documents/identifiers.ts';
import { REPLICATOR, StoredDocumentGuard } from '../../../../src/replication/documents/document-guard.ts';
import { DocumentSecrets } from '../../../../src/replication/documents/document-secrets.ts';
import { asksForTheSame, hasPlainSecrets } from '../../../../src/replication/documents/secret-members.ts';

let notes: Map<string, string>;
let secrets: DocumentSecrets;

beforeEach(() => {
  notes = new Map();
  secrets = open();
});

function open(): DocumentSecrets {
  const keepNote = async (name: string, text: string | undefined) => {
    await new Promise((resolve) => setImmediate(resolve));
    if (text !== undefined) notes.set(name, text);
  };
  return new DocumentSecrets({ registry: () => ({ notes, keepNote }), random: systemRandom });
}

async function sealed(document: JsonObject, id = 'a'): Promise<JsonObject> {
  return { ...document, ...Object.fromEntries(await secrets.seal(id, document)) };
}

const FULL = {
  source: {
    url: 'https://ana:hunter2@db.test/a',
    headers: { 'x-api-key': 'hunter2', Authorization: 'Bearer hunter2' },
    auth: { basic: { username: 'ana', password: 'hunter2' } },
  },
  target: 'https://ana:hunter2%20x@db.test:5984/b/',
  proxy: 'http://joe:hunter2@proxy.test:3128',
  source_proxy: 'socks5://joe:hunter2@proxy.test',
  continuous: true,
  query_params: { n: 1 },
};

describe('a stored document', () => {
  test('shows no secret, and all else as it was written', async () => {
    const text = expect.stringMatching(/^-sealed-[\w-]{40,}$/);
    const stored = await sealed(FULL);
    expect(JSON.stringify(stored)).not.toContain('hunter2');
    expect(stored).toEqual({
      source: {
        url: expect.stringMatching(/^https:\/\/ana:-sealed-[\w-]+@db\.test\/a$/),
        headers: { 'x-api-key': text, Authorization: text },
        auth: { basic: { username: 'ana', password: text } },
      },
      target: expect.stringMatching(/^https:\/\/ana:-sealed-[\w-]+@db\.test:5984\/b\/$/),
      proxy: expect.stringMatching(/^http:\/\/joe:-sealed-[\w-]+@proxy\.test:3128$/),
      source_proxy: expect.stringMatching(/^socks5:\/\/joe:-sealed-[\w-]+@proxy\.test$/),
      continuous: true,
      query_params: { n: 1 },
    });
    expect(await secrets.open('a', stored)).toEqual(FULL);
  });

  test.each([
    { oauth: { consumer_key: 'k', consumer_secret: 'hunter2', token: 'hunter2', token_secret: 'hunter2' } },
    { bearer: { token: 'hunter2' } },
    { iam: { nested: { api_key: 'hunter2' } } },
  ])('shows nothing of %j', async (auth) => {
    const document = { source: 'a', target: { url: 'https://db.test/b', auth } };
    const stored = await sealed(document);
    expect(JSON.stringify(stored)).not.toContain('hunter2');
    expect(await secrets.open('a', stored)).toEqual(document);
  });

  test.each([
    'https://ana:hun#ter2@db.test/b',
    'https://ana:1/hunter2@db.test/b',
    'ana:hunter2@db.test/b',
    'https://\\ana:hunter2@db.test/b',
  ])('shows nothing of the address %s, in which a secret may be anywhere', async (target) => {
    const stored = await sealed({ source: 'a', target });
    expect(stored['target']).toMatch(/^-sealed-/);
    expect(await sealed(stored)).toEqual(stored);
    expect(await secrets.open('a', stored)).toEqual({ source: 'a', target });
  });

  test.each(['?token=hunter2', '#hunter2', '?a#hunter2'])('shows nothing of %s in an address', async (tail) => {
    const target = `https://ana:hunter2@db.test/b${tail}`;
    const stored = await sealed({ source: 'a', target });
    expect(stored['target']).toMatch(/^https:\/\/ana:-sealed-[\w-]+@db\.test\/b\?-sealed-[\w-]+$/);
    expect(await sealed(stored)).toEqual(stored);
    expect(await secrets.open('a', stored)).toEqual({ source: 'a', target });
  });

  test('is left as it is without secrets', async () => {
    const session = { url: 'https://db.test/b', auth: { session: true }, headers: {} };
    for (const target of ['b', 'https://db.test/b', 'https://ana@db.test/b', session, { url: 7 }, null, 7]) {
      expect((await secrets.seal('a', { source: 'a', target })).size).toBe(0);
    }
    expect(notes.size).toBe(0);
  });

  test('has secrets of a length that tells little', async () => {
    const lengthOf = async (password: string) =>
      JSON.stringify(await sealed({ target: { url: 'https://db.test/b', auth: { basic: { password } } } })).length;
    expect(await lengthOf('a')).toBe(await lengthOf('a long password with words'));
  });

  test('keeps its secrets when it is written again as it was read', async () => {
    const stored = await sealed(FULL);
    expect(await sealed({ ...stored, continuous: false })).toEqual({ ...stored, continuous: false });
    const same = { ...stored, target: String(stored['target']).replace('ana', 'joe').replace(/\/$/, '') };
    expect(await secrets.open('a', same)).toEqual({ ...FULL, target: 'https://joe:hunter2%20x@db.test:5984/b' });
  });
});

describe('a secret can not be read', () => {
  const there = (url: string, password: unknown) => ({ target: { url, auth: { basic: { password } } } });
  const reason = (where: string) =>
    `The secret in \`target.auth.basic.password' (for ${where}) can't be read here: it was stored by another server, in another document, or for another owner, address or proxy. Write the secret itself in its place.`;

  async function passwordOf(document: JsonObject): Promise<unknown> {
    const { target } = Object(await sealed(document));
    return target.auth.basic.password;
  }

  test('in another document', async () => {
    const password = await passwordOf(there('https://db.test/b', 'hunter2'));
    await expect(secrets.open('other', there('https://db.test/b', password))).rejects.toMatchObject({
      code: 'bad_request',
      reason: reason('https://db.test/b'),
    });
  });

  test.each(['https://evil.test/b', 'http://db.test/b', 'https://db.test/c', 'https://db.test:81/b'])(
    'for the address %s',
    async (url) => {
      const password = await passwordOf(there('https://db.test/b', 'hunter2'));
      await expect(secrets.open('a', there(url, password))).rejects.toMatchObject({ reason: reason(url) });
    },
  );

  test('in another form: in a URL it is percent-encoded', async () => {
    const { target } = await sealed({ target: 'https://ana:hunter2%20x@db.test/b' });
    const [, password] = /ana:(.*)@/.exec(String(target)) ?? [];
    await expect(secrets.open('a', there('https://db.test/b', password))).rejects.toMatchObject({
      code: 'bad_request',
    });
  });

  test('if the document has another owner', async () => {
    const document = { ...there('https://db.test/b', 'hunter2'), owner: 'ana' };
    const stored = await sealed(document);
    expect(await secrets.open('a', stored)).toEqual(document);
    for (const owner of ['eve', null, undefined]) {
      await expect(secrets.open('a', { ...stored, owner })).rejects.toMatchObject({
        reason: reason('https://db.test/b'),
      });
    }
  });

  test.each(['proxy', 'target_proxy'])('by another %s, which sees what goes over plain http', async (name) => {
    const proxy = { [name]: 'http://evil.test:3128' };
    const plain = await sealed(there('http://db.test/b', 'hunter2'));
    await expect(secrets.open('a', { ...plain, ...proxy })).rejects.toMatchObject({
      reason: reason('http://db.test/b'),
    });
    const { target } = await sealed({ target: 'http://ana:hunter2@db.test/b', [name]: 'http://proxy.test' });
    await expect(secrets.open('a', { target, ...proxy })).rejects.toMatchObject({ code: 'bad_request' });
    const encrypted = there('https://db.test/b', 'hunter2');
    expect(await secrets.open('a', { ...(await sealed(encrypted)), ...proxy })).toEqual({ ...encrypted, ...proxy });
  });

  test('for another address that is encrypted as a whole', async () => {
    const document = there('https://db.test/b@c', 'hunter2');
    const stored = await sealed(document);
    expect(await sealed(stored)).toEqual(stored);
    expect(await secrets.open('a', stored)).toEqual(document);
    const { target } = Object(stored);
    for (const other of [await sealed(there('https://evil.test/b@c', 'x')), there('https://evil.test/b@c', 'x')]) {
      const { url } = Object(other).target;
      await expect(secrets.open('a', { target: { ...target, url } })).rejects.toMatchObject({ code: 'bad_request' });
    }
  });

  test('by another service, or if it was changed', async () => {
    const password = await passwordOf(there('https://db.test/b', 'hunter2'));
    for (const text of [`${password}`.slice(0, -2), '-sealed-', '-sealed-!', `${password}AA`]) {
      await expect(secrets.open('a', there('https://db.test/b', text))).rejects.toMatchObject({ code: 'bad_request' });
    }
    notes.clear();
    await expect(open().open('a', there('https://db.test/b', password))).rejects.toMatchObject({ code: 'bad_request' });
  });
});

test('secrets that are stored at the same time have one key, which is kept', async () => {
  const both = await Promise.all([sealed(FULL), sealed(FULL)]);
  expect(notes.size).toBe(1);
  for (const stored of both) expect(await open().open('a', stored)).toEqual(FULL);
});

test('a readable secret is found', async () => {
  expect(await hasPlainSecrets(FULL)).toBe(true);
  expect(await hasPlainSecrets(await sealed(FULL))).toBe(false);
  expect(await hasPlainSecrets({ source: 'a', target: 'https://db.test/b' })).toBe(false);
});

test('documents that differ in credentials ask for the same', () => {
  const one = { _id: 'a', source: 'a', target: 'https://ana:pw@db.test/b', _replication_state: 'triggered' };
  const other = { target: { url: 'https://db.test/b/', auth: { session: true } }, source: 'a' };
  expect(asksForTheSame(one, other)).toBe(true);
  expect(asksForTheSame(one, { ...other, continuous: true })).toBe(false);
  expect(asksForTheSame(one, { ...other, source: 'b' })).toBe(false);
  expect(asksForTheSame(one, { ...one, target: 'https://ana:pw@db.test/c' })).toBe(false);
});

test('the service encrypts a document of an earlier release, however long it is', async () => {
  const guard = new StoredDocumentGuard(secrets);
  const document = { target: 'https://ana:hunter2@db.test/b', doc_ids: ['x'.repeat(4_200_000)] };
  const write = {
    id: parseDocId('long'),
    rev: undefined,
    deleted: false,
    body: JSON.stringify(document),
    attachments: [],
  };
  const options = { newEdits: true, durability: 'relaxed', user: REPLICATOR } as const;
  const [prepared] = await guard.prepare([write], options);
  expect(prepared?.body).not.toContain('hunter2');
});
