import { type Settee, start } from 'settee';
import type { Answered, Beside, Controls, LargeRead, ReadBeside, Tally, Way } from '../controls.ts';
import { describeError } from '../outcome.ts';
import { FeedReader } from './feed-reader.ts';
import { Workload } from './workload.ts';

/** The page that tests steer: it does what it is told in its global `control`, and remembers what a test may ask later. */
let settee: Settee | undefined;
let workload: Workload | undefined;
let heldBody: { readonly reader: ReadableStreamDefaultReader<Uint8Array>; readonly bytes: number } | undefined;
let slowRead: Promise<LargeRead> | undefined;
const feeds: FeedReader[] = [];
const eventSources: { readonly source: EventSource; readonly data: string[] }[] = [];
let updates = 0;
let provided: { readonly token: string; readonly lifeMs: number | undefined } | undefined;
let tokenCalls = 0;
let removeTokens: (() => void) | undefined;
const shows: boolean[] = [];
const heard: string[] = [];
let acknowledgements: BroadcastChannel | undefined = openChannel();

function openChannel(): BroadcastChannel {
  const channel = new BroadcastChannel('acknowledgements');
  channel.onmessage = ({ data }: MessageEvent<string>) => heard.push(data);
  return channel;
}

// A message that came to a page in the back/forward cache would throw it out.
addEventListener('pagehide', () => {
  acknowledgements?.close();
  acknowledgements = undefined;
});
addEventListener('pageshow', ({ persisted }) => {
  shows.push(persisted);
  if (persisted) acknowledgements = openChannel();
});

function theSettee(): Settee {
  if (settee === undefined) throw new Error('the page was not told to start');
  return settee;
}

function send(way: Way, path: string, init?: RequestInit): Promise<Response> {
  return way === 'settee' ? theSettee().fetch(path, init) : fetch(path, init);
}

async function request(
  way: Way,
  method: string,
  path: string,
  json?: unknown,
  credentials?: RequestCredentials,
): Promise<Answered> {
  const began = performance.now();
  const body =
    json === undefined || json === null
      ? {}
      : { body: JSON.stringify(json), headers: { 'content-type': 'application/json' } };
  const answer = await send(way, path, { method, ...body, ...(credentials && { credentials }) });
  const text = await answer.text();
  const headers = [...answer.headers.keys()];
  return { status: answer.status, json: parsed(text), headers, ms: performance.now() - began };
}

async function readBeside(way: Way, path: string, beside: Beside | number): Promise<ReadBeside> {
  const latencies: number[] = [];
  let isOver = false;
  const other =
    typeof beside === 'number'
      ? new Promise<undefined>((resolve) => setTimeout(resolve, beside))
      : request(way, ...beside);
  const ended = other.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    const { status, ms } = await request(way, 'GET', path);
    if (status !== 200) throw new Error(`${path} was answered with ${status}`);
    latencies.push(ms);
    // Timers and messages of the page have their turn.
    await new Promise((resolve) => setTimeout(resolve));
  }
  const answer = await ended;
  return { latencies, ...(answer && { answer }) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

async function tally(
  count: number,
  ask: (index: number) => Promise<{ status: number; isRight: boolean }>,
): Promise<Tally> {
  const began = performance.now();
  const statuses: Record<string, number> = {};
  let wrong = 0;
  await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      let key: string;
      try {
        const { status, isRight } = await ask(index);
        if (!isRight) wrong += 1;
        key = `${status}`;
      } catch (error) {
        key = String(error);
      }
      statuses[key] = (statuses[key] ?? 0) + 1;
    }),
  );
  return { statuses, wrong, ms: performance.now() - began };
}

async function readOn(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  before: number,
  bytesPerSecond: number,
  began: number,
): Promise<LargeRead> {
  const decoder = new TextDecoder();
  let bytes = before;
  let end = '';
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      bytes += next.value.length;
      end = (end + decoder.decode(next.value.subarray(-100))).slice(-100);
      // What counts is the whole: pages that nobody sees are kept waiting for longer than they ask.
      const pauseMs = (1000 * (bytes - before)) / bytesPerSecond - (performance.now() - began);
      if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  } catch (error) {
    return { bytes, end, error: describeError(error), ms: performance.now() - began };
  }
  return { bytes, end, ms: performance.now() - began };
}

function readerOf(answer: Response): ReadableStreamDefaultReader<Uint8Array> {
  if (answer.status !== 200 || answer.body === null)
    throw new Error(`the answer has status ${answer.status} or no body`);
  return answer.body.getReader();
}

function random(length: number): string {
  return Array.from({ length: length / 10 }, () => Math.random().toString(36).slice(2, 12).padEnd(10, 'x')).join('');
}

async function idsOf(way: Way, database: string): Promise<string[]> {
  const answer: { rows: { id: string }[] } = await (await send(way, `${database}/_all_docs`)).json();
  return answer.rows.map(({ id }) => id);
}

