/**
 * Makes the rows of selector indexes, without a sandbox. The key of a row is the list of the fields' values as they are
 * written in the document, and its value is null. There is no row for design documents, for documents without one of the fields,
 * or for those that don't pass the index's filter.
 */
import { type CompareKeys, createKeyOrder } from '../../base/collation/key-order.ts';
import { DatabaseError, isDatabaseError } from '../../base/errors/database-error.ts';
import { isShallowText } from '../../base/json/nesting.ts';
import { parseInSteps } from '../../base/json/parse-in-steps.ts';
import { type CooperativeTask, runCooperatively } from '../../base/shared/turn.ts';
import type { MappedRows, Mapper, MapperFactory, MapperSource } from '../views/contract.ts';
import { type Check, Effort, settle } from './effort.ts';
import { hasFilter, type IndexMap, parseIndexMap } from './index-definition.ts';
import { FieldTexts } from './selectors/field-texts.ts';
import { createCheck } from './selectors/selector-check.ts';

/** Documents of one batch, each of which takes some microseconds. */
const BATCH_SIZE = 500;

const DESIGN_PREFIX = '{"_id":"_design/';

export function createQueryMappers(): MapperFactory {
  return { open: openMapper };
}

function openMapper({ id, maps }: MapperSource): Mapper {
  const order = createKeyOrder('unicode');
  const mapped = maps.map((map) => new IndexRows(parsedMap(map, id), order));
  return {
    batchSize: BATCH_SIZE,
    map: (documents) => runCooperatively(mapInSteps(mapped, documents)),
    release: () => undefined,
  };
}

function parsedMap(map: unknown, design: string): IndexMap {
  try {
    return parseIndexMap(map);
  } catch (cause) {
    if (!isDatabaseError(cause)) throw cause;
    const reason = `An index of ${design} can't be made. ${cause.reason}`;
    throw new DatabaseError('compilation_error', reason, { cause });
  }
}

function* mapInSteps(mapped: readonly IndexRows[], documents: readonly string[]): CooperativeTask<MappedRows[]> {
  const all: MappedRows[] = [];
  for (const rows of mapped) all.push(yield* rows.of(documents));
  return all;
}

class IndexRows {
  readonly #fields: FieldTexts;
  readonly #filter: Check | undefined;

  constructor(map: IndexMap, order: CompareKeys) {
    this.#fields = new FieldTexts(map.columns.map(({ path }) => path));
    this.#filter = hasFilter(map) ? createCheck(map.filter, order) : undefined;
  }

  *of(documents: readonly string[]): CooperativeTask<MappedRows> {
    const counts: number[] = [];
    const keys: string[] = [];
    for (const document of documents) {
      const passes = this.#filter === undefined || (yield* passesFilter(this.#filter, document));
      const key = passes ? yield* this.#keyOf(document) : undefined;
      counts.push(key === undefined ? 0 : 1);
      if (key !== undefined) keys.push(key);
    }
    return { counts, keys, values: keys.map(() => 'null') };
  }

  *#keyOf(document: string): CooperativeTask<string | undefined> {
    if (document.startsWith(DESIGN_PREFIX)) return undefined;
    const texts = yield* this.#fields.inSteps(document);
    if (texts.includes(undefined)) return undefined;
    const key = `[${texts.join(',')}]`;
    // A key that is nested too deeply to be compared would make the whole index fail.
    return isShallowText(key) ? key : undefined;
  }
}

function* passesFilter(filter: Check, document: string): CooperativeTask<boolean> {
  if (document.startsWith(DESIGN_PREFIX)) return false;
  try {
    return yield* settle(filter, yield* parseInSteps(document), new Effort(undefined));
  } catch (error) {
    // Too many steps: the document has no row, as when a map function throws.
    if (isDatabaseError(error)) return false;
    throw error;
  }
}
