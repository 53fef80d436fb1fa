import { describe, expect, test } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import { silentLog } from '../../../../src/base/system/log.ts';
import { VERSION } from '../../../../src/base/system/version.ts';
import { addServerHeaders, refuseWhenClosing } from '../../../../src/http/middleware/every-request.ts';
import { cancelUnreadBody } from '../../../../src/http/middleware/held-bytes.ts';
import { wrapJsonp } from '../../../../src/http/middleware/jsonp.ts';
import { answerHead, overrideMethod } from '../../../../src/http/middleware/methods.ts';
import {
  type Answer,
  type Context,
  type Handler,
  Context as RequestContext,
} from '../../../../src/http/request/context.ts';
import { answerErrors } from '../../../../src/http/response/error-table.ts';
import { jsonAnswer, textAnswer } from '../../../../src/http/response/responses.ts';
import { contextOf, services, streamOf, textOf } from '../support.ts';

const encoder = new TextEncoder();

function fixed(answer: (context: Context) => Answer): Handler {
  return answer;
}

const hello = fixed((context) => jsonAnswer(context, 200, '{"hello":"wörld"}'));

describe('Server and Date', () => {
  test("are in every response, with the date in HTTP's format", async () => {
    let now = Date.UTC(2026, 0, 31, 12, 0, 0, 999);
    const handler = addServerHeaders({ now: () => now, monotonic: () => 0 }, hello);
    expect((await handler(contextOf({}))).headers).toMatchObject({
      server: `Settee/${VERSION}`,
      date: 'Sat, 31 Jan 2026 12:00:00 GMT',
    });
    now += 1;
    expect((await handler(contextOf({}))).headers).toMatchObject({ date: 'Sat, 31 Jan 2026 12:00:01 GMT' });
    now -= 60_000;
    expect((await handler(contextOf({}))).headers).toMatchObject({ date: 'Sat, 31 Jan 2026 11:59:01 GMT' });
  });
});

describe('method override', () => {
  const told = overrideMethod(fixed((context) => jsonAnswer(context, 200, context.method)));
  const methodOf = async (method: string, override: string) => {
    const answer = await told(contextOf({ method, headers: { 'x-http-method-override': override } }));
    return (await textOf(answer.body)).trim();
  };

  test('replaces POST by one of the methods', async () => {
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'TRACE', 'CONNECT', 'COPY']) {
      expect(await methodOf('POST', method)).toBe(method);
    }
  });

  test('leaves other requests unchanged', async () => {
    expect(await methodOf('GET', 'DELETE')).toBe('GET');
    expect(await methodOf('POST', 'PATCH')).toBe('POST');
    expect(await methodOf('POST', 'put')).toBe('POST');
  });
});

describe('HEAD', () => {
  test('is run as GET, and has the length in bytes', async () => {
    const context = contextOf({ method: 'HEAD' });
    const answer = await answerHead(hello)(context);
    expect(context.method).toBe('GET');
    expect(answer).toMatchObject({ status: 200, body: null, headers: { 'content-length': '19' } });
  });

  test('cancels a stream, and has its length if that is known', async () => {
    const { stream, seen } = streamOf([encoder.encode('abc')], { length: 3 });
    const answer = await answerHead(fixed((context) => textAnswer(context, 200, stream)))(
      contextOf({ method: 'HEAD' }),
    );
    expect(answer.headers['content-length']).toBe('3');
    expect(answer.body).toBeNull();
    expect(seen).toEqual({ pulls: 0, cancelled: true });
  });

  test('does not affect GET', async () => {
    expect(await textOf((await answerHead(hello)(contextOf({}))).body)).toBe('{"hello":"wörld"}\n');
  });
});

