/** Fields of documents by their paths: names joined by dots, `\.` for a dot inside a name. */
import { isObject, type Json, type JsonObject } from '../server/json.ts';

/** The names of a path. */
export function namesOf(path: string): readonly string[] {
  return path.split(/(?<!\\)\./).map((name) => name.replaceAll('\\.', '.'));
}

export function fieldAt(doc: JsonObject, path: string): Json | undefined {
  let value: Json | undefined = doc;
  for (const name of namesOf(path)) value = memberOf(value, name);
  return value;
}

export function memberOf(value: Json | undefined, name: string): Json | undefined {
  if (Array.isArray(value)) return /^\d+$/.test(name) ? value[Number(name)] : undefined;
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** The paths of the documents' fields, those that most of them have first. Objects are entered one level deep. */
export function fieldsOf(docs: readonly JsonObject[]): readonly string[] {
  const counts = new Map<string, number>();
  const count = (path: string) => counts.set(path, (counts.get(path) ?? 0) + 1);
  for (const doc of docs) {
    for (const [name, value] of Object.entries(doc)) {
      if (name === '_id' || name === '_rev') continue;
      const path = escaped(name);
      count(path);
      if (!isObject(value) || name.startsWith('_')) continue;
      for (const inner of Object.keys(value)) count(`${path}.${escaped(inner)}`);
    }
  }
  return [...counts].toSorted(([, one], [, other]) => other - one).map(([path]) => path);
}

/** The columns of a table whose user has not chosen any. */
export function usualColumns(fields: readonly string[]): readonly string[] {
  return fields.filter((path) => !path.startsWith('_') && namesOf(path).length === 1).slice(0, USUAL_COLUMNS);
}

const USUAL_COLUMNS = 5;

function escaped(name: string): string {
  return name.replaceAll('.', '\\.');
}
