import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { must } from '../../src/base/shared/assert.ts';
import { type BrowserSession, openBrowserSession, pause } from './browser-session.ts';
import { call, type FeedRead, type StartChoice, type Way } from './controls.ts';
import type { Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';

/**
 * Bodies that take longer than browsers let an idle service worker live, which is 30 s. They mostly wait, so they wait at
 * the same time, each in a tab and an origin of its own. Firefox alone cuts what streams through a service worker for long; there they take two minutes.
 */
const base = '/db/';
const megabyte = 1_000_000;
const silenceMs = 45_000;
const twoMinutesMs = 120_000;
const timeout = 240_000;
const onlyFirefox = 'only Firefox cuts what streams through a service worker for long';

/** A service worker that controls the page, and not the page's worker, whose script lies elsewhere: what that fetches passes it by. */
const narrow = `/page/settee-sw.js?base=${base}`;

/** Between lines of a feed, beside its silences. */
const pauseMs = 5000;

interface MadeUpFeed {
  readonly pauses: readonly number[];
  /** Bytes of a line, at least. */
  readonly bytes?: number;
}

describe.concurrent.each(chosenEngines())('long bodies in %s', (engine) => {
  const isLong = engine === 'firefox';
  let session: BrowserSession;

  beforeAll(async () => {
    session = await openBrowserSession(engine);
  });
  afterAll(() => session?.close());
  afterEach(({ task }) => {
    if (task.result?.state === 'fail') console.info(session?.browser.messages.slice(-30).join('\n'));
  });

  /** In a page of an origin of its own. Its worker answers with feeds that no database makes yet; the rest is the real thing. */
  async function follow(way: Way, feed: MadeUpFeed, options: Partial<StartChoice> = {}): Promise<FeedRead> {
    const site = await session.openSite();
    site.server.intercept((request) => {
      request.url = request.url?.replace('/page/settee-sw', '/settee-sw');
      return false;
    });
    const tab = await site.open('control');
    await call(tab, 'start', { base, worker: '/workers/feed.js', ...options });
    expect(await call(tab, 'request', 'settee', 'PUT', '/db/notes')).toMatchObject({ status: 201 });
    const number = await call(tab, 'beginFeed', way, addressOf(feed));
    return untilOver(tab, number);
  }

  async function followWhole(way: Way, options?: Partial<StartChoice>): Promise<void> {
    const often = Array.from({ length: isLong ? (twoMinutesMs - 2 * silenceMs) / pauseMs : 2 }, () => pauseMs);
    const pauses = isLong ? [100, silenceMs, ...often, silenceMs, 100] : [100, silenceMs, ...often];
    const read = await follow(way, { pauses }, options);
    expectWhole(read, pauses.length);
    const delays = delaysOf(read);
    console.info(`${engine}, ${way}: ${pauses.length} lines, the latest after ${Math.max(...delays)} ms`);
    // Each line is there before the next one is made.
    for (const [index, delay] of delays.slice(0, -1).entries()) {
      const untilNext = must(pauses[index + 1]);
      if (untilNext >= pauseMs) expect(delay, `line ${index + 1}`).toBeLessThan(untilNext);
    }
  }

  test.each<Way>(['fetch', 'settee'])(
    'a feed with long silences, by %s, arrives whole, and each line arrives when it is written',
    { timeout },
    (way) => followWhole(way),
  );

  test("a feed through a service worker that doesn't control the page is kept alive by the page", { timeout }, () =>
    followWhole('fetch', { serviceWorker: narrow }),
  );

  test('a feed that nothing keeps alive fails before the browser can end it as if it were complete', {
    timeout,
  }, async ({ skip }) => {
    if (!isLong) skip(onlyFirefox);
    const options = { serviceWorker: narrow, worker: '/workers/feed.js?silent' };
    const { lines, error } = await follow('fetch', { pauses: [100, twoMinutesMs] }, options);
    expect(error).toContain('TypeError');
    expect(lines).toHaveLength(1);
  });

  test('a download that takes two minutes to generate arrives whole', { timeout }, async ({ skip }) => {
    if (!isLong) skip(onlyFirefox);
    const pauses = Array.from({ length: 120 }, () => 1000);
    const read = await follow('fetch', { pauses, bytes: megabyte });
    expectWhole(read, pauses.length);
    expect(read.bytes).toBeGreaterThan(120 * megabyte);
  });

  test('a download that takes two minutes to transfer arrives whole', { timeout }, async ({ skip }) => {
    if (!isLong) skip(onlyFirefox);
    const tab = await (await session.openSite()).open('control');
    await call(tab, 'start', { base, settings: { svc: { max_document_size: `${200 * megabyte}` } } });
    await call(tab, 'request', 'fetch', 'PUT', '/db/slow');
    expect(await call(tab, 'sendLarge', 'settee', '/db/slow', 100, megabyte)).toBe(201);
    const { bytes, end, error, ms } = await call(tab, 'readLarge', 'fetch', '/db/slow', (100 * megabyte) / 120);
    console.info(`${engine}: read ${bytes} bytes in ${Math.round(ms)} ms`);
    expect(error).toBeUndefined();
    expect(ms).toBeGreaterThan(twoMinutesMs);
    expect(bytes).toBeGreaterThan(100 * megabyte);
    expect(end).toMatch(/\]\}\n$/);
  });
});

function addressOf({ pauses, bytes = 0 }: MadeUpFeed): string {
  return `/db/notes/_index?${new URLSearchParams({ pauses: pauses.join(), bytes: `${bytes}` })}`;
}

async function untilOver(tab: Tab, number: number): Promise<FeedRead> {
  for (;;) {
    const read = await call(tab, 'feed', number);
    if (read.isOver) return read;
    await pause(500);
  }
}

/** All its lines came, in order, and the last one as well. */
function expectWhole({ error, lines }: FeedRead, count: number): void {
  expect(error).toBeUndefined();
  const texts = Array.from({ length: count }, (_, index) => expect.stringMatching(`^{"seq":${index + 1},"at":\\d+`));
  expect(lines.map(({ text }) => text)).toEqual([...texts, `{"last_seq":${count}}`]);
}

/** Milliseconds from when a line was made to when it was read. */
function delaysOf({ lines }: FeedRead): number[] {
  return lines.flatMap(({ text, at }) => {
    const madeAt = /"at":(\d+)/.exec(text)?.[1];
    return madeAt === undefined ? [] : at - Number(madeAt);
  });
}
