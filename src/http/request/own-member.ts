import type { JsonObject } from './bodies.ts';

/** The object's own member, so that `constructor` and the like are absent unless the client sent them. */
export function ownMember(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
