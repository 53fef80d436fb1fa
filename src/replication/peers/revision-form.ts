/** The form of ids and revisions of a replicated document, in any server of the family. */
import { hasLoneSurrogate } from '../../base/json/portable-values.ts';

const REVISION = /^[1-9]\d{0,15}-[^\p{Cc}\p{Surrogate}]+$/u;

export function isRevision(text: string): boolean {
  return REVISION.test(text);
}

/** Returns why no replicated document can have the id; undefined if one can. A server reports other ids that it does not accept. */
export function idProblem(id: string): string | undefined {
  if (id === '') return 'an id must not be empty';
  if (hasLoneSurrogate(id)) return 'the id has half of a character';
  // Written without `new_edits`, it would replace a document that belongs only to the target.
  if (id.startsWith('_local/')) return 'local documents are not replicated';
  return undefined;
}
