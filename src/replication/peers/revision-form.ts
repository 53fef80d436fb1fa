/** What ids and revisions of a replicated document look like, in any server of the family. */
import { hasLoneSurrogate } from '../../base/json/portable-values.ts';

const REVISION = /^[1-9]\d{0,15}-[^\p{Cc}\p{Surrogate}]+$/u;

export function isRevision(text: string): boolean {
  return REVISION.test(text);
}

/** Why no replicated document can have the id; undefined where one can. What else a server does not take as an id, it says by itself. */
export function idProblem(id: string): string | undefined {
  if (id === '') return 'an id must not be empty';
  if (hasLoneSurrogate(id)) return 'the id has half of a character';
  // Written without `new_edits`, it would take the place of a document that belongs to the target alone.
  if (id.startsWith('_local/')) return 'local documents are not replicated';
  return undefined;
}
