import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import {
  type Attributes,
  type Context,
  type Link,
  type Span,
  type SpanContext,
  type SpanOptions,
  type SpanStatus,
  trace as traces,
} from '@opentelemetry/api';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../../../src/node/server/server.ts';
import { makeSpans } from '../../../../src/node/tracing/opentelemetry.ts';
import { routeOf } from '../../../../src/node/tracing/route.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';

interface Recorded {
  readonly name: string;
  readonly kind: number | undefined;
  readonly parent: SpanContext | undefined;
  readonly context: SpanContext;
  readonly attributes: Attributes;
  readonly links: readonly Link[];
  status?: SpanStatus;
  isEnded: boolean;
}

let spans: Recorded[] = [];
let onEnd = () => {};

/** The least that a provider of spans has to do. */
function record(name: string, options: SpanOptions | undefined, context: Context | undefined): Span {
  const parent = context && traces.getSpanContext(context);
  const recorded: Recorded = {
    name,
    kind: options?.kind,
    parent,
    context: {
      traceId: parent?.traceId ?? 'c'.repeat(32),
      spanId: String(spans.length + 1).padStart(16, '0'),
      traceFlags: 1,
    },
    attributes: { ...options?.attributes },
    links: options?.links ?? [],
    isEnded: false,
  };
  spans.push(recorded);
  const span: Span = {
    spanContext: () => recorded.context,
    setAttribute: (key, value) => {
      recorded.attributes[key] = value;
      return span;
    },
    setAttributes: (more) => {
      Object.assign(recorded.attributes, more);
      return span;
    },
    addEvent: () => span,
    addLink: () => span,
    addLinks: () => span,
    setStatus: (status) => {
      recorded.status = status;
      return span;
    },
    updateName: () => span,
    end: () => {
      recorded.isEnded = true;
      onEnd();
    },
    isRecording: () => true,
    recordException: () => {},
  };
  return span;
}

let server: RunningServer;
let stop = () => {};

beforeAll(async () => {
  stop = makeSpans();
  // After the module was loaded, as an SDK may.
  traces.setGlobalTracerProvider({
    getTracer: (name) => ({
      startSpan: (spanName, options, context) => {
        expect(name).toBe('settee-server');
        return record(spanName, options, context);
      },
      startActiveSpan: () => {
        throw new Error('not used');
      },
    }),
  });
  server = await startServer({ port: 0, memory: true, logLevel: 'none' });
});

afterEach(() => {
  spans = [];
});

afterAll(async () => {
  await server.close();
  stop();
  traces.disable();
});

async function ended(name: string): Promise<Recorded> {
  for (;;) {
    const span = spans.find((one) => one.name === name && one.isEnded);
    if (span !== undefined) return span;
    await new Promise<void>((resolve) => {
      onEnd = resolve;
    });
  }
}

test('a request is a span of the trace that it names', async () => {
  const headers = { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'vendor=1' };
  const response = await fetch(`${server.url}missing/doc?rev=1`, { headers });
  await response.text();
  const span = await ended('GET /{db}/{docid}');
  expect(span).toMatchObject({
    kind: 1,
    parent: { traceId: TRACE, spanId: PARENT, traceFlags: 1, isRemote: true },
    links: [],
    attributes: {
      'http.request.method': 'GET',
      'http.route': '/{db}/{docid}',
      'url.path': '/missing/doc',
      'db.namespace': 'missing',
      'http.response.status_code': 404,
    },
  });
  expect(span.parent?.traceState?.get('vendor')).toBe('1');
  expect(span.status).toBeUndefined();
  // The client, and what is sent on, are told the id of this span.
  expect(response.headers.get('traceresponse')).toBe(`00-${TRACE}-${span.context.spanId}-01`);
});

