/**
 * JSON whose numbers keep all their digits: a bulk change reads whole documents and writes them back, and must not turn 12345678901234567890
 * into 12345678901234567000. Where the browser can't keep a number, the document says so.
 */
import { isObject, type Json, type JsonObject } from '../../server/json.ts';

type ToRaw = (text: string) => unknown;

/** `JSON.rawJSON`, which newer browsers have: `JSON.stringify` writes such a value as the text it was made of. */
const toRaw: unknown = Reflect.get(JSON, 'rawJSON');

/** Parses JSON. Numbers that would lose digits become values that `JSON.stringify` writes as they were, where the browser can. */
export function parseExact<T>(text: string, raw: unknown = toRaw): T {
  if (typeof raw !== 'function') return JSON.parse(text);
  const keep: ToRaw = (source) => raw.call(JSON, source);
  return JSON.parse(text, (_, value: unknown, context?: { readonly source?: string }) => {
    const source = context?.source;
    return typeof value === 'number' && source !== undefined && `${value}` !== source ? keep(source) : value;
  });
}

/** Whether a number of what `parseExact` returned may have lost digits: in browsers that can't keep them. */
export function mayHaveLostDigits(value: Json | undefined, raw: unknown = toRaw): boolean {
  if (typeof raw === 'function') return false;
  if (typeof value === 'number') return Math.abs(value) > Number.MAX_SAFE_INTEGER;
  if (Array.isArray(value)) return value.some((one) => mayHaveLostDigits(one, raw));
  return isObject(value) && Object.values(value).some((one) => mayHaveLostDigits(one, raw));
}

/** Whether it is a number that is kept as its text. */
export function isRaw(value: unknown): boolean {
  const isRawJson: unknown = Reflect.get(JSON, 'isRawJSON');
  return typeof isRawJson === 'function' && isRawJson.call(JSON, value) === true;
}

/** Whether two values are the same, wherever their members stand. */
export function isSame(one: Json | undefined, other: Json | undefined): boolean {
  if (!isObject(one) || !isObject(other) || isRaw(one) || isRaw(other)) return isSameList(one, other);
  const [names, others] = [membersOf(one), membersOf(other)];
  return (
    names.length === others.length && names.every((name) => other[name] !== undefined && isSame(one[name], other[name]))
  );
}

function isSameList(one: Json | undefined, other: Json | undefined): boolean {
  if (!Array.isArray(one) || !Array.isArray(other)) return JSON.stringify(one) === JSON.stringify(other);
  return one.length === other.length && one.every((value, index) => isSame(value, other[index]));
}

function membersOf(value: JsonObject): readonly string[] {
  return Object.keys(value).filter((name) => value[name] !== undefined);
}
