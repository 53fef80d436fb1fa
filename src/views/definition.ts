import type { CollationName } from '../collation/key-order.ts';
import { md5 } from '../documents/md5.ts';
import { DatabaseError } from '../errors/database-error.ts';
import type { ViewDefinition } from './contract.ts';

/**
 * What a design document says of its views, taken apart. Views with the same map and collation share one tree, which
 * holds the reductions of all of them.
 */
export interface GroupDefinition {
  readonly signature: string;
  readonly language: string;
  readonly options: Readonly<Record<string, unknown>>;
  /** Map functions see `_local_seq`. */
  readonly localSeq: boolean;
  /** Map functions see design documents, too. */
  readonly includeDesign: boolean;
  readonly views: ReadonlyMap<string, ViewDefinition>;
  /** Distinct `map` members. */
  readonly maps: readonly unknown[];
  readonly trees: readonly TreeDefinition[];
  readonly places: ReadonlyMap<string, ViewPlace>;
  /** JSON text of `{"views":{"lib":…}}`: what `require` finds in map and reduce functions. */
  readonly libraryText: string;
}

export interface TreeDefinition {
  /** Which of `maps` emits its rows. */
  readonly map: number;
  readonly collation: CollationName;
  /** Distinct reduces: built-in names and sources. */
  readonly reduces: readonly string[];
}

/** Where a view's rows are, and which of the tree's reductions is its own. */
export interface ViewPlace {
  readonly tree: number;
  readonly reduce: number | undefined;
}

type Members = Readonly<Record<string, unknown>>;

/**
 * To be raised where the same definition comes to other rows or reductions, so that what was stored is left. 2: members
 * beyond ASCII. 3: sums of objects, statistics of lists. 4: rows with one key in the order of their values.
 */
const ROWS_VERSION = 4;

/** `body`: JSON text of a design document. `bad_request` where its views are not as they have to be. */
export async function parseDefinition(body: string): Promise<GroupDefinition> {
  const document = membersOf(JSON.parse(body));
  const options = membersOf(document['options']);
  const language = typeof document['language'] === 'string' ? document['language'] : 'javascript';
  const members = membersOf(document['views']);
  const library = members['lib'];
  const views = new Map<string, ViewDefinition>();
  for (const [name, view] of Object.entries(members)) {
    if (name !== 'lib') views.set(name, parseView(name, membersOf(view), options));
  }
  const signed = [ROWS_VERSION, [...views.values()].map(signedParts), language, options, library ?? null];
  return {
    signature: await md5(JSON.stringify(signed)),
    language,
    options,
    localSeq: options['local_seq'] === true,
    includeDesign: options['include_design'] === true,
    views,
    libraryText: JSON.stringify(library === undefined ? {} : { views: { lib: library } }),
    ...placeViews(views),
  };
}

/** As a design document with one view named `temporary`. */
export function temporaryDesign(definition: string): string {
  const { map, reduce, options, language } = membersOf(JSON.parse(definition));
  return JSON.stringify({ language, options, views: { temporary: { map, reduce } } });
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
      `The reduce of view ${name} is no string. Give a source or a built-in name.`,
    );
  }
  const options = membersOf(view['options']);
  // A view's own options decide before those of the design document (completion.md 21.11).
  const collation = (options['collation'] ?? designOptions['collation']) === 'raw' ? 'raw' : 'unicode';
  const source = typeof reduce === 'string' && reduce.trim() !== '' ? reduce : undefined;
  return { name, map, reduce: source, options, collation };
}

function signedParts({ name, map, reduce, options }: ViewDefinition): unknown[] {
  return [name, map, reduce ?? null, options];
}

function placeViews(views: ReadonlyMap<string, ViewDefinition>): Pick<GroupDefinition, 'maps' | 'trees' | 'places'> {
  const mapPlaces = new Map<string, number>();
  const maps: unknown[] = [];
  const treePlaces = new Map<string, number>();
  const trees: { map: number; collation: CollationName; reduces: string[] }[] = [];
  const places = new Map<string, ViewPlace>();
  for (const { name, map, reduce, collation } of views.values()) {
    const mapText = JSON.stringify(map);
    const mapPlace = placeOf(mapPlaces, mapText, () => maps.push(map));
    const place = placeOf(treePlaces, `${collation} ${mapText}`, () =>
      trees.push({ map: mapPlace, collation, reduces: [] }),
    );
    places.set(name, { tree: place, reduce: reduce === undefined ? undefined : addReduce(trees[place], reduce) });
  }
  return { maps, trees, places };
}

/** The place of `key`, which is the next one where it is new. */
function placeOf(places: Map<string, number>, key: string, add: () => void): number {
  const known = places.get(key);
  if (known !== undefined) return known;
  const place = places.size;
  places.set(key, place);
  add();
  return place;
}

function addReduce(tree: { readonly reduces: string[] } | undefined, reduce: string): number {
  const reduces = tree?.reduces ?? [];
  const known = reduces.indexOf(reduce);
  return known >= 0 ? known : reduces.push(reduce) - 1;
}
