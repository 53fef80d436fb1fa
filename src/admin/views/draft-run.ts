/** Runs a draft of a view on some documents, in the server's sandbox, without storing it. */
import { ask, type Json, pathOf, ServerError, withQuery } from '../server/client.ts';
import type { ViewRow } from './rows.ts';

export interface DraftSource {
  readonly map: string;
  /** Empty: none. */
  readonly reduce: string;
}

/** One mistake, and where it happened. */
export interface DraftProblem {
  readonly part: 'map' | 'reduce';
  readonly message: string;
  /** From 1; undefined if the server does not say. */
  readonly line: number | undefined;
  /** Documents on which it happened; empty if it concerns all. */
  readonly ids: readonly string[];
}

export interface DraftResult {
  /** Documents that the draft ran on. */
  readonly documents: number;
  /** The first rows. */
  readonly rows: readonly ViewRow[];
  /** All rows that were emitted. */
  readonly rowCount: number;
  /** Undefined: there is no reduce, or it failed. */
  readonly reduced: readonly ViewRow[] | undefined;
  readonly problems: readonly DraftProblem[];
}

/** The server has no temporary views. */
export class NoDraftsError extends Error {}

interface Response {
  readonly total_rows?: number;
  readonly rows: readonly { readonly id?: string; readonly key: Json; readonly value: Json }[];
}

const SHOWN_ROWS = 100;
/** The member of a row's value by which the page knows a failure from what the draft emits. */
const MARK = 'settee-utils draft failure';

/** `count`: the draft runs on so many documents, the first ones by id. */
export async function runDraft(
  database: string,
  { map, reduce }: DraftSource,
  count: number,
  signal: AbortSignal,
): Promise<DraftResult> {
  if (map.trim() === '') {
    const problem = { part: 'map', message: 'There is no function.', line: 1, ids: [] } as const;
    return { documents: 0, rows: [], rowCount: 0, reduced: undefined, problems: [problem] };
  }
  const ids = await firstIds(database, count, signal);
  // Servers that do not know `doc_ids` read all documents, and the map leaves out the others.
  const send = (source: { map: string; reduce?: string }, query: Record<string, Json>) =>
    ask<Response>('POST', withQuery(pathOf(database, '_temp_view'), query), {
      json: { ...source, doc_ids: ids },
      signal,
    });
  let mapped: Response;
  try {
    mapped = await send({ map: wrappedMap(map, ids, true) }, { limit: SHOWN_ROWS + count });
  } catch (failure) {
    if (failure instanceof ServerError && [404, 405, 410, 501].includes(failure.status)) throw new NoDraftsError();
    return {
      documents: ids.length,
      rows: [],
      rowCount: 0,
      reduced: undefined,
      problems: [await toProblem('map', map, failure)],
    };
  }
  const failed = mapped.rows.filter(isFailure);
  const rows = mapped.rows.filter((row) => !isFailure(row)).slice(0, SHOWN_ROWS);
  const result = {
    documents: ids.length,
    rows: rows.map(toRow),
    rowCount: (mapped.total_rows ?? mapped.rows.length) - failed.length,
    reduced: undefined,
    problems: grouped(failed),
  };
  if (reduce.trim() === '' || rows.length === 0) return result;
  try {
    const source = { map: wrappedMap(map, ids, false), reduce: wrappedReduce(reduce) };
    const { rows: reduced } = await send(source, { group: true, limit: SHOWN_ROWS });
    return { ...result, reduced: reduced.map(toRow) };
  } catch (failure) {
    return { ...result, problems: [...result.problems, await toProblem('reduce', reduce, failure)] };
  }
}

function toRow({ id, key, value }: Response['rows'][number]): ViewRow {
  return { id, key, value };
}

/** Design documents are not among them: maps do not see these. */
async function firstIds(database: string, count: number, signal: AbortSignal): Promise<readonly string[]> {
  const read = async (range: Readonly<Record<string, Json>>) => {
    const path = withQuery(pathOf(database, '_all_docs'), range);
    const { rows } = await ask<{ readonly rows: readonly { readonly id: string }[] }>('GET', path, { signal });
    return rows.map(({ id }) => id);
  };
  const before = await read({ endkey: '_design/', limit: count });
  return before.length === count
    ? before
    : [...before, ...(await read({ startkey: '_design0', limit: count - before.length }))];
}

