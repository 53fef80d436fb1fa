import type { CollationName } from '../../../base/collation/key-order.ts';
import { DatabaseError } from '../../../base/errors/database-error.ts';
import { parseInTurns } from '../../../base/json/parse-in-steps.ts';
import { must } from '../../../base/shared/assert.ts';
import { type CooperativeTask, mapInSteps, runCooperatively, TimeSlice } from '../../../base/shared/turn.ts';
import type { DocId } from '../../../database/documents/contract.ts';
import { toDocId } from '../../../database/documents/identifiers.ts';
import { md5 } from '../../../database/documents/md5.ts';
import { SCRIPT_LANGUAGE } from '../../sandbox/contract.ts';
import type { ViewDefinition } from '../contract.ts';

/**
 * The views of a design document, parsed. Views with the same map and collation share one tree, which has the reductions
 * of all of them, up to `MAX_REDUCES`: all reductions of a node are made in one turn.
 */
export interface GroupDefinition {
  readonly signature: string;
  readonly language: string;
  readonly options: Readonly<Record<string, unknown>>;
  /** Whether documents have `_local_seq` for the map functions. */
  readonly localSeq: boolean;
  /** Whether design documents are mapped as well. */
  readonly includeDesign: boolean;
  readonly views: ReadonlyMap<string, ViewDefinition>;
  /** Distinct `map` members. */
  readonly maps: readonly unknown[];
  readonly trees: readonly TreeDefinition[];
  /** By the names of the views. */
  readonly treeRefs: ReadonlyMap<string, ViewTreeRef>;
  /** JSON text of `{"views":{"lib":…}}`, from which `require` loads modules in map and reduce functions. */
  readonly libraryText: string;
}

export interface TreeDefinition {
  /** The index in `maps` of the map that emits its rows. */
  readonly map: number;
  readonly collation: CollationName;
  /** Distinct reduces: built-in names and sources. */
  readonly reduces: readonly string[];
}

/** The tree that has a view's rows, and the view's reduction in it: indexes in `trees` and in the tree's `reduces`. */
export interface ViewTreeRef {
  readonly tree: number;
  readonly reduce: number | undefined;
}

/** The most reduces of one tree. Further ones have another tree with the same rows. */
const MAX_REDUCES = 100;
/** Views that are processed between two checks of the clock. */
const VIEWS_PER_STEP = 100;

type Members = Readonly<Record<string, unknown>>;

/** All of them are read when one is requested. */
const MAX_VIEWS = 20_000;

/**
 * To be increased when the same definition leads to other rows or reductions, so that what was stored is not used. 2: members
 * beyond ASCII. 3: sums of objects, statistics of lists. 4: rows with one key in the order of their values. 5: dates in UTC.
 */
const ROWS_VERSION = 5;

/**
 * Parses `body`, a design document's JSON text, which may have very many views, or megabytes of source. `bad_request` if a view is invalid.
 */
export async function parseDefinition(body: string): Promise<GroupDefinition> {
  const timeSlice = new TimeSlice();
  const document = membersOf(await parseInTurns(body));
  await timeSlice.rest();
  const options = membersOf(document['options']);
  const language = typeof document['language'] === 'string' ? document['language'] : SCRIPT_LANGUAGE;
  const members = membersOf(document['views']);
  const count = Object.keys(members).length - (members['lib'] === undefined ? 0 : 1);
  if (count > MAX_VIEWS) {
    const reason = `A design document has ${MAX_VIEWS} views at most, and this one has ${count}. Spread them over several.`;
    throw new DatabaseError('bad_request', reason);
  }
  const library = members['lib'];
  const named = Object.entries(members).filter(([name]) => name !== 'lib');
  const parsed = await runCooperatively(mapInSteps(named, ([name, view]) => parseView(name, membersOf(view), options)));
  const views = new Map(parsed.map((view) => [view.name, view]));
  const signed = await runCooperatively(mapInSteps(parsed, (view) => JSON.stringify(signedParts(view))));
  await timeSlice.rest();
  const rest = [language, options, library ?? null].map((part) => JSON.stringify(part));
  const assigned = await runCooperatively(assignTrees(parsed));
  // Definitions with this many reduces had other trees before.
  const isSplit = assigned.trees.some(({ reduces }) => reduces.length === MAX_REDUCES);
  await timeSlice.rest();
  const version = isSplit ? ROWS_VERSION + 1 / MAX_REDUCES : ROWS_VERSION;
  const signature = await md5(`[${[version, `[${signed}]`, ...rest]}]`);
  await timeSlice.rest();
  return {
    signature,
    language,
    options,
    localSeq: options['local_seq'] === true,
    includeDesign: options['include_design'] === true,
    views,
    libraryText: JSON.stringify(library === undefined ? {} : { views: { lib: library } }),
    ...assigned,
  };
}

