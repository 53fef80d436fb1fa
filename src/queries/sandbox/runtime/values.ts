/** The values that functions of documents pass around: any values at all, about which nothing is known before they are checked. */

export type Members = Readonly<Record<string, unknown>>;

/** A function of a document, once it is compiled. */
export type DocumentFunction = (this: unknown, ...parameters: readonly unknown[]) => unknown;

export const parse: (text: string) => unknown = JSON.parse;

/** Returns undefined for a value that has no JSON text, such as a function. */
export const stringify: (value: unknown) => string | undefined = JSON.stringify;

export function hasOwn(object: object, name: string): boolean {
  return Object.hasOwn(object, name);
}

/** Returns whether a value is an object, or an array. */
export function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null;
}

/** Returns the value's JSON text; `null` for a value that has none. */
export function textOf(value: unknown): string {
  if (typeof value === 'number') return Number.isFinite(value) ? `${value}` : 'null';
  if (value === undefined || value === null) return 'null';
  return stringify(value) ?? 'null';
}

export function shorten(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}

/** Freezes a JSON value with everything in it. */
export function freezeDeep(value: object): void {
  Object.freeze(value);
  for (const member of Object.values(value)) {
    if (typeof member === 'object' && member !== null) freezeDeep(member);
  }
}

/** The helper `sum`: the sum of an array's numbers. */
export function sum(values: readonly number[]): number {
  let total = 0;
  for (let at = 0; at < values.length; at++) total += values[at] as number;
  return total;
}
