/** Writes the response to `_find`: documents as they are found, then bookmark, statistics and warnings (docs/http/find.md#warnings). */

import { writeBookmark } from '../bookmark.ts';
import { type FindQuery, NO_BOOKMARK } from '../find-query.ts';
import { type Choice, type IndexSuggestion, planName } from '../planning/planner.ts';
import type { FoundDocument } from './document-reader.ts';
import type { Search } from './search.ts';

interface RunningSearch {
  readonly query: FindQuery;
  readonly choice: Choice;
  readonly search: Search;
  readonly found: AsyncGenerator<FoundDocument, void, void>;
  /** Milliseconds since the query arrived. */
  elapsedMs(): number;
}

export async function* answerText(running: RunningSearch): AsyncGenerator<string, void, void> {
  const { query, choice } = running;
  let last: FoundDocument | undefined;
  let results = 0;
  yield '{"docs":[';
  for await (const document of running.found) {
    yield results === 0 ? `\r\n${document.text}` : `,\r\n${document.text}`;
    last = document;
    results++;
  }
  const bookmark = last === undefined ? (query.bookmark ?? NO_BOOKMARK) : bookmarkAt(running, last);
  const warning = warningOf(choice, { documents: running.search.documentsExamined, results });
  yield `\r\n],\r\n"bookmark":${JSON.stringify(bookmark)}`;
  if (query.executionStats) yield `,\r\n"execution_stats":${JSON.stringify(statsOf(running, results))}`;
  if (warning !== undefined) yield `,\r\n"warning":${JSON.stringify(warning.text)}`;
  const suggestion = warning?.suggestion;
  if (suggestion !== undefined) yield `,\r\n"suggested_index":${JSON.stringify({ index: suggestion })}`;
  yield '\r\n}\n';
}

function bookmarkAt({ choice, search }: RunningSearch, { keyText, id }: FoundDocument): string {
  return writeBookmark(planName(choice.plan), keyText, id, search.found);
}

function statsOf({ search, elapsedMs }: RunningSearch, results: number): Readonly<Record<string, number>> {
  return {
    total_keys_examined: search.keysExamined,
    total_docs_examined: search.documentsExamined,
    // The number of documents read from several nodes; here there is only one.
    total_quorum_docs_examined: 0,
    results_returned: results,
    execution_time_ms: Math.round(elapsedMs() * 1_000) / 1_000,
  };
}

/** A response warns if more documents than this were read for each one found. */
const MAX_SCAN_RATIO = 10;

interface Examined {
  readonly documents: number;
  readonly results: number;
}

interface Warning {
  /** One sentence per line. */
  readonly text: string;
  /** An index that would lead to fewer warnings. */
  readonly suggestion: IndexSuggestion | undefined;
}

/** Returns undefined if there is nothing to warn about. */
function warningOf(choice: Choice, examined: Examined): Warning | undefined {
  const scan = scanWarning(choice, examined);
  const warnings = [...nameWarning(choice), ...scan];
  if (warnings.length === 0) return undefined;
  return { text: warnings.join('\n'), suggestion: scan.length === 0 ? undefined : choice.suggestion };
}

function nameWarning({ unusableIndex }: Choice): string[] {
  if (unusableIndex === undefined) return [];
  const { design, name } = unusableIndex;
  if (name === undefined) {
    return [`${design} was not used because it does not contain a valid index for this query.`];
  }
  return [`${design}, ${name} was not used because it is not a valid index for this query.`];
}

function scanWarning(choice: Choice, { documents, results }: Examined): string[] {
  const { plan } = choice;
  if (plan.kind === 'documents' && plan.equalities === 0 && plan.narrowness === 0) {
    return ['No matching index found, create an index to optimize query time.'];
  }
  if (documents <= MAX_SCAN_RATIO * Math.max(results, 1)) return [];
  return [
    'The number of documents examined is high in proportion to the number of results returned. ' +
      'Consider adding a more specific index to improve this.',
  ];
}