/** A temporary view: its design document, in which it is named `temporary`, and the only documents that it maps, if it has chosen some. */
export interface TemporaryDefinition {
  readonly body: string;
  readonly docIds: readonly DocId[] | undefined;
}

/** Parses what a request for a temporary view contains. `bad_request` if its documents are not named by a list of ids. */
export function parseTemporary(text: string): TemporaryDefinition {
  const { map, reduce, options, language, doc_ids: ids } = membersOf(JSON.parse(text));
  const body = JSON.stringify({ language, options, views: { temporary: { map, reduce } } });
  if (ids === undefined || ids === null) return { body, docIds: undefined };
  const isList = Array.isArray(ids) && ids.every((id) => typeof id === 'string');
  if (!isList) throw new DatabaseError('bad_request', '`doc_ids` must be a JSON list of document ids.');
  // What is no valid id is that of no document.
  return { body, docIds: [...new Set(ids.flatMap((id) => toDocId(id) ?? []))] };
}

function membersOf(value: unknown): Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

function parseView(name: string, view: Members, designOptions: Members): ViewDefinition {
  const { map, reduce } = view;
  if (map === undefined || map === null) {
    throw new DatabaseError('bad_request', `View ${name} has no map function. Give it a member "map".`);
  }
  if (reduce !== undefined && reduce !== null && typeof reduce !== 'string') {
    throw new DatabaseError(
      'bad_request',
      `The reduce of view ${name} is not a string. Give a source or a built-in name.`,
    );
  }
  const options = membersOf(view['options']);
  // The options of a view have precedence over those of the design document (docs/http/views.md#design-options).
  const collation = (options['collation'] ?? designOptions['collation']) === 'raw' ? 'raw' : 'unicode';
  const source = typeof reduce === 'string' && reduce.trim() !== '' ? reduce : undefined;
  return { name, map, reduce: source, options, collation };
}

function signedParts({ name, map, reduce, options }: ViewDefinition): unknown[] {
  return [name, map, reduce ?? null, options];
}

function* assignTrees(
  views: readonly ViewDefinition[],
): CooperativeTask<Pick<GroupDefinition, 'maps' | 'trees' | 'treeRefs'>> {
  const mapIndexes = new Map<string, number>();
  const maps: unknown[] = [];
  const treeIndexes = new Map<string, number>();
  const trees: { readonly map: number; readonly collation: CollationName; readonly reduces: string[] }[] = [];
  /** The numbers of distinct reduces, by map and collation. */
  const reduceNumbers = new Map<string, Map<string, number>>();
  const treeRefs = new Map<string, ViewTreeRef>();
  const treeFor = (key: string, map: number, collation: CollationName): number =>
    indexOf(treeIndexes, key, () => trees.push({ map, collation, reduces: [] }));
  for (const { name, map: mapMember, reduce, collation } of views) {
    if (treeRefs.size % VIEWS_PER_STEP === VIEWS_PER_STEP - 1) yield;
    const mapText = JSON.stringify(mapMember);
    const map = indexOf(mapIndexes, mapText, () => maps.push(mapMember));
    const key = `${collation} ${mapText}`;
    if (reduce === undefined) {
      treeRefs.set(name, { tree: treeFor(key, map, collation), reduce });
      continue;
    }
    const numbers = reduceNumbers.get(key) ?? new Map<string, number>();
    reduceNumbers.set(key, numbers);
    const isNew = !numbers.has(reduce);
    const number = indexOf(numbers, reduce);
    const part = Math.floor(number / MAX_REDUCES);
    const tree = treeFor(part === 0 ? key : `${key} ${part}`, map, collation);
    if (isNew) must(trees[tree]).reduces.push(reduce);
    treeRefs.set(name, { tree, reduce: number % MAX_REDUCES });
  }
  return { maps, trees, treeRefs };
}

/** Returns the index of `key`. A new key gets the next index, and `add` is called for it. */
function indexOf(indexes: Map<string, number>, key: string, add: () => void = () => undefined): number {
  const known = indexes.get(key);
  if (known !== undefined) return known;
  const index = indexes.size;
  indexes.set(key, index);
  add();
  return index;
}
