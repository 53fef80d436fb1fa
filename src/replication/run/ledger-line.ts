import type { RefusedDocument } from '../contract.ts';

/** Characters of an id or a revision, and of what is told about it. Longer ones are cut. */
const LONGEST_NAME = 8_192;
const LONGEST_ERROR = 100;
const LONGEST_REASON = 1_000;

/**
 * A refused document as it can be shown and stored, in checkpoints as well, whatever a peer named: half of a character becomes U+FFFD, and what
 * is too long is cut.
 */
export function ledgerLine({ id, rev, error, reason }: RefusedDocument): RefusedDocument {
  return {
    id: storableText(id, LONGEST_NAME),
    rev: storableText(rev, LONGEST_NAME),
    error: storableText(error, LONGEST_ERROR),
    reason: storableText(reason, LONGEST_REASON),
  };
}

export function storableText(text: string, longest: number): string {
  const short = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return short.replace(/\p{Surrogate}/gu, '\ufffd');
}
