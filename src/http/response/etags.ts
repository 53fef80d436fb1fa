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

/** What a header can't carry, in what other services made, is percent-encoded. */
export function revisionTag(rev: string): string {
  return `"${UNSENDABLE.test(rev) ? rev.replace(/[^ -~]+/g, encodeURIComponent) : rev}"`;
}

/** A tag over everything that the answer depends on: `"<base36 of an md5>"`. */
export async function tagOf(inputs: readonly (string | number)[]): Promise<string> {
  const digest = await md5(JSON.stringify(inputs));
  return `"${BigInt(`0x${digest}`).toString(36)}"`;
}

/**
 * A tag of a database at one moment: any change of its documents changes it. It is another one for each reader who sees other parts of them,
 * or of whom functions were told: `readerTag` has what that depends on.
 */
export function momentTag(
  { uuid, instanceStartTime }: { readonly uuid: string; readonly instanceStartTime: string },
  { updateSeq, purgeSeq }: { readonly updateSeq: number; readonly purgeSeq: number },
  readerTag: readonly string[] = [],
): Promise<string> {
  return tagOf([uuid, instanceStartTime, updateSeq, purgeSeq, ...readerTag]);
}

/** What an answer of a database depends on that not all of its readers get alike; empty where they do. `security`: the security object's text. */
export function readerTag(
  { shield, isUserShown, user }: Context,
  { security }: { readonly security: string },
): readonly string[] {
  const shown = isUserShown ? [user.name ?? '', ...user.roles, security] : [];
  return shield === undefined ? shown : [...shown, shield.tag];
}

/** `If-None-Match` is split at commas and compared literally: neither weak matching nor `*`. */
export function matchesTag(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch === tag || ifNoneMatch.split(',').some((one) => one.trim() === tag);
}
