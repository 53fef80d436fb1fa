/** The response to `_explain`: the plan, and for each index why it was chosen or not. */
import type { JsonObject } from '../contract.ts';
import { type FindQuery, NO_BOOKMARK } from '../find-query.ts';
import { ALL_DOCUMENTS_JSON, indexJson, type JsonIndex } from '../index-definition.ts';
import { selectorJson } from '../selectors/selector.ts';
import type { Conditions } from './conditions.ts';
import type { Plan } from './plan.ts';
import type { Candidate, Choice, Reason } from './planner.ts';

interface Explained {
  readonly database: string;
  readonly query: FindQuery;
  readonly choice: Choice;
  readonly conditions: Conditions;
  /** Whether the index's keys have all fields that the query tests and returns. */
  readonly isCovering: boolean;
  /** The ids of the documents that are read, in their order, if the plan has them. */
  readonly ids: readonly string[] | undefined;
}

export function explanationJson(explained: Explained): JsonObject {
  const { database, query, choice, conditions, isCovering } = explained;
  const fields = query.fields?.map(({ text }) => text) ?? 'all_fields';
  return {
    dbname: database,
    index: describeIndex(choice.candidates[0]?.index),
    partitioned: false,
    selector: selectorJson(query.selector),
    opts: { ...optionsJson(query), fields },
    limit: query.limit,
    skip: query.skip,
    fields,
    mrargs: { include_docs: !isCovering, ...argumentsJson(query, choice.plan, explained.ids) },
    covering: isCovering,
    index_candidates: choice.candidates.map((candidate, rank) => candidateJson(candidate, rank, explained)),
    selector_hints: [hintsJson(conditions)],
    ...(choice.suggestion === undefined ? {} : { suggested_index: { index: choice.suggestion } }),
  };
}

function describeIndex(index: JsonIndex | undefined): JsonObject {
  return index === undefined ? ALL_DOCUMENTS_JSON : indexJson(index);
}

function optionsJson(query: FindQuery): JsonObject {
  const { namedIndex } = query;
  return {
    use_index:
      namedIndex === undefined ? [] : [namedIndex.design, ...(namedIndex.name === undefined ? [] : [namedIndex.name])],
    bookmark: query.bookmark ?? NO_BOOKMARK,
    limit: query.limit,
    skip: query.skip,
    sort: Object.fromEntries(query.sort.map(({ field, direction }) => [field, direction])),
    r: query.r,
    conflicts: query.conflicts,
    stale: false,
    update: query.update,
    stable: query.stable,
    execution_stats: query.executionStats,
    allow_fallback: query.allowFallback,
  };
}

function argumentsJson(query: FindQuery, plan: Plan, ids: readonly string[] | undefined): JsonObject {
  const { start, end } = plan.range;
  return {
    view_type: 'map',
    reduce: false,
    start_key: start ?? null,
    end_key: end ?? '<MAX>',
    direction: plan.descending ? 'rev' : 'fwd',
    update: query.update,
    stable: query.stable,
    conflicts: query.conflicts,
    ...(ids === undefined ? {} : { keys: ids }),
    ...(plan.kind === 'index' && plan.listed !== undefined ? { lookups: plan.listed.values.length } : {}),
  };
}

function candidateJson({ index, isUsable, reasons }: Candidate, rank: number, explained: Explained): JsonObject {
  const isChosen = rank === 0;
  return {
    index: describeIndex(index),
    analysis: {
      usable: isUsable,
      chosen: isChosen,
      ranking: rank,
      reasons: reasons.map((name) => ({ name, text: reasonText(name, index, explained) })),
    },
  };
}

function hintsJson(conditions: Conditions): JsonObject {
  const indexable = conditions.indexable();
  const hinted = new Set(indexable);
  const others = [...conditions.required].filter((field) => !hinted.has(field));
  return { type: 'json', indexable_fields: indexable, unindexable_fields: others };
}

function reasonText(reason: Reason, index: JsonIndex | undefined, { query, conditions }: Explained): string {
  switch (reason) {
    case 'is_partial':
      return 'It has only the documents that pass its partial_filter_selector; name it in use_index to have these.';
    case 'field_mismatch':
      return `Documents without ${missingFields(index, conditions)} are not in it, and the selector does not ask for these fields.`;
    case 'empty_selector':
      return 'Documents without its fields are not in it, and the selector asks for no field.';
    case 'sort_order_mismatch':
      return `Its order is not that of the sort: ${namesOf(query.sort)}.`;
    case 'excluded_by_user':
      return 'Another one was named in use_index.';
    case 'less_overlap':
      return 'The chosen one answers more of the selector.';
    case 'too_many_fields':
      return 'The chosen one answers as much with fewer fields.';
    case 'alphabetically_comes_after':
      return 'The chosen one does the same, and comes first by name.';
    case 'unfavored_type':
      return 'The chosen one has no more documents than the database.';
  }
}

function missingFields(index: JsonIndex | undefined, { required }: Conditions): string {
  return namesOf(index?.columns.filter(({ field }) => !required.has(field)) ?? []);
}

/** Returns the first names only: a query may sort by very many fields, and the names are repeated for each index. */
function namesOf(fields: readonly { readonly field: string }[]): string {
  const names = fields.slice(0, MAX_NAMES).map(({ field }) => field);
  return names.join(', ') + (fields.length > MAX_NAMES ? ', …' : '');
}

const MAX_NAMES = 20;