describe('errors', () => {
  const failing = (failure: unknown) =>
    answerErrors(() => {
      throw failure;
    });

  test('of the service have their status, error and reason', async () => {
    const answer = await failing(new DatabaseError('conflict', 'Document update conflict.'))(contextOf({}));
    expect(answer.status).toBe(409);
    expect(answer.body).toBe('{"error":"conflict","reason":"Document update conflict."}\n');
    expect(answer.headers['cache-control']).toBe('must-revalidate');
  });

  test('have their code beside the response, also without a body', async () => {
    const gone: Handler = () => {
      throw new DatabaseError('storage_deleted', 'The database was deleted.');
    };
    expect(await answerErrors(gone)(contextOf({}))).toMatchObject({ status: 404, errorCode: 'storage_deleted' });
    expect(await answerHead(answerErrors(gone))(contextOf({ method: 'HEAD' }))).toMatchObject({
      body: null,
      errorCode: 'storage_deleted',
    });
    const wrapped = wrapJsonp(answerErrors(gone))(
      contextOf({ url: '/?callback=f' }, { httpd: { allow_jsonp: 'true' } }),
    );
    expect(await wrapped).toMatchObject({ status: 404, errorCode: 'storage_deleted' });
  });

  test('that are unexpected hide their details, and are logged', async () => {
    const logged: [string, unknown][] = [];
    const failure = new TypeError('secret at /home/me/file.ts');
    const log = { ...silentLog, error: (message: string, cause?: unknown) => void logged.push([message, cause]) };
    const context = new RequestContext(
      { method: 'GET', url: '/?key=secret', headers: {}, body: null },
      services({}, { log }),
    );
    const answer = await failing(failure)(context);
    expect(answer.status).toBe(500);
    expect(JSON.parse(await textOf(answer.body))).toEqual({
      error: 'unknown_error',
      reason: 'The request failed because of an unexpected error. The log of the service has the details.',
    });
    expect(logged).toEqual([['A GET request failed', failure]]);
  });

  test("of a purge have the interface's own words", async () => {
    const answer = await failing(new DatabaseError('purge_during_compaction', 'x'))(contextOf({}));
    expect([answer.status, answer.body]).toEqual([500, '{"error":"error","reason":"purge_during_compaction"}\n']);
  });
});

test('a service that is closing refuses new requests', async () => {
  let closing = false;
  const handler = refuseWhenClosing(() => closing, hello);
  expect((await handler(contextOf({}))).status).toBe(200);
  closing = true;
  expect(() => handler(contextOf({}))).toThrow('shutting_down');
});

describe('an unread request body', () => {
  test.each([
    ['answered', hello],
    [
      'refused',
      () => {
        throw new DatabaseError('not_found', 'missing');
      },
    ],
  ])('is cancelled when the request is %s', async (_how, next: Handler) => {
    const { stream, seen } = streamOf([encoder.encode('{}')]);
    const handler = answerErrors(cancelUnreadBody(next));
    await handler(contextOf({ method: 'DELETE', body: stream }));
    expect(seen).toEqual({ pulls: 0, cancelled: true });
  });
});

describe('JSONP', () => {
  const on = { httpd: { allow_jsonp: 'true' } };
  const handler = answerErrors(wrapJsonp(hello));

  test('is off by default', async () => {
    const answer = await handler(contextOf({ url: '/?callback=f' }));
    expect(answer.body).toBe('{"hello":"wörld"}\n');
  });

  test('wraps the response in a call', async () => {
    const answer = await handler(contextOf({ url: '/?callback=a.b[0]_' }, on));
    expect(answer.headers['content-type']).toBe('text/javascript');
    expect(answer.body).toBe('/* svc */a.b[0]_({"hello":"wörld"});\n');
  });

  test('wraps errors', async () => {
    const failing = wrapJsonp(() => {
      throw new DatabaseError('not_found', 'missing');
    });
    const answer = await failing(contextOf({ url: '/x?callback=f' }, on));
    expect([answer.status, answer.body]).toEqual([404, '/* svc */f({"error":"not_found","reason":"missing"});\n']);
  });

  test('wraps streams', async () => {
    const { stream } = streamOf([encoder.encode('{"rows":['), encoder.encode(']}\n')]);
    const streaming = wrapJsonp((context) => textAnswer(context, 200, stream));
    const answer = await streaming(contextOf({ url: '/x?callback=f' }, on));
    expect(await textOf(answer.body)).toBe('/* svc */f({"rows":[]}\n);\n');
  });

  test("ignores a callback that isn't a plain name", async () => {
    let ran = false;
    const watched = answerErrors(
      wrapJsonp((context) => {
        ran = true;
        return hello(context);
      }),
    );
    for (const callback of ['alert(1)//', 'a%20b', '']) {
      const answer = await watched(contextOf({ url: `/x?callback=${callback}` }, on));
      expect([answer.status, answer.body]).toEqual([400, '{"error":"bad_request","reason":"invalid_callback"}\n']);
    }
    expect(ran).toBe(false);
  });
});
