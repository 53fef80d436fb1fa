import { type CompareKeys, createKeyOrder } from '../../base/collation/key-order.ts';
import { isDatabaseError } from '../../base/errors/database-error.ts';
import type { Clock } from '../../base/shared/clock.ts';
import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import { isThreadUsedUp, joinInSteps, roomInTurn, runCooperatively, TimeSlice } from '../../base/shared/turn.ts';
import type { Database } from '../../database/store/contract.ts';
import type { ViewIndexes } from '../views/contract.ts';
import type { FindAnswer, Finder, IndexAddress, IndexWriter, JsonObject } from './contract.ts';
import { StepBudget } from './effort.ts';
import { type FindQuery, parseFields, parseFindQuery } from './find-query.ts';
import { parseIndexRequest, putIndex, removeDesign, removeIndex } from './index-changes.ts';
import { ALL_DOCUMENTS_JSON, IndexCatalog, indexJson } from './index-definition.ts';
import { Conditions } from './planning/conditions.ts';
import { explanationJson } from './planning/explanation.ts';
import { type Plan, sortIds } from './planning/plan.ts';
import { type Choice, choosePlan } from './planning/planner.ts';
import { excerpt, queryError } from './query-error.ts';
import { answerText } from './searching/find-answer.ts';
import { KeyProjection, KeyTests } from './searching/index-keys.ts';
import { Search } from './searching/search.ts';
import { Projection } from './selectors/field-texts.ts';
import { createTextTest, type TextTest } from './selectors/selector-check.ts';
import { parseSelector } from './selectors/selector-parser.ts';

interface FinderOptions {
  readonly views: ViewIndexes;
  readonly clock: Clock;
  /** Steps that a query may take (`svc/max_selector_steps`); undefined: no limit. */
  readonly maxSteps: () => number | undefined;
}

/** Runs selector queries. Their indexes are view indexes. */
export function createFinder(options: FinderOptions): Finder {
  return new IndexFinder(options);
}

class IndexFinder implements Finder {
  readonly #options: FinderOptions;
  readonly #catalog = new IndexCatalog();
  #compare: CompareKeys | undefined;

  constructor(options: FinderOptions) {
    this.#options = options;
  }

