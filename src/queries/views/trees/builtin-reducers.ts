import type { CompareKeys } from '../../../base/collation/key-order.ts';
import { DatabaseError } from '../../../base/errors/database-error.ts';
import { parseInSteps } from '../../../base/json/parse-in-steps.ts';
import { must } from '../../../base/shared/assert.ts';
import { sortInSteps } from '../../../base/shared/sort-in-steps.ts';
import type { CooperativeTask } from '../../../base/shared/turn.ts';
import { createStatsReducer, createSumReducer } from './number-reducers.ts';
import { checkedReduction, LongReductions, type Reducer, valueTexts } from './reducer.ts';

/** `_first`: the value of the row with the smallest key. */
const firstReducer: Reducer = {
  reduce: (rows) => checkedReduction('_first', rows.valueText(0)),
  rereduce: (values) => must(values[0]),
};

/** `_last`: the value of the row with the greatest key. */
const lastReducer: Reducer = {
  reduce: (rows) => checkedReduction('_last', rows.valueText(rows.length - 1)),
  rereduce: (values) => must(values.at(-1)),
};

/** `_top_N` (`descending`) and `_bottom_N`: a list of the N greatest, or smallest, values in the view's order. */
function createExtremesReducer(count: number, descending: boolean, compareKeys: CompareKeys): Reducer {
  const compare: CompareKeys = descending ? (left, right) => compareKeys(right, left) : compareKeys;
  const name = `_${descending ? 'top' : 'bottom'}_${count}`;
  const long = new LongReductions();
  function* select(values: readonly unknown[]): CooperativeTask<string> {
    const sorted = yield* sortInSteps(values, compare);
    return checkedReduction(name, JSON.stringify(sorted.slice(0, count)));
  }
  function* selectValues(texts: readonly string[]): CooperativeTask<string> {
    return yield* select(yield* parseAll(texts));
  }
  function* selectOfLists(texts: readonly string[]): CooperativeTask<string> {
    const lists = (yield* parseAll(texts)) as readonly unknown[][];
    return yield* select(lists.flat());
  }
  return {
    reduce: (rows) => long.of('reduce', valueTexts(rows), selectValues),
    rereduce: (lists) => long.of('rereduce', lists, selectOfLists),
  };
}

function* parseAll(texts: readonly string[]): CooperativeTask<unknown[]> {
  const values: unknown[] = [];
  for (const text of texts) {
    values.push(yield* parseInSteps(text));
    yield;
  }
  return values;
}

/** `_count`: how many rows there are. */
const countReducer: Reducer = {
  reduce: (rows) => String(rows.length),
  rereduce: (counts) => String(counts.reduce((sum, count) => sum + Number(count), 0)),
};

/** By how their names begin. No name begins with another one. */
const BY_NAME: ReadonlyMap<string, () => Reducer> = new Map([
  ['_approx_count_distinct', () => distinctReducer],
  ['_count', () => countReducer],
  ['_sum', createSumReducer],
  ['_stats', createStatsReducer],
  ['_first', () => firstReducer],
  ['_last', () => lastReducer],
]);

const EXTREMES = /^_(top|bottom)_([1-9]\d?|100)(?!\d)/;

/** Returns whether a `reduce` member is the name of a built-in reduce, and not a source. */
export function isBuiltinReduce(reduce: string): boolean {
  return reduce.trim().startsWith('_');
}

/**
 * Creates a built-in reduce. Only how the name begins counts, because old design documents have more after it. Fails with
 * `bad_request` if it begins with no built-in name.
 */
export function builtinReducer(reduce: string, compareKeys: CompareKeys): Reducer {
  const name = reduce.trim();
  for (const [beginning, create] of BY_NAME) if (name.startsWith(beginning)) return create();
  const [, side, count] = EXTREMES.exec(name) ?? [];
  if (side !== undefined) return createExtremesReducer(Number(count), side === 'top', compareKeys);
  throw new DatabaseError(
    'bad_request',
    `"${name}" is not a built-in reduce. There are ${[...BY_NAME.keys()].join(', ')}, _top_N and _bottom_N (N from 1 to 100).`,
  );
}

