/** Saving a draft into a design document, after a review. */
import { review } from '../review/review.tsx';
import { ask, type JsonObject, pathOf } from '../server/client.ts';
import { REPLICATES } from '../server/peers.ts';
import { designDocument, membersOf } from './design-documents.ts';
import type { DraftSource } from './draft-run.ts';

interface DraftTarget {
  readonly database: string;
  /** Of the design document, without `_design/`. */
  readonly name: string;
  readonly view: string;
}

/** `books/years` is the view `years` of `_design/books`. Slashes in a name are escaped. */
export function splitName(of: string): readonly [name: string, view: string] {
  const [name = '', view = ''] = of.split('/').map(decodeURIComponent);
  return [name, view];
}

export function joinName(name: string, view: string): string {
  return [name, view].map(encodeURIComponent).join('/');
}

/** Reviews the write. `done` runs when the draft is stored. */
export async function saveDraft(target: DraftTarget, source: DraftSource, done: () => void): Promise<void> {
  const { database, name, view } = target;
  const found = await designDocument(database, name);
  const before = found?.doc;
  const after = withDraft(before ?? { _id: `_design/${name}`, language: 'javascript' }, view, source);
  const path = pathOf(database, `_design/${name}`);
  const replaces = found?.views.some((one) => one.name === view) === true;
  const others = (found?.views ?? []).filter((one) => one.name !== view).map((one) => one.name);
  review({
    title: `Save the view ${name}/${view}`,
    effects: [
      found === undefined
        ? `_design/${name} is a new design document. It ${REPLICATES}.`
        : `_design/${name} gets a new revision, which replicates to peers.${replaces ? ` The view ${view} that it has now is replaced.` : ''}`,
      others.length === 0
        ? 'The index is empty until it is built: that reads every document once.'
        : `All views of a design document are in one index, here also ${others.join(', ')}. All of it is built again, and the first query waits for that.`,
    ],
    changes: [{ name: `_design/${name}`, before: before && textOf(before), after: textOf(after) }],
    requests: [{ method: 'PUT', path, json: JSON.stringify(after) }],
    action: 'Save',
    adminOf: database,
    apply: async () => {
      await ask('PUT', path, { json: after });
      done();
    },
  });
}

function withDraft(doc: JsonObject, view: string, { map, reduce }: DraftSource): JsonObject {
  const views = membersOf(doc.views);
  const { reduce: _former, ...former } = membersOf(views[view]);
  const definition = { ...former, map, ...(reduce.trim() !== '' && { reduce: reduce.trim() }) };
  return { ...doc, views: { ...views, [view]: definition } };
}

/** Sources as they read, with their lines. */
function textOf(doc: JsonObject): string {
  return JSON.stringify(doc, null, 2).replaceAll('\\n', '\n');
}
