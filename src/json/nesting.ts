/** Bounds on how deep values may be nested that are compared or written out by recursion. */

/** Far beyond what anyone means, far below what a stack holds. */
const MAX_DEPTH = 1_000;

/** Whether a JSON value, and all in it, is nested no deeper than that. */
export function isShallow(value: unknown, depthLeft = MAX_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (depthLeft === 0) return false;
  const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  return members.every((member) => isShallow(member, depthLeft - 1));
}

/** As `isShallow`, for a JSON text. */
export function isShallowText(text: string): boolean {
  return text.length <= 2 * MAX_DEPTH || isShallow(JSON.parse(text));
}
