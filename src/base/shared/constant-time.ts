/**
 * Compares secrets. The time that it takes depends on the length of what is compared and on nothing else, so that it tells nobody how
 * much of a guess is right.
 */
export function areEqualSecrets(one: string, other: string): boolean {
  let difference = one.length ^ other.length;
  for (let at = 0; at < one.length; at++) difference |= one.charCodeAt(at) ^ other.charCodeAt(at % (other.length || 1));
  return difference === 0;
}

/** As `areEqualSecrets`, of bytes. */
export function areEqualSecretBytes(one: Uint8Array, other: Uint8Array): boolean {
  let difference = one.length ^ other.length;
  for (let at = 0; at < one.length; at++) difference |= (one[at] ?? 0) ^ (other[at % (other.length || 1)] ?? 0);
  return difference === 0;
}
