/**
 * Documents as clients get them: the members that begin with `_` in front of the stored body, whose text is passed on
 * as it is. Nothing is parsed.
 */
interface OutgoingDocument {
  readonly id: string;
  readonly rev: string;
  readonly deleted: boolean;
  /** Minified JSON object text. */
  readonly body: string;
  /** Text of further members, each with a comma in front (`metaText`). */
  readonly members?: string | undefined;
}

/** The document's JSON text: `_id`, `_rev`, `_deleted` (only if true), then the further members, then the body's. */
export function writeDocument(document: OutgoingDocument): string {
  return writeQuoted(JSON.stringify(document.id), JSON.stringify(document.rev), document);
}

/** As `writeDocument`, with an id and a revision that are JSON text already. */
export function writeQuoted(id: string, rev: string, document: Omit<OutgoingDocument, 'id' | 'rev'>): string {
  const { body, members = '' } = document;
  const head = `{"_id":${id},"_rev":${rev}`;
  const deleted = document.deleted ? ',"_deleted":true' : '';
  return body === '{}' ? `${head}${deleted}${members}}` : `${head}${deleted}${members},${body.slice(1)}`;
}
