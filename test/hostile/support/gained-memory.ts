let gained: number | undefined;

/** Bytes of memory that servers gained while something was measured. */
export function noteGained(bytes: number): void {
  gained = Math.max(gained ?? 0, bytes);
}

/** The most since it was asked last; undefined where nothing was measured. */
export function takeGained(): number | undefined {
  const bytes = gained;
  gained = undefined;
  return bytes;
}
