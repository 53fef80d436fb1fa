/** Entity tags and conditional reads (docs/http/answers.md#etags). */
import { md5 } from '../../database/documents/md5.ts';
import type { Context } from '../request/context.ts';

const UNSENDABLE = /[^ -~]/;
/** Revisions of earlier releases may have millions of characters, and clients take some kilobytes of headers. */
const MAX_TAGGED_LENGTH = 1_024;

/** Whether a revision is short enough for a tag: all that can be written now are. */
export function hasTag(rev: string): boolean {
  return rev.length <= MAX_TAGGED_LENGTH;
}

/** Percent-encodes what a header can't carry in revisions that other services made. */
export function revisionTag(rev: string): string {
  return `"${UNSENDABLE.test(rev) ? rev.replace(/[^ -~]+/g, encodeURIComponent) : rev}"`;
}

/** Returns a tag over everything that the response depends on: `"<base36 of an md5>"`. */
export async function tagOf(inputs: readonly (string | number)[]): Promise<string> {
  const digest = await md5(JSON.stringify(inputs));
  return `"${BigInt(`0x${digest}`).toString(36)}"`;
}

/**
 * A tag of a database at one moment: any change of its documents changes it. It differs between readers that see different parts of them,
 * or that functions were told of: see `readerTag`.
 */
export function momentTag(
  { uuid, instanceStartTime }: { readonly uuid: string; readonly instanceStartTime: string },
  { updateSeq, purgeSeq }: { readonly updateSeq: number; readonly purgeSeq: number },
  readerTag: readonly string[] = [],
): Promise<string> {
  return tagOf([uuid, instanceStartTime, updateSeq, purgeSeq, ...readerTag]);
}

/** What a database's response depends on that differs between its readers; empty if nothing does. `security`: the security object's text. */
export function readerTag(
  { restriction, isUserShown, user }: Context,
  { security }: { readonly security: string },
): readonly string[] {
  const shown = isUserShown ? [user.name ?? '', ...user.roles, security] : [];
  return restriction === undefined ? shown : [...shown, restriction.tag];
}

/** Splits `If-None-Match` at commas and compares literally: no weak matching, and no `*`. */
export function matchesTag(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch === tag || ifNoneMatch.split(',').some((one) => one.trim() === tag);
}
