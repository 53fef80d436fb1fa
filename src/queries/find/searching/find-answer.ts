/** Writes the response to `_find`: documents as they are found, then bookmark, statistics and warning. */

import { type Choice, planName } from '../planning/planner.ts';
import { warningOf } from '../planning/warnings.ts';
import { writeBookmark } from '../queries/bookmark.ts';
import { type FindQuery, NO_BOOKMARK } from '../queries/find-query.ts';
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
