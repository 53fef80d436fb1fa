/** Makes spans of what the server publishes (docs/node.md#opentelemetry), by the interface of OpenTelemetry alone. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import {
  type Attributes,
  createTraceState,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace as traces,
} from '@opentelemetry/api';
import type { TracedReplication, TracedRequest, TracedTask } from './channels.ts';
import { routeOf } from './route.ts';
import type { Trace } from './trace-context.ts';

const NAME = 'settee-server';
const LOWEST_SERVER_ERROR = 500;

/** Follows the channels of this process. Returns a function that ends that; spans that have begun are not ended then. */
export function makeSpans(): () => void {
  const ends = [
    follow<TracedRequest>('settee:request', beginRequest, endRequest),
    follow<TracedReplication>('settee:replication', beginReplication, endReplication),
    follow<TracedTask>('settee:view-update', (task) => beginTask('view update', task), endTask),
    follow<TracedTask>('settee:compaction', (task) => beginTask('compaction', task), endTask),
  ];
  return () => {
    for (const end of ends) end();
  };
}

function follow<T extends object>(name: string, begin: (message: T) => Span, end: (message: T, span: Span) => void) {
  const spans = new WeakMap<object, Span>();
  // The server alone publishes to these channels, and only that.
  const onStart = (message: unknown) => void spans.set(Object(message), begin(message as T));
  const onEnd = (message: unknown) => {
    const span = spans.get(Object(message));
    if (span === undefined) return;
    spans.delete(Object(message));
    end(message as T, span);
    span.end();
  };
  subscribe(`tracing:${name}:start`, onStart);
  subscribe(`tracing:${name}:asyncEnd`, onEnd);
  return () => {
    unsubscribe(`tracing:${name}:start`, onStart);
    unsubscribe(`tracing:${name}:asyncEnd`, onEnd);
  };
}

/** At each span: a provider may be registered later than this module is loaded. */
function tracer() {
  return traces.getTracer(NAME);
}

function beginRequest(request: TracedRequest): Span {
  const { method, path, database, peer, trace, isTraceTrusted, id } = request;
  const route = routeOf(path, database);
  const attributes: Attributes = {
    'http.request.method': method,
    'http.route': route,
    'url.path': path,
    'db.system.name': 'settee',
    'settee.request.id': id,
    ...(database !== null && { 'db.namespace': database }),
    ...(peer !== null && { 'client.address': peer }),
  };
  const asking = askingSpan(trace);
  const isParent = asking !== undefined && isTraceTrusted;
  const span = tracer().startSpan(
    `${method} ${route}`,
    { kind: SpanKind.SERVER, attributes, links: asking === undefined || isParent ? [] : [{ context: asking }] },
    isParent ? traces.setSpanContext(ROOT_CONTEXT, asking) : ROOT_CONTEXT,
  );
  const context = span.spanContext();
  if (isSpanContextValid(context)) {
    const { traceId, spanId, traceFlags: flags } = context;
    const parentId = trace?.traceId === traceId ? trace.parentId : undefined;
    request.trace = { traceId, spanId, parentId, flags, state: trace?.traceId === traceId ? trace.state : undefined };
  }
  return span;
}

/** The client's span. Samplers follow a parent, so a client that is not trusted gets a link instead: its flag has no say in what is recorded. */
function askingSpan(trace: Trace | undefined): SpanContext | undefined {
  if (trace?.parentId === undefined) return undefined;
  const { traceId, parentId: spanId, flags: traceFlags, state } = trace;
  const traceState = state === undefined ? undefined : createTraceState(state);
  return { traceId, spanId, traceFlags, isRemote: true, ...(traceState && { traceState }) };
}

function endRequest({ status = 0, bytes = 0, user, isAborted }: TracedRequest, span: Span): void {
  span.setAttributes({ 'http.response.status_code': status, 'http.response.size': bytes });
  if (typeof user === 'string') span.setAttribute('enduser.id', user);
  if (isAborted === true) span.setAttribute('settee.request.aborted', true);
  if (status >= LOWEST_SERVER_ERROR) span.setStatus({ code: SpanStatusCode.ERROR });
}

function beginReplication({ id, source, target, continuous, user }: TracedReplication): Span {
  const attributes: Attributes = {
    'settee.replication.id': id,
    'settee.replication.source': source,
    'settee.replication.target': target,
    'settee.replication.continuous': continuous,
    ...(user !== null && { 'enduser.id': user }),
  };
  return tracer().startSpan('replication', { attributes }, ROOT_CONTEXT);
}

function endReplication({ docsRead, docsWritten, docWriteFailures, error }: TracedReplication, span: Span): void {
  span.setAttributes({
    'settee.replication.docs_read': docsRead,
    'settee.replication.docs_written': docsWritten,
    'settee.replication.doc_write_failures': docWriteFailures,
  });
  if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
}

function beginTask(name: string, { database, designDocument }: TracedTask): Span {
  const attributes: Attributes = {
    'db.namespace': database,
    ...(designDocument !== undefined && { 'settee.design_document': designDocument }),
  };
  return tracer().startSpan(name, { attributes }, ROOT_CONTEXT);
}

function endTask({ totalChanges }: TracedTask, span: Span): void {
  span.setAttribute('settee.changes', totalChanges);
}
