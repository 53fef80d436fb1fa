/** Throws when an invariant of the program itself does not hold. Never used for external input. */
export function assert(condition: unknown, message: string | (() => string)): asserts condition {
  if (!condition) throw new Error(`Invariant broken: ${typeof message === 'string' ? message : message()}`);
}

/** Returns `value`, which the program's own logic has shown to exist. */
export function must<T>(value: T | undefined | null, message = 'a value was expected'): T {
  assert(value !== undefined && value !== null, message);
  return value;
}
