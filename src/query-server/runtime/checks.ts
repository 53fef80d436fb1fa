/** What design documents say of single documents: filters, and whether a write may be made. */
import { compile } from './compiling.ts';
import { compiledOnce, designDocument, functionNamed } from './design-document.ts';
import { toFailureText, toValidationFailure } from './failures.ts';
import { SEPARATOR } from './protocol.ts';
import { parse } from './values.ts';

/** `1` for each document that passes, else `0`. */
export function filterBatch(name: string, request: string, text: string): string {
  const filter = functionNamed('filters', name);
  const parsed = parse(request);
  return text
    .split(SEPARATOR)
    .map((document) => (filter.call(designDocument, parse(document), parsed) ? '1' : '0'))
    .join('');
}

/**
 * Takes four texts for each write: the new document, the old one, user context, security object. Gives an outcome for each: empty
 * where it passes, else a failure's text. A function may change what it is given, so each write has its own.
 */
export function validateBatch(text: string): string {
  const kind = 'validate_doc_update';
  const validate = compiledOnce(kind, () => compile(kind, designDocument[kind]));
  const texts = text.split(SEPARATOR);
  const outcomes: string[] = [];
  const parseAt = (at: number) => parse(texts[at] as string);
  for (let at = 0; at < texts.length; at += 4) {
    let outcome = '';
    try {
      validate.call(designDocument, parseAt(at), parseAt(at + 1), parseAt(at + 2), parseAt(at + 3));
    } catch (thrown) {
      const failure = toValidationFailure(thrown);
      if (failure.code === 'memory') throw failure;
      outcome = toFailureText(failure);
    }
    outcomes.push(outcome);
  }
  return outcomes.join(SEPARATOR);
}
