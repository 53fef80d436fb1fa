/** An object as `JSON.parse` returns it. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Returns whether a JSON value is an object; arrays and null are not. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the object's own member: undefined for `constructor` and other inherited names that its text does not have. */
export function ownMember(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