describe('the trace that a request names', () => {
  const headers = { traceparent: `00-${TRACE}-${PARENT}-01` };
  const asked = { traceId: TRACE, spanId: PARENT, traceFlags: 1, isRemote: true };

  /** The server knows the connections of `fetch` here as its own process's. */
  async function spanOf(more: Record<string, string>): Promise<[Recorded, IncomingMessage]> {
    const request = get(`${server.url}_up`, { headers: { ...headers, ...more }, agent: false });
    const [response]: IncomingMessage[] = await once(request, 'response');
    if (response === undefined) throw new Error('no response');
    response.resume();
    return [await ended('GET /_up'), response];
  }

  test('has its span from this machine', async () => {
    const [span] = await spanOf({});
    expect(span).toMatchObject({ parent: asked, links: [] });
  });

  test('is only linked from elsewhere, so that its flag has no say in what is recorded', async () => {
    const [span, response] = await spanOf({ 'x-forwarded-for': '203.0.113.7' });
    expect(span.parent).toBeUndefined();
    expect(span.links).toEqual([{ context: asked }]);
    expect(response.headers['traceresponse']).toBe(`00-${'c'.repeat(32)}-${span.context.spanId}-01`);
  });

  test('has its span from a trusted proxy', async () => {
    const set = (value: string) =>
      fetch(`${server.url}_node/_local/_config/httpd/trusted_proxies`, { method: 'PUT', body: JSON.stringify(value) });
    expect((await set('127.0.0.1')).status).toBe(200);
    const [span] = await spanOf({ 'x-forwarded-for': '203.0.113.7' });
    expect((await set('')).status).toBe(200);
    expect(span).toMatchObject({ parent: asked, links: [], attributes: { 'client.address': '203.0.113.7' } });
  });
});

test('a request without a trace begins one', async () => {
  const response = await fetch(`${server.url}_up`);
  await response.text();
  const span = await ended('GET /_up');
  expect(span.parent).toBeUndefined();
  expect(response.headers.get('traceresponse')).toBe(`00-${'c'.repeat(32)}-${span.context.spanId}-01`);
});

test('updates of indexes and replications are spans', async () => {
  const { url } = server;
  await fetch(`${url}db`, { method: 'PUT' });
  await fetch(`${url}db/_design/d`, { method: 'PUT', body: '{"views":{"v":{"map":"function (doc) { emit(1); }"}}}' });
  await (await fetch(`${url}db/_design/d/_view/v`)).text();
  expect((await ended('view update')).attributes).toMatchObject({
    'db.namespace': 'db',
    'settee.design_document': '_design/d',
  });
  await ended('GET /{db}/_design/{ddoc}/_view/{view}');
  const body = JSON.stringify({ source: 'db', target: 'copy', create_target: true });
  await (
    await fetch(`${url}_replicate`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  ).text();
  expect((await ended('replication')).attributes).toMatchObject({
    'settee.replication.source': 'db',
    'settee.replication.target': 'copy',
    'settee.replication.docs_written': 1,
  });
});

test.each([
  ['/', null, '/'],
  ['/_all_dbs', null, '/_all_dbs'],
  ['/_Ab9', null, '/{other}'],
  ['/db', 'db', '/{db}'],
  ['/db/', 'db', '/{db}'],
  ['/db/_all_docs', 'db', '/{db}/_all_docs'],
  ['/db/a%2Fb', 'db', '/{db}/{docid}'],
  ['/db/a/b/c.txt', 'db', '/{db}/{docid}/{attname}'],
  ['/db/_design/d', 'db', '/{db}/_design/{ddoc}'],
  ['/db/_design/d/x.html', 'db', '/{db}/_design/{ddoc}/{attname}'],
  ['/db/_design/d/_view/v', 'db', '/{db}/_design/{ddoc}/_view/{view}'],
  ['/db/_design/d/_info', 'db', '/{db}/_design/{ddoc}/_info'],
  ['/db/_local/x', 'db', '/{db}/_local/{docid}'],
] as const)('the route of %s', (path, database, route) => {
  expect(routeOf(path, database)).toBe(route);
});
