import { describe, expect, it } from 'vitest';
import type { PlainRequest } from '../../../src/base/shared/message.ts';
import { CookieJar } from '../../../src/browser/cookie-jar.ts';

const BASE = 'https://app.example/db/';

function createJar(base = BASE) {
  const clock = { time: 1_000_000, now: () => clock.time, monotonic: () => clock.time };
  const changes: string[] = [];
  const jar = new CookieJar({ base, clock, onChange: (text) => changes.push(text) });
  return { jar, clock, changes };
}

describe('what a jar sends', () => {
  it.each([
    ['a=1', `${BASE}notes`, 'a=1'],
    ['a=1; Version=1; Path=/; HttpOnly', BASE, 'a=1'],
    ['a=1; Path=/db', `${BASE}notes`, 'a=1'],
    ['a=1; Path=/db/', `${BASE}notes`, 'a=1'],
    ['a=1; Path=/db/notes', `${BASE}notes/x`, 'a=1'],
    ['a=1; Path=/db/notes', `${BASE}notes?x=/y`, 'a=1'],
    ['a=1; Path=/db/notes', `${BASE}notesbook`, undefined],
    ['a=1; Path=/other', BASE, undefined],
    ['a=1; Path=nonsense', `${BASE}notes`, 'a=1'],
    ['a=b=c; Path=/', BASE, 'a=b=c'],
    ['a="x y"; Path=/', BASE, 'a="x y"'],
    ['a=%41; Path=/', BASE, 'a=%41'],
    ['a=; Path=/', BASE, 'a='],
    ['justvalue; Path=/', BASE, 'justvalue'],
    ['; Path=/', BASE, undefined],
    ['a=1; Path=/; Secure', BASE, 'a=1'],
    ['__Secure-a=1; Path=/; Secure', BASE, '__Secure-a=1'],
    ['__Secure-a=1; Path=/', BASE, undefined],
    ['__Host-a=1; Path=/; Secure', BASE, '__Host-a=1'],
    ['__Host-a=1; Path=/', BASE, undefined],
    ['__Host-a=1; Secure', BASE, undefined],
    ['__Host-a=1; Path=/db; Secure', BASE, undefined],
    ['__host-a=1; Path=/; Secure; Domain=app.example', BASE, undefined],
    ['a=1; Path=/; Domain=app.example', BASE, 'a=1'],
    ['a=1; Path=/; Domain=.example', BASE, 'a=1'],
    ['a=1; Path=/; Domain=elsewhere.example', BASE, undefined],
    ['a=1; Path=/; Max-Age=0', BASE, undefined],
    ['a=1; Path=/; Max-Age=-1', BASE, undefined],
    ['a=1; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT', BASE, undefined],
    ['a=1; Path=/; Expires=Thu, 01 Jan 2099 00:00:00 GMT', BASE, 'a=1'],
    ['a=1; Path=/; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT', BASE, 'a=1'],
    ['a=1; Path=/; Expires=nonsense', BASE, 'a=1'],
  ])('after "%s", to %s: %s', async (set, url, sent) => {
    const { jar } = createJar();
    jar.take(set, `${BASE}_session`);
    expect(jar.header(url)).toBe(sent);
  });

  it('uses the folder of the request if no path was given', async () => {
    const { jar } = createJar();
    jar.take('a=1', `${BASE}notes/x`);
    expect(jar.header(`${BASE}notes/y`)).toBe('a=1');
    expect(jar.header(`${BASE}other`)).toBeUndefined();
  });

  it('has longer paths first, and of equal ones the older', async () => {
    const { jar } = createJar();
    jar.take('a=1; Path=/db/', BASE);
    jar.take('b=2; Path=/db/notes', BASE);
    jar.take('c=3; Path=/db/', BASE);
    jar.take('a=9; Path=/db/', BASE);
    expect(jar.header(`${BASE}notes`)).toBe('b=2; a=9; c=3');
  });

  it('leaves out expired cookies', async () => {
    const { jar, clock } = createJar();
    jar.take('a=1; Path=/; Max-Age=60', BASE);
    clock.time += 59_999;
    expect(jar.header(BASE)).toBe('a=1');
    clock.time += 1;
    expect(jar.header(BASE)).toBeUndefined();
  });

  it('has no secure cookie over an insecure connection', async () => {
    const { jar } = createJar('http://app.example/db/');
    jar.take('a=1; Path=/; Secure', BASE);
    expect(jar.header('http://app.example/db/')).toBeUndefined();
    const local = createJar('http://localhost:5984/').jar;
    await local.take('a=1; Path=/; Secure', 'http://localhost:5984/_session');
    expect(local.header('http://localhost:5984/')).toBe('a=1');
  });
});

describe('around a service', () => {
  /** Signs in at `_session`, and says what it was sent. */
  const service = async ({ url, headers }: PlainRequest) => ({
    status: 200,
    headers: url.endsWith('_session') ? { 'set-cookie': 'AuthSession=abc; Path=/; HttpOnly' } : {},
    body: JSON.stringify(headers),
  });
  const get = (path: string, headers = {}): PlainRequest => ({ method: 'GET', url: BASE + path, headers, body: null });

  it('stores set cookies, hides them from responses, and sends them with requests', async () => {
    const { jar } = createJar();
    const handle = jar.around(service);
    expect((await handle(get('notes'))).body).toBe('{}');
    expect((await handle(get('_session'))).headers).toEqual({});
    expect((await handle(get('notes', { accept: '*/*' }))).body).toBe('{"accept":"*/*","cookie":"AuthSession=abc"}');
  });

  it("doesn't let pages set cookies themselves", async () => {
    const handle = createJar().jar.around(service);
    expect((await handle(get('notes', { cookie: 'AuthSession=forged' }))).body).toBe('{}');
  });

  it("doesn't send cookies with requests without credentials", async () => {
    const { jar } = createJar();
    const handle = jar.around(service);
    const omit = { 'settee-credentials': 'omit' };
    expect((await handle(get('_session', omit))).headers).toEqual({});
    expect(jar.header(BASE)).toBeUndefined();
    await handle(get('_session'));
    expect((await handle(get('notes', omit))).body).toBe('{}');
  });
});

describe('jars of several workers', () => {
  it('adopt newer cookies only', async () => {
    const first = createJar();
    const second = createJar();
    await first.jar.take('a=1; Path=/', BASE);
    expect(first.changes).toHaveLength(1);
    second.jar.load(first.jar.text);
    expect(second.jar.header(BASE)).toBe('a=1');
    expect(second.changes).toEqual([]);
    await second.jar.take('a=2; Path=/', BASE);
    second.jar.load(first.jar.text);
    expect(second.jar.header(BASE)).toBe('a=2');
    first.jar.load(second.jar.text);
    expect(first.jar.header(BASE)).toBe('a=2');
  });

  it('report nothing while they are new, nor changes without effect', async () => {
    const { jar, changes } = createJar();
    expect(jar.text).toBe('');
    jar.take('a=1; Path=/; Max-Age=0', BASE);
    expect(changes).toEqual([]);
  });

  it('ignore data in an unknown format', () => {
    const { jar } = createJar();
    jar.load('{"version":"9"}');
    jar.load('null');
    jar.load('{"version":9,"cookies":[{"name":"a"},1]}');
    expect(jar.header(BASE)).toBeUndefined();
  });
});
