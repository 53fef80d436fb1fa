/** The attachments of a document that came without their content: which of them the target lacks. */
import { isObject } from '../../../json/objects.ts';
import type { Stub } from '../contract.ts';
import { memberText } from './document-text.ts';

/** Undefined where the document has none. `since`: revisions that the target has. Throws `SyntaxError` where the document is malformed. */
export function readStubs(text: string, since: readonly string[]): readonly Stub[] | undefined {
  // A look at the whole text is much quicker than a walk over it.
  if (!text.includes('"_attachments"')) return undefined;
  const attachments: unknown = JSON.parse(memberText(text, '_attachments') ?? 'null');
  if (!isObject(attachments)) return undefined;
  const known = since.length === 0 ? 0 : knownGeneration(text, since);
  const stubs = Object.entries(attachments).map(([name, value]) => {
    const entry = isObject(value) ? value : {};
    const { revpos, length } = entry;
    // An entry that doesn't say when it was written may be newer than anything.
    const isMissing = typeof revpos !== 'number' || revpos > known;
    return { name, length: typeof length === 'number' ? length : 0, entry, isMissing };
  });
  return stubs.length === 0 ? undefined : stubs;
}

/** Of the newest of the revisions that is an ancestor of the document's. */
function knownGeneration(text: string, since: readonly string[]): number {
  const revisions: unknown = JSON.parse(memberText(text, '_revisions') ?? 'null');
  if (!isObject(revisions)) return 0;
  const { start, ids } = revisions;
  if (typeof start !== 'number' || !Array.isArray(ids)) return 0;
  let known = 0;
  for (const rev of since) {
    const generation = Number.parseInt(rev, 10);
    if (ids[start - generation] === rev.slice(rev.indexOf('-') + 1)) known = Math.max(known, generation);
  }
  return known;
}
