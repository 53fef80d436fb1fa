import type { RefusedDocument } from '../contract.ts';

/** Maximum characters of an id or a revision, and of an error. Longer ones are cut. */
const LONGEST_NAME = 8_192;
const LONGEST_ERROR = 100;
const LONGEST_REASON = 1_000;

/**
 * Returns a refused document that can be shown and stored, also in checkpoints, whatever a peer named: a lone surrogate becomes U+FFFD, and text
 * that is too long is cut.
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
