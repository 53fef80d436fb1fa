import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { PlainRequest, PlainResponse } from '../../../../src/base/shared/message.ts';
import { serviceUnavailable } from '../../../../src/browser/bridge/service-unavailable.ts';
import { KeepaliveRequests, wholeBody } from '../../../../src/browser/sw/keepalive-requests.ts';

const base = 'https://app.example/db/';
const lost = serviceUnavailable('the owner was lost');

let sent: PlainRequest[];
let answers: (number | (() => Promise<PlainResponse>))[];

const answerOf = (status: number): PlainResponse =>
  status === 503 ? lost : { status, headers: {}, body: `answer ${status}` };

function createRequests(): KeepaliveRequests {
  return new KeepaliveRequests(base, async (request) => {
    sent.push(request);
    const answer = answers.shift() ?? 201;
    return typeof answer === 'number' ? answerOf(answer) : answer();
  });
}

const request = (method: string, path: string, body: PlainRequest['body'] = null): PlainRequest => ({
  method,
  url: base + path,
  headers: {},
  body,
});

beforeEach(() => {
  vi.useFakeTimers();
  sent = [];
  answers = [];
});

afterEach(() => void vi.useRealTimers());

async function settled(answer: Promise<PlainResponse>): Promise<PlainResponse> {
  await vi.advanceTimersByTimeAsync(60_000);
  return answer;
}

describe('a request that outlives its page', () => {
  test.for([
    ['PUT', 'notes/a', '{}'],
    ['DELETE', 'notes/a?rev=1-a', null],
    ['COPY', 'notes/a', null],
    ['PUT', 'notes/a/file.txt?rev=1-a', 'text'],
    ['PUT', 'notes/_local/a', '{}'],
    ['PUT', 'notes/_design/a', '{}'],
    ['PUT', '_users/org.couchdb.user%3Aann', '{}'],
    ['PUT', 'notes', null],
    ['POST', 'notes', '{"_id":"a"}'],
    ['POST', 'notes/_bulk_docs', '{"docs":[{"_id":"a"},{"_id":"b"}]}'],
  ] as const)(
    'is sent again after the loss of an owner if a repetition is harmless: %s %s',
    async ([method, path, body]) => {
      answers = [503, 503, 201];
      const given = request(method, path, body);
      expect((await settled(createRequests().handle(given))).status).toBe(201);
      expect(sent).toEqual([given, given, given]);
    },
  );

  test.for([
    ['POST', 'notes/_design/a/_update/f', '{}'],
    ['PUT', 'notes/_design/a/_update/f/b', '{}'],
    ['POST', 'notes/_purge', '{}'],
    ['DELETE', 'notes', null],
    ['POST', '_replicate', '{}'],
    ['PUT', '_node/_local/_config/svc/a', '"b"'],
    ['POST', 'notes/_bulk_docs', '{"docs":[{"_id":"a"},{"name":"b"}]}'],
    ['POST', 'notes', 'no JSON'],
    ['POST', 'notes', '[1]'],
  ] as const)('is sent once if a repetition could do harm: %s %s', async ([method, path, body]) => {
    answers = [503, 201];
    expect((await settled(createRequests().handle(request(method, path, body)))).status).toBe(503);
    expect(sent).toEqual([request(method, path, body)]);
  });

  test.for(['{"a":1.0,"b":9007199254740993}', '{}', ' {\n"a": 1.0 }'])(
    'creates an id for a document without one, and keeps the rest of its text: %j',
    async (text) => {
      answers = [503, 201];
      await settled(createRequests().handle(request('POST', 'notes', new TextEncoder().encode(text))));
      const [first, second] = sent.map(({ body }) => String(body));
      expect(second).toBe(first);
      const { _id, ...rest } = JSON.parse(first ?? '');
      expect(_id).toMatch(/^[\da-f-]{36}$/);
      expect(rest).toEqual(JSON.parse(text));
      expect(first?.replace(/^\{"_id":"[\da-f-]{36}",?/, '')).toBe(text.trimStart().slice(1));
    },
  );

  test('is refused with the first answer if it may have been stored before it was sent again', async () => {
    answers = [503, 409];
    expect(await settled(createRequests().handle(request('PUT', 'notes/a', '{}')))).toEqual(lost);
    answers = [409];
    expect((await settled(createRequests().handle(request('PUT', 'notes/a', '{}')))).status).toBe(409);
  });

  test('is given up after 45 s', async () => {
    answers = Array.from({ length: 100 }, () => 503);
    expect(await settled(createRequests().handle(request('PUT', 'notes/a', '{}')))).toEqual(lost);
    expect(sent.length).toBeGreaterThan(40);
    expect(sent.length).toBeLessThan(60);
  });

  test('waits for earlier ones, except for those that are sent once', async () => {
    let answer = (_: PlainResponse) => {};
    answers = [202, () => new Promise((resolve) => (answer = resolve))];
    const requests = createRequests();
    const database = requests.handle(request('PUT', 'notes'));
    const document = requests.handle(request('PUT', 'notes/a', '{}'));
    const other = requests.handle(request('POST', '_replicate', '{}'));
    expect((await settled(other)).status).toBe(202);
    expect(sent.map(({ url }) => url)).toEqual([`${base}_replicate`, `${base}notes`]);
    answer(answerOf(201));
    expect((await settled(database)).status).toBe(201);
    expect((await settled(document)).status).toBe(201);
    expect(sent.at(-1)?.url).toBe(`${base}notes/a`);
  });
});

test('the response that a page gets is complete', async () => {
  const chunks = ['a', 'bc'].map((text) => new TextEncoder().encode(text));
  const body = { pull: async () => chunks.shift(), cancel: async () => {} };
  expect(await wholeBody(body)).toEqual(new TextEncoder().encode('abc'));
  expect(await wholeBody('text')).toBe('text');
  expect(await wholeBody(null)).toBe(null);
});