const control: Controls = {
  start: async (options) => {
    const began = performance.now();
    settee = await start(options);
    settee.addEventListener('update', () => {
      updates += 1;
    });
    return performance.now() - began;
  },
  close: () => theSettee().close(),
  controlled: () => theSettee().controlled,
  status: () => theSettee().status(),
  role: async () => (await theSettee().status()).role,
  isControlled: async () => navigator.serviceWorker.controller !== null,
  lookForUpdate: async () => {
    await (await navigator.serviceWorker.getRegistration())?.update();
  },
  updates: async () => updates,
  isUpdateWaiting: async () => (await theSettee().status()).updateWaiting,
  update: () => theSettee().update(),
  provideToken: async (url, token, lifeMs) => {
    provided = token === null ? undefined : { token, lifeMs };
    removeTokens ??= theSettee().credentials(url, async () => {
      tokenCalls += 1;
      if (provided === undefined) return undefined;
      const { token: now, lifeMs: life } = provided;
      return { token: now, ...(life !== undefined && { expires: Date.now() + life }) };
    });
  },
  tokenCalls: async () => tokenCalls,
  removeTokens: async () => {
    removeTokens?.();
    removeTokens = undefined;
  },
  request,
  readBeside,
  beginWork: async ({ way, database, prefix }) => {
    workload = new Workload(
      (path, init) => send(way, path, init),
      database,
      prefix,
      (id) => {
        acknowledgements?.postMessage(id);
      },
    );
    workload.begin();
  },
  work: async () => {
    if (workload === undefined) throw new Error('no work was begun');
    return workload.report();
  },
  markWork: async () => {
    if (workload === undefined) throw new Error('no work was begun');
    return workload.mark();
  },
  endWork: async () => {
    if (workload === undefined) throw new Error('no work was begun');
    return workload.end();
  },
  writeMany: async (way, database, prefix, count, parallel) => {
    let next = 0;
    let acknowledged = 0;
    const write = async (): Promise<void> => {
      while (next < count) {
        const id = `${prefix}-${`${next++}`.padStart(5, '0')}`;
        const answer = await request(way, 'PUT', `${database}/${id}`, { prefix });
        if (answer.status === 201) acknowledged += 1;
      }
    };
    await Promise.all(Array.from({ length: parallel }, write));
    return acknowledged;
  },
  heard: async () => heard,
  ids: idsOf,
  shows: async () => shows,
  deleteStorage: async () => {
    const databases = await indexedDB.databases();
    for (const { name = '' } of databases) {
      await new Promise((resolve, reject) => {
        const deletion = indexedDB.deleteDatabase(name);
        deletion.onsuccess = resolve;
        deletion.onerror = () => reject(deletion.error);
      });
    }
    return databases.length;
  },
  getsAtOnce: (way, database, count) =>
    tally(count, async (index) => {
      const { status, json } = await request(way, 'GET', `${database}/at-once-${index % 50}`);
      return { status, isRight: json instanceof Object && Reflect.get(json, 'number') === index % 50 };
    }),
  putsAtOnce: (way, database, count, bytes) =>
    tally(count, async (index) => {
      const { status, json } = await request(way, 'PUT', `${database}/put-${index}`, { text: 'x'.repeat(bytes) });
      return { status, isRight: json instanceof Object && Reflect.get(json, 'id') === `put-${index}` };
    }),
  sendLarge: async (way, database, documents, bytes) => {
    const parts: string[] = [];
    for (let number = 0; number < documents; number += 1) {
      parts.push(`${number === 0 ? '{"docs":[' : ','}{"_id":"large-${number}","text":"${'x'.repeat(bytes)}"}`);
    }
    const body = new Blob([...parts, ']}']);
    const headers = { 'content-type': 'application/json' };
    const answer = await send(way, `${database}/_bulk_docs`, { method: 'POST', headers, body });
    await answer.text();
    return answer.status;
  },
  fill: async (way, database, bytes) => {
    const most = 200;
    for (let written = 0; written < most; written += 1) {
      const answer = await request(way, 'PUT', `${database}/large-${written}`, { text: random(bytes) });
      if (answer.status !== 201) return { written, refusal: answer };
    }
    throw new Error(`nothing refused ${most} documents of ${bytes} bytes`);
  },
  readLarge: async (way, database, bytesPerSecond = Number.POSITIVE_INFINITY) => {
    const began = performance.now();
    const answer = await send(way, `${database}/_all_docs?include_docs=true`);
    return readOn(readerOf(answer), 0, bytesPerSecond, began);
  },
  holdBody: async (way, path) => {
    const reader = readerOf(await send(way, path));
    const first = await reader.read();
    heldBody = { reader, bytes: first.value?.length ?? 0 };
    return heldBody.bytes;
  },
  drainHeldBody: async () => {
    if (heldBody === undefined) throw new Error('no body is held');
    return readOn(heldBody.reader, heldBody.bytes, Number.POSITIVE_INFINITY, performance.now());
  },
  beginSlowRead: async (way, path, bytesPerSecond) => {
    const began = performance.now();
    slowRead = readOn(readerOf(await send(way, path)), 0, bytesPerSecond, began);
  },
  endSlowRead: async () => {
    if (slowRead === undefined) throw new Error('no read was begun');
    return slowRead;
  },
  beginFeed: async (way, path) => feeds.push(new FeedReader(readerOf(await send(way, path)))) - 1,
  feed: async (number) => {
    const feed = feeds[number];
    if (feed === undefined) throw new Error(`no feed ${number} was begun`);
    return feed.report();
  },
  openEvents: async (path) => {
    const source = new EventSource(path);
    const data: string[] = [];
    source.addEventListener('message', (event) => data.push(String(event.data)));
    return eventSources.push({ source, data }) - 1;
  },
  events: async (number) => {
    const { source, data } = eventSources[number] ?? {};
    if (source === undefined || data === undefined) throw new Error(`no event source ${number} was opened`);
    return { data, isOpen: source.readyState === EventSource.OPEN };
  },
};
Reflect.set(globalThis, 'control', control);
// For scripts of tests: `fetch`, by either way.
Reflect.set(globalThis, 'send', send);
