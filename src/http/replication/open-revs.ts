/** Which revisions `open_revs` asks for (completion 4.1). */
import type { RevId } from '../../documents/contract.ts';
import { parseRevId } from '../../documents/revisions/revisions.ts';
import { DatabaseError } from '../../errors/database-error.ts';
import { parseJson } from '../request/bodies.ts';

export type OpenRevs = 'all' | readonly RevId[];

/** `all` or a list of revisions; undefined where an empty list asks for a plain read. */
export function parseOpenRevs(text: string): OpenRevs | undefined {
  if (text === 'all') return text;
  const list = parseJson(text);
  if (!Array.isArray(list)) {
    throw new DatabaseError('bad_request', `open_revs is ${text}; it must be "all" or a JSON list of revisions.`);
  }
  return list.length === 0 ? undefined : list.map(parseRevId);
}
