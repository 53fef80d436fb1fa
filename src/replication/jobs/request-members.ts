/**
 * Reads the members of a replication request one by one (docs/http/replication.md). A null member counts as missing. All fail with
 * `bad_request`, with the family's wording.
 */
import { DatabaseError } from '../../base/errors/database-error.ts';
import { isObject, type JsonObject, ownMember } from '../../base/json/objects.ts';

export function invalid(reason: string): DatabaseError {
  return new DatabaseError('bad_request', reason);
}

/** Undefined if the member is missing, or null. */
export function memberOf(object: JsonObject, name: string): unknown {
  return ownMember(object, name) ?? undefined;
}

export function booleanMember(object: JsonObject, name: string): boolean | undefined {
  const value = memberOf(object, name);
  if (value === undefined || typeof value === 'boolean') return value;
  throw invalid(`The \`${name}' field must be a boolean.`);
}

/** A string that is not empty. */
export function textMember(object: JsonObject, name: string): string | undefined {
  const value = memberOf(object, name);
  if (value === undefined || (typeof value === 'string' && value !== '')) return value;
  throw invalid(`The \`${name}' field must be a non-empty string.`);
}

export function objectMember(object: JsonObject, name: string): JsonObject | undefined {
  const value = memberOf(object, name);
  if (value === undefined || isObject(value)) return value;
  throw invalid(`The \`${name}' field must be an object.`);
}

export function textsMember(object: JsonObject, name: string): readonly string[] | undefined {
  const value = memberOf(object, name);
  if (value === undefined) return undefined;
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
  throw invalid(`The \`${name}' field must be an array of strings.`);
}

export interface NumberRange {
  readonly lowest: number;
  readonly highest: number;
}

/** A whole number in that range; digits in a string count as one, as in the family. */
export function integerMember(object: JsonObject, name: string, { lowest, highest }: NumberRange): number | undefined {
  const value = memberOf(object, name);
  if (value === undefined) return undefined;
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  if (typeof number === 'number' && Number.isSafeInteger(number) && number >= lowest && number <= highest)
    return number;
  throw invalid(`The \`${name}' field must be a whole number from ${lowest} to ${highest}.`);
}

/** Returns an object's values as strings: strings unchanged, others as JSON. */
export function jsonTextsByName(object: JsonObject): Readonly<Record<string, string>> {
  const entries = Object.entries(object).map(([name, value]): [string, string] => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  return Object.fromEntries(entries);
}

/** Returns an object whose values must all be strings, such as the parameters of a filter. */
export function textsByName(object: JsonObject): Readonly<Record<string, string>> {
  const entries = Object.entries(object).map(([name, value]): [string, string] => {
    if (typeof value === 'string') return [name, value];
    throw invalid(`\`${name}\` value must be a string.`);
  });
  return Object.fromEntries(entries);
}