  async find(database: Database, body: JsonObject): Promise<FindAnswer> {
    const { clock } = this.#options;
    const startedAt = clock.monotonic();
    const query = await parseInOwnTurn(body);
    const choice = await this.#choose(database, query);
    if (isThreadUsedUp()) await new TimeSlice().endTurn();
    const releases: (() => void)[] = [];
    const release = () => {
      for (const releaseOne of releases.splice(0).reverse()) releaseOne();
    };
    try {
      const search = await this.#open(database, query, choice, releases);
      const pieces = answerText({ ...search, query, choice, elapsedMs: () => clock.monotonic() - startedAt });
      return { pieces, release };
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Begins the search of a plan. Adds functions to `releases` that release what it reads from. */
  async #open(database: Database, query: FindQuery, { plan }: Choice, releases: (() => void)[]) {
    const compare = this.#order;
    const budget = new StepBudget(this.#options.maxSteps() ?? Number.POSITIVE_INFINITY);
    if (plan.kind === 'documents') {
      const snapshot = database.snapshot();
      releases.push(() => snapshot.release());
      const search = new Search({ query, snapshot, compare, budget });
      return { search, found: search.inDocuments(plan) };
    }
    const group = await this.#options.views.open(database, plan.stored.design);
    releases.push(() => group.release());
    const reader = await group.read(query.update ? 'before' : 'never');
    releases.push(() => reader.release());
    // Taken after the index was read, so that it is not older than the index.
    const snapshot = database.snapshot();
    releases.push(() => snapshot.release());
    const search = new Search({ query, snapshot, compare, budget });
    return { search, found: search.inIndex(plan, reader) };
  }

  test(selector: unknown): TextTest {
    return createTextTest(parseSelector(selector), this.#order);
  }

  projection(given: unknown): MaybePromise<(text: string) => MaybePromise<string>> {
    return whenReady(runCooperatively(parseFields(given)), (fields) => {
      if (fields === undefined) return (text) => text;
      const projection = new Projection(fields);
      return (text) => projection.of(text);
    });
  }

  async explain(database: Database, body: JsonObject): Promise<string> {
    const query = await parseInOwnTurn(body);
    const choice = await this.#choose(database, query);
    if (isThreadUsedUp()) await new TimeSlice().endTurn();
    const conditions = new Conditions(query, this.#order);
    const explained = {
      database: database.name,
      query,
      choice,
      conditions,
      isCovering: this.#isCovering(query, choice),
      ids: await idsOf(choice.plan),
    };
    return JSON.stringify(explanationJson(explained));
  }

  async indexes(database: Database): Promise<readonly JsonObject[]> {
    const stored = await this.#stored(database);
    return [ALL_DOCUMENTS_JSON, ...stored.map(({ index }) => indexJson(index))];
  }

  async createIndex(database: Database, body: JsonObject, writer: IndexWriter): Promise<string> {
    // A thousand requests may begin in one turn.
    const room = roomInTurn();
    if (room !== undefined) await room;
    const request = await parseIndexRequest(body);
    const wasThere = await putIndex(database, request, writer);
    return JSON.stringify({ result: wasThere ? 'exists' : 'created', id: request.design, name: request.name });
  }

  deleteIndex(database: Database, address: IndexAddress, writer: IndexWriter): Promise<void> {
    return removeIndex(database, address, writer);
  }

  async deleteIndexes(database: Database, body: JsonObject, writer: IndexWriter): Promise<string> {
    const { docids } = body;
    if (!Array.isArray(docids))
      throw queryError('invalid_value', `Invalid value for docids: ${excerpt(docids)}. Give a list.`);
    const success: string[] = [];
    const fail: string[] = [];
    const timeSlice = new TimeSlice();
    for (const name of docids as readonly unknown[]) {
      if (timeSlice.isDue) await timeSlice.rest();
      try {
        success.push(JSON.stringify({ id: await removeDesign(database, `${name}`, writer), ok: true }));
      } catch (error) {
        if (!isDatabaseError(error)) throw error;
        fail.push(JSON.stringify({ id: name, error: error.code, reason: error.reason }));
      }
    }
    return `{"success":[${await runCooperatively(joinInSteps(success, itself))}],"fail":[${await runCooperatively(joinInSteps(fail, itself))}]}`;
  }

  async #choose(database: Database, query: FindQuery): Promise<Choice> {
    return choosePlan(query, await this.#stored(database), this.#order);
  }

  async #stored(database: Database) {
    const snapshot = database.snapshot();
    try {
      return await this.#catalog.read(database, snapshot);
    } finally {
      snapshot.release();
    }
  }

  #isCovering(query: FindQuery, { plan }: Choice): boolean {
    if (plan.kind === 'documents') return false;
    const { index } = plan.stored;
    return KeyProjection.of(query, index) !== undefined && new KeyTests(query, index, this.#order).isComplete;
  }

  /** Created on first use, because that takes a millisecond. */
  get #order(): CompareKeys {
    this.#compare ??= createKeyOrder('unicode');
    return this.#compare;
  }
}

async function idsOf(plan: Plan): Promise<readonly string[] | undefined> {
  return plan.kind === 'documents' && plan.ids !== undefined ? runCooperatively(sortIds(plan)) : undefined;
}

/** Parses a query, which may be as long as a request: yields to other work before it is parsed, and before a plan is chosen for it. */
async function parseInOwnTurn(body: JsonObject): Promise<FindQuery> {
  const timeSlice = new TimeSlice();
  if (timeSlice.isDue) await timeSlice.rest();
  const query = await runCooperatively(parseFindQuery(body));
  if (timeSlice.isDue) await timeSlice.rest();
  return query;
}

function itself(text: string): string {
  return text;
}
