/** The choices that followers of changes make, and what each must show in the end. */

/** A document as the database itself has it: its leaves as returned by `showLeaf`, the winner first. */
interface StoredDocument {
  readonly seq: number;
  readonly leaves: readonly string[];
}

export interface FeedFilter {
  /** Parameters of the feed; empty for none. */
  readonly query: string;
  /** JSON text of the request's body; the request is then a POST. */
  readonly body?: string;
  /** Whether a leaf of the document is listed. */
  passes(name: string, body: { readonly n?: number }): boolean;
}

export const FILTER_DESIGN = '_design/filters';

/** Members of the design document `FILTER_DESIGN`, which must exist: its functions choose by the number `n` of each leaf. */
export const FILTER_FUNCTIONS = {
  filters: { some: 'function (doc, req) { return doc.n > 4 && req.query.from === "test"; }' },
  views: { some: { map: 'function (doc) { if (doc.n > 4) emit(doc.n, null); }' } },
};

/** `ids`: those that the filter by ids chooses. */
export function allFilters(ids: readonly string[]): readonly FeedFilter[] {
  const byNumber = (_name: string, { n = 0 }: { readonly n?: number }) => n > 4;
  return [
    { query: '', passes: () => true },
    { query: 'filter=_design', passes: (name) => name.startsWith('_design/') },
    { query: `filter=_doc_ids&doc_ids=${JSON.stringify(ids)}`, passes: (name) => ids.includes(name) },
    { query: 'filter=filters/some&from=test', passes: byNumber },
    { query: 'filter=_view&view=filters/some', passes: byNumber },
    { query: 'filter=_selector', body: '{"selector":{"n":{"$gt":4}}}', passes: byNumber },
  ];
}

/** How a row represents a document: its number, the first listed revision, and whether the winner is deleted. */
export function shownRow(seq: number, rev: string, deleted: boolean): string {
  return `${seq} ${rev}${deleted ? '!' : ''}`;
}

/** The expected last row of the document; undefined if the filter lets none of its leaves pass. */
export function lastRow({ passes }: FeedFilter, name: string, { seq, leaves }: StoredDocument): string | undefined {
  const read = leaves.map((leaf) => {
    const [, rev = '', mark = '', body = '{}'] = /^([^!=]*)(!?)=(.*)$/s.exec(leaf) ?? [];
    return { rev, isDeleted: mark === '!', body: JSON.parse(body) };
  });
  const listed = read.find(({ body }) => passes(name, body));
  return listed && shownRow(seq, listed.rev, read[0]?.isDeleted === true);
}
