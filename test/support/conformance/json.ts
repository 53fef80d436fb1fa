import { assert } from 'chai';

/** Reads single members of a response's JSON, whose type is unknown. A path that leads nowhere returns undefined. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>((inner, step) => {
    if (typeof inner !== 'object' || inner === null) return undefined;
    return Object.getOwnPropertyDescriptor(inner, step)?.value;
  }, value);
}

export function stringAt(value: unknown, ...path: readonly (string | number)[]): string {
  const found = at(value, ...path);
  if (typeof found === 'string') return found;
  assert.fail(`a string was expected at ${path.join('.')} of ${JSON.stringify(value)}`);
}

export function numberAt(value: unknown, ...path: readonly (string | number)[]): number {
  const found = at(value, ...path);
  if (typeof found === 'number') return found;
  assert.fail(`a number was expected at ${path.join('.')} of ${JSON.stringify(value)}`);
}

export function arrayAt(value: unknown, ...path: readonly (string | number)[]): readonly unknown[] {
  const found = at(value, ...path);
  if (Array.isArray(found)) return found;
  assert.fail(`an array was expected at ${path.join('.')} of ${JSON.stringify(value)}`);
}

/** Parses text that must be JSON, with the text in the failure's message. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    assert.fail(`JSON was expected, but this came: ${JSON.stringify(text.slice(0, 500))}`);
  }
}
