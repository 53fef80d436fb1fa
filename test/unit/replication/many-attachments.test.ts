/** Documents with very many attachments are read and written in steps, between which others have their turns. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { atOnce, type CooperativeTask, nextTurn } from '../../../src/base/shared/turn.ts';
import type { Stub } from '../../../src/replication/peers/contract.ts';
import { checkInline } from '../../../src/replication/peers/documents/content-check.ts';
import { attachmentNames, readDocumentText } from '../../../src/replication/peers/documents/document-text.ts';
import { relatedBody, withFollowing } from '../../../src/replication/peers/documents/related-writer.ts';
import { foundDocument } from '../../../src/replication/peers/documents/requested-document.ts';

const COUNT = 30_000;
const DIGEST = 'md5-1B2M2Y8AsgTpgAmY7PhCfg==';
/** Characters that a step may go over before it yields: 16 steps for a megabyte. */
const STEP = 65_536;

function documentWith(count: number): string {
  const entries = Array.from(
    { length: count },
    (_, n) => `"a${n}":{"content_type":"image/png","revpos":1,"digest":"${DIGEST}","length":0,"stub":true}`,
  );
  return `{"_id":"doc","_rev":"1-a","_revisions":{"start":1,"ids":["a"]},"_attachments":{${entries.join(',')}}}`;
}

const wanted = { id: 'doc', revs: ['1-a'], since: [] };
const asked = { wanted, revs: new Set(wanted.revs) };

function stub(name: string): Stub {
  const entry = { content_type: 'image/png', revpos: 1, digest: DIGEST };
  return { name, length: 0, digest: DIGEST, isEncoded: false, entry, isMissing: true };
}

/** How often the work yields, and its result. */
function stepsOf<T>(work: CooperativeTask<T>): { readonly steps: number; readonly result: T } {
  for (let steps = 0; ; steps++) {
    const { done, value } = work.next();
    if (done === true) return { steps, result: value };
  }
}

describe('a document with 30,000 attachments', () => {
  const text = documentWith(COUNT);

  test('is read in steps', () => {
    const { steps, result } = stepsOf(readDocumentText(text));
    // Its members are looked for in steps, and its attachments are parsed in steps.
    expect(steps).toBeGreaterThan((2 * text.length) / STEP - 4);
    expect(result).toMatchObject({ id: 'doc', rev: '1-a', text });
    expect(Object.keys(result.attachments ?? {})).toHaveLength(COUNT);
    expect(result.attachments?.['a29999']).toEqual({
      content_type: 'image/png',
      revpos: 1,
      digest: DIGEST,
      length: 0,
      stub: true,
    });
  });

  test('has its stubs checked in steps', () => {
    const reading = stepsOf(readDocumentText(text)).steps;
    const { steps, result } = stepsOf(foundDocument(text, asked, false));
    expect(steps - reading).toBe(Math.floor(COUNT / 256));
    expect(result).toMatchObject({ type: 'document', settles: ['1-a'] });
    if (result.type === 'document') expect(result.stubs).toHaveLength(COUNT);
  });

  test('has its names listed in steps, in the order of the text', () => {
    const { steps, result } = stepsOf(attachmentNames(text));
    expect(steps).toBeGreaterThan(text.length / STEP - 4 + COUNT / 256 - 1);
    expect([result[0], result[29_999]]).toEqual(['a0', 'a29999']);
  });

  test('gets its attachments announced in steps', () => {
    const kept = Array.from({ length: COUNT }, (_, n) => stub(`a${n}`));
    const { steps, result } = stepsOf(withFollowing(text, [], kept));
    expect(steps).toBeGreaterThan(text.length / STEP - 4 + COUNT / 256 - 1);
    expect(result.slice(0, 100)).toBe(
      '{"_attachments":{"a0":{"content_type":"image/png","revpos":1,"digest":"md5-1B2M2Y8AsgTpgAmY7PhCfg=="',
    );
    expect(result.endsWith('},"_id":"doc","_rev":"1-a","_revisions":{"start":1,"ids":["a"]}}')).toBe(true);
  });

  test('is sent in pieces', async () => {
    const decoder = new TextDecoder();
    let sent = '';
    let longest = 0;
    for await (const piece of relatedBody('b', text, [], () => expect.unreachable('nothing follows'))) {
      longest = Math.max(longest, piece.length);
      sent += decoder.decode(piece, { stream: true });
    }
    expect(longest).toBeLessThanOrEqual(131_072);
    expect(sent).toBe(`--b\r\nContent-Type: application/json\r\n\r\n${text}\r\n--b--\r\n`);
  });
});

describe('a short document', () => {
  test('is read in one step', () => {
    const text = documentWith(2);
    expect(stepsOf(foundDocument(text, asked, false)).steps).toBe(0);
    expect(stepsOf(attachmentNames(text))).toEqual({ steps: 0, result: ['a0', 'a1'] });
  });
});

describe('a long document that is malformed', () => {
  const long = `"text":"${'x'.repeat(100_000)}"`;
  test.each([
    ['has no revision', `{"_id":"doc",${long}}`, 'it has no _rev'],
    ['has a member twice', `{"_id":"doc",${long},"_id":"other","_rev":"1-a"}`, 'it has _id twice'],
    ['is a list', `[{${long}}]`, 'it is not an object'],
    [
      'has attachments that are nested very deeply',
      `{"_id":"doc","_rev":"1-a","_attachments":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}`,
      'The JSON has arrays and objects in more than 1000 levels; send what is nested deeper as a string.',
    ],
    [
      'has an attachment with an endless number',
      `{"_id":"doc","_rev":"1-a","_attachments":{"a":${'1'.repeat(1_100_000)}}}`,
      'A number has more than 1048576 characters. Send it as a string.',
    ],
  ])('and %s is refused', (_what, text, message) => {
    expect(() => atOnce(readDocumentText(text))).toThrow(new SyntaxError(message));
  });
});

describe('the content of very many attachments', () => {
  let now = 0;

  // Begins in a turn that no other work has held.
  beforeEach(async () => {
    await nextTurn();
    await nextTurn();
    now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
  });

  afterEach(() => {
    vi.restoreAllMocks();
  });

  test('is checked in turns', async () => {
    const names = Array.from({ length: 1_000 }, (_, n) => `a${n}`);
    // Each check takes a millisecond.
    const entry = {
      get data() {
        now += 1;
        return '';
      },
    };
    let isOver = false;
    const checking = checkInline(Object.fromEntries(names.map((name) => [name, entry])), names.map(stub)).then(() => {
      isOver = true;
    });
    let turns = 0;
    for (; !isOver; turns++) await nextTurn();
    await checking;
    expect(turns).toBeGreaterThanOrEqual(100);
  });
});
