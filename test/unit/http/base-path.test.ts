import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Core } from '../../../src/core/core.ts';
import { ask, askJson, openCore } from './support.ts';

describe('a service below a path', () => {
  let core: Core;

  beforeAll(async () => {
    core = await openCore({}, '/data');
    await ask(core, 'PUT /data/db');
  });
  afterAll(() => core.close());

  test.each([
    ['PUT /data/db/doc', { host: 'h:5984' }, 'http://h:5984/data/db/doc'],
    ['PUT https://app.example/data/db/other', {}, 'https://app.example/data/db/other'],
    ['PUT https://app.example/data/db/third', { host: 'h:5984' }, 'https://app.example/data/db/third'],
    ['PUT /data/more', { host: 'h:5984' }, 'http://h:5984/data/more'],
  ])('has the Location of %s below the path', async (what, headers, location) => {
    const answer = await ask(core, what, { headers, body: '{}' });
    expect(answer).toMatchObject({ status: 201, headers: { location } });
  });

  test('redirects below the path', async () => {
    const answer = await ask(core, 'GET https://app.example/data/db/_design%2Fx?revs=true');
    expect(answer).toMatchObject({
      status: 301,
      headers: { location: 'https://app.example/data/db/_design/x?revs=true' },
    });
  });

  test.each(['GET /data', 'GET /data/', 'GET https://app.example/data?x=1'])(
    'answers %s with the welcome message',
    async (what) => {
      expect(await askJson(core, what)).toEqual([200, expect.objectContaining({ svc: 'Welcome' })]);
    },
  );

  test.each(['GET /', 'GET /db', 'GET /database', 'PUT /other', 'GET https://app.example/db'])(
    'answers %s as outside of the path',
    async (what) => {
      const reason = 'This service answers below /data/ only; begin the path with that.';
      expect(await askJson(core, what)).toEqual([404, { error: 'not_found', reason }]);
    },
  );

  test('accepts a COPY destination below the path', async () => {
    await ask(core, 'PUT /data/db/original', { body: '{"n":1}' });
    const destination = 'https://app.example/data/db/duplicate';
    const copied = await ask(core, 'COPY https://app.example/data/db/original', { headers: { destination } });
    expect(copied).toMatchObject({ status: 201, headers: { location: 'https://app.example/data/db/duplicate' } });
    expect(await askJson(core, 'GET /data/db/duplicate')).toEqual([200, expect.objectContaining({ n: 1 })]);
  });
});