/** With 2,048 registers the standard error of the estimate is about 2.3 per cent (1.04 / √2048). */
const PRECISION = 11;
const REGISTERS = 2 ** PRECISION;
/** Bits of the hash in which leading zeros are counted. */
const RANK_BITS = 32;
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** The bias correction for 2,048 registers. */
const ALPHA = 0.7213 / (1 + 1.079 / REGISTERS);
/** The first character: of a list of single registers, and of all registers. */
const SPARSE = 's';
const DENSE = 'd';
/** A list has three digits for each register, so up to this many it is shorter than all registers. */
const MAX_SPARSE = Math.floor(REGISTERS / 3) - 1;

/**
 * `_approx_count_distinct`: estimates how many different keys there are, by HyperLogLog (Flajolet and others, 2007). A
 * reduction is the text of the registers; if only a few are filled, these are listed.
 */
const distinctReducer: Reducer = {
  reduce(rows) {
    const registers = new Uint8Array(REGISTERS);
    for (let index = 0; index < rows.length; index++) addKey(registers, rows.keyText(index));
    return encodeRegisters(registers);
  },
  rereduce(reductions) {
    const registers = new Uint8Array(REGISTERS);
    for (const text of reductions) merge(registers, text);
    return encodeRegisters(registers);
  },
  result(reduction) {
    const registers = new Uint8Array(REGISTERS);
    merge(registers, reduction);
    return String(estimate(registers));
  },
};

function addKey(registers: Uint8Array, key: string): void {
  const register = hash(key, 0x9e3779b9) >>> (32 - PRECISION);
  const rank = Math.min(Math.clz32(hash(key, 0x85ebca6b)) + 1, RANK_BITS + 1);
  if (rank > must(registers[register])) registers[register] = rank;
}

/** A hash of 32 bits: MurmurHash3 over the code units of the text. */
function hash(text: string, seed: number): number {
  let state = seed;
  for (let index = 0; index < text.length; index++) {
    let unit = Math.imul(text.charCodeAt(index), 0xcc9e2d51);
    unit = (unit << 15) | (unit >>> 17);
    state ^= Math.imul(unit, 0x1b873593);
    state = (state << 13) | (state >>> 19);
    state = (Math.imul(state, 5) + 0xe6546b64) | 0;
  }
  state ^= text.length;
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
  return (state ^ (state >>> 16)) >>> 0;
}

function encodeRegisters(registers: Uint8Array): string {
  const filled = registers.reduce((count, rank) => count + (rank > 0 ? 1 : 0), 0);
  let text = filled <= MAX_SPARSE ? SPARSE : DENSE;
  for (const [register, rank] of registers.entries()) {
    if (filled > MAX_SPARSE) text += digit(rank);
    else if (rank > 0) text += digit(register >>> 6) + digit(register & 63) + digit(rank);
  }
  return text;
}

function merge(registers: Uint8Array, text: string): void {
  const isSparse = text.startsWith(SPARSE);
  for (let at = 1; at < text.length; at += isSparse ? 3 : 1) {
    const register = isSparse ? digitAt(text, at) * 64 + digitAt(text, at + 1) : at - 1;
    const rank = digitAt(text, isSparse ? at + 2 : at);
    if (rank > must(registers[register])) registers[register] = rank;
  }
}

function digit(value: number): string {
  return must(DIGITS[value]);
}

function digitAt(text: string, at: number): number {
  return DIGITS.indexOf(text.charAt(at));
}

function estimate(registers: Uint8Array): number {
  let sum = 0;
  let empty = 0;
  for (const rank of registers) {
    sum += 2 ** -rank;
    if (rank === 0) empty++;
  }
  const raw = (ALPHA * REGISTERS * REGISTERS) / sum;
  // A small number is estimated from the number of empty registers (linear counting).
  const isFew = raw <= 2.5 * REGISTERS && empty > 0;
  return Math.round(isFew ? REGISTERS * Math.log(REGISTERS / empty) : raw);
}
