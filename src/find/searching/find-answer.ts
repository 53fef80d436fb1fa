/** The text of an answer to `_find`: documents as they are found, then bookmark, figures and warning. */

import { type Choice, planName } from '../planning/planner.ts';
import { warningOf } from '../planning/warnings.ts';
import { writeBookmark } from './bookmark.ts';
import { type FindQuery, NO_BOOKMARK } from './find-query.ts';
import type { Found } from './found-documents.ts';
import type { Search } from './search.ts';

export interface RunningSearch {
  readonly query: FindQuery;
  readonly choice: Choice;
  readonly search: Search;
  readonly all: AsyncGenerator<Found, void, void>;
  /** Milliseconds since the query came. */
  elapsedMs(): number;
}

export async function* answerText(running: RunningSearch): AsyncGenerator<string, void, void> {
  const { query, choice } = running;
  let last: Found | undefined;
  let results = 0;
  yield '{"docs":[';
  for await (const found of running.all) {
    yield results === 0 ? `\r\n${found.text}` : `,\r\n${found.text}`;
    last = found;
    results++;
  }
  const bookmark = last === undefined ? (query.bookmark ?? NO_BOOKMARK) : bookmarkAt(choice, last);
  const warning = warningOf(choice, { documents: running.search.documentsExamined, results });
  yield `\r\n],\r\n"bookmark":${JSON.stringify(bookmark)}`;
  if (query.executionStats) yield `,\r\n"execution_stats":${JSON.stringify(statsOf(running, results))}`;
  if (warning !== undefined) yield `,\r\n"warning":${JSON.stringify(warning)}`;
  yield '\r\n}\n';
}

function bookmarkAt({ plan }: Choice, { keyText, id }: Found): string {
  return writeBookmark(planName(plan), keyText, id);
}

function statsOf({ search, elapsedMs }: RunningSearch, results: number): Readonly<Record<string, number>> {
  return {
    total_keys_examined: search.keysExamined,
    total_docs_examined: search.documentsExamined,
    // Of copies on other nodes, of which there are none.
    total_quorum_docs_examined: 0,
    results_returned: results,
    execution_time_ms: Math.round(elapsedMs() * 1_000) / 1_000,
  };
}
