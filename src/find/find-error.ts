import { WordedError } from '../errors/database-error.ts';

/** A selector query that can't be carried out: 400, with the words that this interface family has for it (completion 23). */
export function refusal(word: string, reason: string): WordedError {
  return new WordedError('bad_request', word, reason);
}

export function badArgument(operator: string, argument: unknown, remedy: string): WordedError {
  return refusal('bad_arg', `Bad argument for operator ${operator}: ${shown(argument)}. ${remedy}`);
}

/** A value within the text of an error: its JSON, cut where it is long. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

const MAX_SHOWN = 200;
