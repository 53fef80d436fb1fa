/** The design documents of a database, and their views. */
import { ask, type Json, type JsonObject, pathOf, withQuery } from '../server/client.ts';
import { isMissingEndpoint } from '../server/session.ts';

export interface DesignView {
  readonly name: string;
  readonly map: string;
  readonly reduce: string | undefined;
}

export interface DesignDocument {
  /** Without `_design/`. */
  readonly name: string;
  /** `query`: it holds indexes of selectors. */
  readonly language: string;
  readonly views: readonly DesignView[];
  readonly doc: JsonObject;
}

/** Design documents of one page. */
export const PER_PAGE = 100;

/** `skip`: how many come before. Returns one more than a page if there are more. */
export async function designDocuments(
  database: string,
  skip: number,
  signal?: AbortSignal,
): Promise<readonly DesignDocument[]> {
  const page = { include_docs: true, skip, limit: PER_PAGE + 1 };
  type Response = { readonly rows: readonly { readonly doc?: JsonObject | null }[] };
  const read = (path: string) => ask<Response>('GET', path, { signal });
  const { rows } = await read(withQuery(pathOf(database, '_design_docs'), page)).catch((failure: unknown) => {
    if (!isMissingEndpoint(failure)) throw failure;
    return read(withQuery(pathOf(database, '_all_docs'), { ...page, startkey: '_design/', endkey: '_design0' }));
  });
  return rows.flatMap(({ doc }) => (doc === undefined || doc === null ? [] : [toDesignDocument(doc)]));
}

/** Undefined if there is none. */
export async function designDocument(
  database: string,
  name: string,
  signal?: AbortSignal,
): Promise<DesignDocument | undefined> {
  const path = withQuery(pathOf(database, '_all_docs'), { key: `_design/${name}`, include_docs: true });
  type Response = { readonly rows: readonly { readonly doc?: JsonObject | null }[] };
  const { rows } = await ask<Response>('GET', path, { signal, quiet: true });
  const doc = rows[0]?.doc;
  return doc === undefined || doc === null ? undefined : toDesignDocument(doc);
}

function toDesignDocument(doc: JsonObject): DesignDocument {
  return {
    name: `${doc._id}`.replace(/^_design\//, ''),
    language: typeof doc.language === 'string' ? doc.language : 'javascript',
    views: Object.entries(membersOf(doc.views)).flatMap(([name, view]) => toView(name, view)),
    doc,
  };
}

/** `views.lib` holds modules, and is no view. */
function toView(name: string, value: Json | undefined): readonly DesignView[] {
  const { map, reduce } = membersOf(value);
  if (map === undefined) return [];
  return [
    {
      name,
      map: typeof map === 'string' ? map : JSON.stringify(map, null, 2),
      reduce: typeof reduce === 'string' && reduce !== '' ? reduce : undefined,
    },
  ];
}

export function membersOf(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}
