/** Functions of design documents about single documents: filters, and whether a write may be made. */

import { toFailureText, toValidationFailure } from './failures.ts';
import { compile, compiledOnce, designDocument, functionNamed } from './functions.ts';
import { SEPARATOR } from './protocol.ts';
import { parse } from './values.ts';

/** Returns `1` for each document that passes, else `0`. */
export function filterBatch(name: string, request: string, text: string): string {
  const filter = functionNamed('filters', name);
  const parsed = parse(request);
  return text
    .split(SEPARATOR)
    .map((document) => (filter.call(designDocument, parse(document), parsed) ? '1' : '0'))
    .join('');
}

/**
 * Takes the new document and the old one of each write, and its user context and security object one after the other. Returns for each an
 * outcome: empty if it passes, else a failure's text. A function may change its arguments, so each write has its own.
 */
export function validateBatch(newTexts: string, oldTexts: string, contextTexts: string): string {
  const kind = 'validate_doc_update';
  const validate = compiledOnce(kind, () => compile(kind, designDocument[kind]));
  const [news, olds, contexts] = [newTexts, oldTexts, contextTexts].map((texts) => texts.split(SEPARATOR));
  const outcomes: string[] = [];
  const parseOf = (texts: readonly string[] | undefined, at: number) => parse(texts?.[at] as string);
  for (let at = 0; at < (news?.length ?? 0); at++) {
    let outcome = '';
    try {
      const [newDocument, oldDocument] = [parseOf(news, at), parseOf(olds, at)];
      validate.call(designDocument, newDocument, oldDocument, parseOf(contexts, 2 * at), parseOf(contexts, 2 * at + 1));
    } catch (thrown) {
      const failure = toValidationFailure(thrown);
      if (failure.code === 'memory') throw failure;
      outcome = toFailureText(failure);
    }
    outcomes.push(outcome);
  }
  return outcomes.join(SEPARATOR);
}
