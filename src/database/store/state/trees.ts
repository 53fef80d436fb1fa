import { compareCodePoints } from '../../../base/collation/code-points.ts';
import type { EntryList, TreeSpec } from '../../../storage/btree/contract.ts';

/**
 * Four of the five trees of a database file, as specifications for `btree/` (attachments-tree.ts has the fifth):
 * by-id (documents in the order of their ids' UTF-8 bytes), by-seq (changes in the order they happened), locals (`_local` documents and
 * settings), and space (how many live bytes each body page holds).
 */

/** What by-id knows of a range: its live and its deleted documents. */
export interface DocumentCounts {
  readonly live: number;
  readonly deleted: number;
}

/** What space knows of a range of body pages. `least` is the smallest share of live bytes, in thousandths. */
export interface SpaceUse {
  readonly total: number;
  readonly live: number;
  readonly least: number;
}

const LIVE = 'l'.charCodeAt(0);

/** Whether a by-id value is of a document whose winner is live; decodes nothing. */
export function isLiveEntry(value: string): boolean {
  return value.charCodeAt(0) === LIVE;
}

function countLive(values: readonly string[]): number {
  let live = 0;
  for (const value of values) if (isLiveEntry(value)) live++;
  return live;
}

function escapeCharacter(character: string): string {
  return `\\${character === '\\' ? '\\' : character.charCodeAt(0).toString(16).padStart(2, '0')}`;
}

/** Encodes text as a key without control characters; most ids are their own key. */
function encodeTextKey(key: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what has to be found
  return /[\u0000-\u001f\\]/.test(key) ? key.replace(/[\u0000-\u001f\\]/g, escapeCharacter) : key;
}

function decodeTextKey(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(/\\(\\|[0-9a-f]{2})/g, (_match, escaped: string) =>
    escaped === '\\' ? '\\' : String.fromCharCode(Number.parseInt(escaped, 16)),
  );
}

/** Returns the shortest text above `left` and at most `right`: right's prefix up to the first code point that differs. */
function separateText(left: string, right: string): string {
  let length = 0;
  while (length < left.length && left.charCodeAt(length) === right.charCodeAt(length)) length++;
  const unit = right.charCodeAt(length);
  const isHighSurrogate = unit >= 0xd800 && unit <= 0xdbff;
  return right.slice(0, length + (isHighSurrogate ? 2 : 1));
}

export const byIdSpec: TreeSpec<string, DocumentCounts> = {
  compare: compareCodePoints,
  encodeKey: encodeTextKey,
  decodeKey: decodeTextKey,
  separator: separateText,
  reduce(entries: EntryList<string>): DocumentCounts {
    let live = 0;
    for (let index = 0; index < entries.length; index++) if (isLiveEntry(entries.value(index))) live++;
    return { live, deleted: entries.length - live };
  },
  rereduce(reductions) {
    let live = 0;
    let deleted = 0;
    for (const counts of reductions) {
      live += counts.live;
      deleted += counts.deleted;
    }
    return { live, deleted };
  },
  adjust({ live, deleted }, former, added) {
    const liveChange = countLive(added) - countLive(former);
    return { live: live + liveChange, deleted: deleted + added.length - former.length - liveChange };
  },
  encodeReduction: (counts) => `${counts.live},${counts.deleted}`,
  decodeReduction(text) {
    const comma = text.indexOf(',');
    return { live: Number(text.slice(0, comma)), deleted: Number(text.slice(comma + 1)) };
  },
};

const compareNumbers = (left: number, right: number): number => left - right;
const encodeNumber = (key: number): string => key.toString(36);
const decodeNumber = (text: string): number => Number.parseInt(text, 36);

export const bySeqSpec: TreeSpec<number, number> = {
  compare: compareNumbers,
  encodeKey: encodeNumber,
  decodeKey: decodeNumber,
  reduce: (entries) => entries.length,
  rereduce: (counts) => counts.reduce((sum, count) => sum + count, 0),
  adjust: (count, former, added) => count + added.length - former.length,
};

export const localsSpec: TreeSpec<string, number> = {
  compare: compareCodePoints,
  encodeKey: encodeTextKey,
  decodeKey: decodeTextKey,
  reduce: (entries) => entries.length,
  rereduce: (counts) => counts.reduce((sum, count) => sum + count, 0),
  adjust: (count, former, added) => count + added.length - former.length,
};

export interface PageSpace {
  /** Bytes of bodies in the page. */
  readonly total: number;
  /** Bytes of bodies that belong to a leaf revision. */
  readonly live: number;
}

export function encodeSpace(space: PageSpace): string {
  return `${space.total},${space.live}`;
}

export function decodeSpace(value: string): PageSpace {
  const comma = value.indexOf(',');
  return { total: Number(value.slice(0, comma)), live: Number(value.slice(comma + 1)) };
}

/**
 * `fullPageBytes` is the target size of a body page: a page that was closed early counts as garbage for the rest, so that
 * small pages are gathered into full ones.
 */
export function createSpaceSpec(fullPageBytes: number): TreeSpec<number, SpaceUse> {
  return {
    compare: compareNumbers,
    encodeKey: encodeNumber,
    decodeKey: decodeNumber,
    reduce(entries) {
      let [total, live, least] = [0, 0, 1000];
      for (let index = 0; index < entries.length; index++) {
        const space = decodeSpace(entries.value(index));
        total += space.total;
        live += space.live;
        least = Math.min(least, Math.floor((1000 * space.live) / Math.max(space.total, fullPageBytes, 1)));
      }
      return { total, live, least };
    },
    rereduce(reductions) {
      let [total, live, least] = [0, 0, 1000];
      for (const use of reductions) {
        total += use.total;
        live += use.live;
        least = Math.min(least, use.least);
      }
      return { total, live, least };
    },
    encodeReduction: (use) => `${use.total},${use.live},${use.least}`,
    decodeReduction(text) {
      const [total, live, least] = text.split(',', 3);
      return { total: Number(total), live: Number(live), least: Number(least) };
    },
  };
}
