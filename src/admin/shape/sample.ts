/** Documents from all over a database: some groups of neighbours, spread evenly over the ids. */
import type { JsonObject } from '../server/client.ts';
import { documentPage } from '../server/documents.ts';

export interface Sample {
  readonly documents: readonly JsonObject[];
  /** Documents in the database, design documents included. */
  readonly total: number;
}

/** Documents of a group. */
const MIN_GROUP_SIZE = 20;
const MAX_GROUPS = 10;

/** `count`: how many documents at most. Design documents are left out. */
export async function sampleOf(database: string, count: number, signal: AbortSignal): Promise<Sample> {
  const limit = Math.max(MIN_GROUP_SIZE, Math.ceil(count / MAX_GROUPS));
  const first = await documentPage(database, { limit, includeDocs: true }, signal);
  const rows = [...first.rows];
  const groups = Math.min(Math.ceil(count / limit), Math.ceil(first.total / limit));
  const step = groups < 2 ? 0 : (first.total - limit) / (groups - 1);
  for (let group = 1; group < groups; group += 1) {
    // Groups never overlap, and the last one ends at the end.
    const skip = Math.max(group * limit, Math.floor(group * step));
    const { rows: more } = await documentPage(database, { skip, limit, includeDocs: true }, signal);
    rows.push(...more);
  }
  const documents = rows.flatMap(({ id, doc }) => (doc === undefined || id.startsWith('_design/') ? [] : [doc]));
  return { documents, total: first.total };
}
