/** `_stats`: what the service counts about itself (docs/http/server.md#statistics). */

import { DatabaseError } from '../../../base/errors/database-error.ts';
import type { Statistic } from '../../../base/system/counters.ts';
import type { ShownStatistic } from '../../../base/system/statistics.ts';
import type { Answer, Context } from '../../request/context.ts';
import { parseBoolean, parseCount } from '../../request/parameter-values.ts';
import { jsonAnswer } from '../../response/responses.ts';
import type { AdministrationService } from './administration-service.ts';

type Tree = { [name: string]: Tree | unknown };

export function getStatistics(
  _service: AdministrationService,
  context: Context,
  _database: string,
  path: readonly string[],
): Answer {
  if (path.length !== 0 && path.length !== 2) {
    throw new DatabaseError('bad_request', 'Stat names must have exactly two parts.');
  }
  const [section, id] = path;
  const shown = read(context).filter(
    ({ statistic }) => section === undefined || (statistic.section === section && statistic.id === id),
  );
  if (shown.length === 0) throw missing();
  const tree: Tree = {};
  for (const { statistic, current, sum, mean, stddev, min, max } of shown) {
    const description = descriptionOf(statistic);
    const numbers = { current, sum, mean, stddev, min, max };
    put(tree, [statistic.section, statistic.id], { description, ...rounded(numbers) });
  }
  return jsonAnswer(context, 200, JSON.stringify(tree));
}

/** The format of later versions: everything below one root, counted since the service was opened. */
export function answerNodeStatistics(context: Context, path: readonly string[]): Answer {
  let found: unknown = nodeTree(read(context));
  for (const name of path) found = Object.hasOwn(Object(found), name) ? Reflect.get(Object(found), name) : undefined;
  if (found === undefined) throw missing();
  return jsonAnswer(context, 200, JSON.stringify(found));
}

function nodeTree(all: readonly ShownStatistic[]): Tree {
  const tree: Tree = {};
  for (const { statistic, mean, stddev, min, max } of all) {
    const { section, id, kind, read: value } = statistic;
    const desc = descriptionOf(statistic);
    const path = section === 'svc' ? ['svc', id] : ['svc', section, id];
    if (kind !== 'mean') put(tree, path, { value: value(), type: kind === 'count' ? 'counter' : 'gauge', desc });
    else {
      const numbers = { min, max, arithmetic_mean: mean, standard_deviation: stddev };
      put(tree, path, { value: rounded(numbers), type: 'histogram', desc });
    }
  }
  return tree;
}

function read(context: Context): readonly ShownStatistic[] {
  const { query, services } = context;
  const range = parseCount(query.get('range') ?? '0');
  if (parseBoolean(query.get('flush') ?? 'false')) services.statistics.flush();
  return services.statistics.show(range);
}

function put(tree: Tree, path: readonly string[], value: unknown): void {
  const [name = '', ...rest] = path;
  if (rest.length === 0) {
    tree[name] = value;
    return;
  }
  const below: Tree = Object(tree[name] ?? {});
  tree[name] = below;
  put(below, rest, value);
}

/** Rounds to a thousandth. */
function rounded(numbers: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, Math.round(value * 1_000) / 1_000]));
}

function missing(): DatabaseError {
  return new DatabaseError('not_found', 'missing');
}

/** By section and id. */
const DESCRIPTIONS: Readonly<Record<string, string>> = {
  'svc/auth_cache_hits': 'users whose proof was remembered',
  'svc/auth_cache_misses': 'users whose proof was not remembered',
  'svc/database_reads': 'documents read from databases',
  'svc/database_writes': 'documents written to databases',
  'svc/open_databases': 'databases that are open',
  'svc/open_os_files': 'files that are open',
  'svc/request_time': 'milliseconds until requests were answered; each sample is a mean',
  'httpd/bulk_requests': 'requests that write many documents',
  'httpd/clients_requesting_changes': 'feeds that wait for changes',
  'httpd/requests': 'requests',
  'httpd/temporary_view_reads': 'queries of temporary views',
  'httpd/view_reads': 'queries of views',
};

/** What a statistic counts, in a few words. */
export function descriptionOf({ section, id }: Statistic): string {
  if (section === 'httpd_request_methods') return `${id} requests`;
  if (section === 'httpd_status_codes') return `answers ${id}`;
  return DESCRIPTIONS[`${section}/${id}`] ?? '';
}
