/**
 * Compares secrets. The time that it takes depends only on the length of what is compared, so that it does not reveal how
 * much of a guess is correct.
 */
export function areEqualSecrets(one: string, other: string): boolean {
  let difference = one.length ^ other.length;
  for (let at = 0; at < one.length; at++) difference |= one.charCodeAt(at) ^ other.charCodeAt(at % (other.length || 1));
  return difference === 0;
}

/** Like `areEqualSecrets`, for bytes. */
export function areEqualSecretBytes(one: Uint8Array, other: Uint8Array): boolean {
  let difference = one.length ^ other.length;
  for (let at = 0; at < one.length; at++) difference |= (one[at] ?? 0) ^ (other[at % (other.length || 1)] ?? 0);
  return difference === 0;
}