/**
 * The draft inside a function that calls it for the chosen documents only. Rows are emitted when the draft has returned: a document on which a map
 * fails has none. A failure becomes a row with the place of the draft and the place of the failure. What comes before the draft has no line of
 * its own, so that lines are counted from the draft's first.
 */
function wrappedMap(map: string, ids: readonly string[], reports: boolean): string {
  // A prefix: `__proto__` is an id, too.
  const wanted = JSON.stringify(Object.fromEntries(ids.map((id) => [`+${id}`, 1])));
  const report = `send(null, {${JSON.stringify(MARK)}: "" + thrown, stack: "" + (thrown && thrown.stack), first: "" + first});`;
  const before = `var wanted = ${wanted}; var rows = []; var emit = function (key, value) { rows.push([key, value]); }; var first = new Error().stack;`;
  const call = `rows = []; try { draft(doc); } catch (thrown) { ${reports ? report : ''} return; }`;
  const emitting = 'for (var i = 0; i < rows.length; i += 1) send(rows[i][0], rows[i][1]);';
  return `(function (send) { ${before} var draft = ${map}
; if (typeof draft !== "function") return draft; return function (doc) { if (wanted["+" + doc._id] !== 1) return; ${call} ${emitting} }; })(emit)`;
}

/** Built-in reductions stay as they are. */
function wrappedReduce(reduce: string): string {
  if (reduce.trim().startsWith('_')) return reduce.trim();
  const failure = `throw ["fatal", "draft", JSON.stringify({message: "" + thrown, stack: "" + (thrown && thrown.stack), first: "" + first})];`;
  return `(function () { var first = new Error().stack; var draft = ${reduce}
; if (typeof draft !== "function") return draft; return function (keys, values, rereduce) { try { return draft(keys, values, rereduce); } catch (thrown) { ${failure} } }; })()`;
}

interface FailureValue {
  readonly [MARK]: string;
  readonly stack: string;
  readonly first: string;
}

function isFailure({ value }: Response['rows'][number]): boolean {
  return typeof value === 'object' && value !== null && MARK in value;
}

/** The same mistake on many documents is one problem. */
function grouped(failed: Response['rows']): readonly DraftProblem[] {
  const problems = new Map<string, { readonly problem: DraftProblem; readonly ids: string[] }>();
  for (const { id = '', value } of failed) {
    const { [MARK]: message, stack, first } = value as unknown as FailureValue;
    const line = lineIn(stack, first);
    const key = `${line} ${message}`;
    const ids = problems.get(key)?.ids ?? [];
    ids.push(id);
    problems.set(key, { problem: { part: 'map', message, line, ids }, ids });
  }
  return [...problems.values()].map(({ problem }) => problem);
}

/** Lines of an error's stack: `at draft (<input>:4:20)`. Those of the sandbox's own program have its name. */
const FRAME = /(?:<input>|<anonymous>|eval code|map|reduce):(\d+)/;

function lineIn(stack: string, first: string): number | undefined {
  const [, at] = FRAME.exec(stack) ?? [];
  const [, from] = FRAME.exec(first) ?? [];
  return at === undefined || from === undefined ? undefined : Number(at) - Number(from) + 1;
}

/** What is wrong according to the response. The server does not say in which line a source can't be parsed: the page looks itself. */
async function toProblem(part: DraftProblem['part'], source: string, failure: unknown): Promise<DraftProblem> {
  if (!(failure instanceof ServerError) || failure.status === 0) throw failure;
  if (failure.code === 'draft') {
    const { message, stack, first } = JSON.parse(failure.reason);
    return { part, message, line: lineIn(stack, first), ids: [] };
  }
  if (failure.code === 'compilation_error') {
    const { syntaxMistake } = await import('../editor/syntax.ts');
    // The reason repeats the source, with what the page has put around it.
    const message = failure.reason.replace(/^(map|reduce): /, '').replace(/ \(\(function.*$/s, '');
    return { part, message, line: syntaxMistake(source)?.line, ids: [] };
  }
  if (![400, 500].includes(failure.status)) throw failure;
  return { part, message: failure.reason, line: undefined, ids: [] };
}
