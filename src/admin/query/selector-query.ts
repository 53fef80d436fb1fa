/** Selector queries: from the text of the editor to what the server returns. */
import { ask, type Json, type JsonObject, pathOf, ServerError } from '../server/client.ts';

export interface IndexDefinition {
  readonly fields: readonly Json[];
  readonly partial_filter_selector?: JsonObject;
}

export interface Found {
  readonly docs: readonly JsonObject[];
  readonly bookmark: string | undefined;
  /** Sentences. */
  readonly warning: string | undefined;
  readonly suggested: IndexDefinition | undefined;
  readonly stats: Stats | undefined;
  /** Milliseconds until the response was there. */
  readonly tookMs: number;
}

export interface Stats {
  readonly keys: number;
  readonly documents: number;
  readonly returned: number;
}

export const FIRST_TEXT = `{
  "selector": {},
  "fields": [],
  "sort": [],
  "limit": 25
}`;

/** The limit of a query that names none. */
const USUAL = 25;
/** Above this many documents for each result, the query reads too much. */
const TOO_MANY = 10;
/** Documents of one page, whatever limit the query has. */
export const MAX_RESULTS = 200;

/** Returns the body of a query, or a sentence about what is wrong with the text. */
export function parseQuery(text: string): JsonObject | string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'The query must be a JSON object.';
    const query: JsonObject = { ...value };
    return query.selector === undefined ? 'The query needs a member “selector”. An empty one, {}, finds all.' : query;
  } catch (error) {
    return `The query is not JSON: ${error instanceof Error ? error.message : error}.`;
  }
}

export async function find(
  database: string,
  query: JsonObject,
  bookmark: string | undefined,
  signal: AbortSignal,
): Promise<Found> {
  const began = performance.now();
  const json = {
    ...query,
    limit: limitOf(query),
    execution_stats: true,
    ...(bookmark !== undefined && { bookmark, skip: undefined }),
  };
  type Response = {
    readonly docs: readonly JsonObject[];
    readonly bookmark?: string;
    readonly warning?: string | readonly string[];
    readonly suggested_index?: { readonly index?: IndexDefinition };
    readonly execution_stats?: Readonly<Record<string, number>>;
  };
  const found = await ask<Response>('POST', pathOf(database, '_find'), { json, signal });
  const { docs, warning, execution_stats: stats } = found;
  return {
    docs,
    bookmark: found.bookmark,
    warning: typeof warning === 'string' ? warning : warning?.join('\n'),
    suggested: found.suggested_index?.index,
    stats: stats && {
      keys: stats.total_keys_examined ?? 0,
      documents: stats.total_docs_examined ?? 0,
      returned: stats.results_returned ?? docs.length,
    },
    tookMs: performance.now() - began,
  };
}

/** Documents of a page. */
export function limitOf({ limit }: JsonObject): Json | undefined {
  return typeof limit === 'number' ? Math.min(limit, MAX_RESULTS) : limit;
}

/** Whether there may be more than the page has. */
export function isFull(query: JsonObject, { docs }: Found): boolean {
  const limit = limitOf(query) ?? USUAL;
  return typeof limit === 'number' && limit > 0 && docs.length >= limit;
}

/** What was read: documents, or keys if the index alone was enough. */
export function examinedOf({ keys, documents }: Stats): number {
  return documents === 0 ? keys : documents;
}

export function readsTooMuch(stats: Stats): boolean {
  return examinedOf(stats) > TOO_MANY * Math.max(1, stats.returned);
}

/** A server without an index for a sort says in its reason which one it needs. */
export function suggestedBy(failure: unknown): IndexDefinition | undefined {
  if (!(failure instanceof ServerError) || failure.code !== 'no_usable_index') return undefined;
  const [json] = /\{"index":.*\}$/.exec(failure.reason) ?? [];
  if (json === undefined) return undefined;
  try {
    return JSON.parse(json).index;
  } catch {
    return undefined;
  }
}
