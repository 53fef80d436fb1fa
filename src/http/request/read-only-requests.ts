/**
 * Which requests only read, so that repeating one changes nothing and its response may be requested again. Code that forwards requests
 * to the core needs to know that when the owner of the storage is lost, and has no route table then: a page, a service worker and a
 * tab without the core decide by this list alone. The route table says the same in its rows, and a unit test keeps the two consistent.
 */

import type { PlainRequest } from '../../base/shared/message.ts';

/**
 * What a process that only reads the databases answers itself (docs/internals.md#several-processes), among the requests that only read; all else goes
 * to the owner: what the owner alone knows, and whatever is not named here.
 */
const ANSWERED_BY_READERS: Readonly<Record<'server' | 'database' | 'design', readonly string[]>> = {
  server: ['', '_all_dbs', '_session', '_up', '_utils', '_uuids', 'favicon.ico'],
  database: [
    '_all_docs',
    '_bulk_get',
    '_changes',
    '_design_docs',
    '_explain',
    '_find',
    '_index',
    '_local',
    '_local_docs',
    '_missing_revs',
    '_revs_diff',
    '_revs_limit',
    '_security',
  ],
  design: ['_list', '_show', '_view'],
};
/** With a feed, these go on for long, and then an index may need the owner. */
const LIVE_QUERIES: readonly string[] = ['_find', '_view'];
/** Databases whose names look like names of resources. The owner shows what is in `_replicator`: it knows how its replications are. */
const SYSTEM_DATABASES: readonly string[] = ['_users', '_global_changes'];

/** Below `_node/_local`. */
const OF_EACH_SERVER: readonly string[] = ['_stats', '_system', '_prometheus'];

const READING_METHODS: readonly string[] = ['GET', 'HEAD', 'QUERY'];
/** Methods that read or write depending on the path. */
const OPEN_METHODS: readonly string[] = ['POST', 'OPTIONS'];

/** POSTs that only read, by the paths of their rows in `http/routes.ts`. */
export const READ_ONLY_POSTS: Readonly<Record<'server' | 'database' | 'design', readonly string[]>> = {
  server: ['_dbs_info'],
  database: [
    '_all_docs',
    '_all_docs/queries',
    '_bulk_get',
    '_changes',
    '_design_docs',
    '_design_docs/queries',
    '_explain',
    '_find',
    '_local_docs',
    '_local_docs/queries',
    '_missing_revs',
    '_revs_diff',
    '_temp_view',
  ],
  design: ['_list/*', '_show/*', '_view/*'],
};

/**
 * Whether the request only reads. `base` is the beginning of every address of the service, with a slash at its end. A path that is
 * percent-encoded without need counts as writing, as does everything unknown here.
 */
export function isReadOnlyRequest(
  { method, url, headers }: Pick<PlainRequest, 'method' | 'url' | 'headers'>,
  base: string,
): boolean {
  if (READING_METHODS.includes(method)) return true;
  if (!OPEN_METHODS.includes(method) || headers['x-http-method-override'] !== undefined || !url.startsWith(base))
    return false;
  const [path = ''] = url.slice(base.length).split(/[?#]/, 1);
  const [first = '', ...below] = path.split('/').filter(Boolean);
  const { server, database, design } = READ_ONLY_POSTS;
  if (below.length === 0) return server.includes(first);
  return below[0] === '_design' ? design.includes(`${below[2]}/*`) : database.includes(below.join('/'));
}

/** Whether a process that only reads the databases answers the request itself. `base`: as for `isReadOnlyRequest`. */
export function isAnsweredByReaders(request: Pick<PlainRequest, 'method' | 'url' | 'headers'>, base: string): boolean {
  const { url } = request;
  if (!isReadOnlyRequest(request, base) || !url.startsWith(base)) return false;
  const [path = '', search = ''] = url.slice(base.length).split(/[?#]/, 2);
  const [first = '', second, third, fourth] = path.split('/').filter(Boolean);
  const { server, database, design } = ANSWERED_BY_READERS;
  if (first === '' || (isWord(first) && !SYSTEM_DATABASES.includes(first))) return server.includes(first);
  if (second === undefined) return false;
  const isOfDesign = second === '_design' && third !== undefined;
  const resource = isOfDesign ? fourth : second;
  if (resource === undefined || !isWord(resource)) return true;
  if (LIVE_QUERIES.includes(resource) && hasFeed(search)) return false;
  return (isOfDesign ? design : database).includes(resource);
}

/** Whether a request's address lets an index be shown that lacks the latest changes. */
export function mayShowFormerIndex({ url }: Pick<PlainRequest, 'url'>): boolean {
  const [, search = ''] = url.split(/[?#]/, 2);
  if (!/stale|update|%/.test(search)) return false;
  const query = new URLSearchParams(search);
  return query.has('stale') || query.has('update');
}

/** Whether the query string has that parameter, percent-encoded or not. */
function hasFeed(search: string): boolean {
  return /feed|%/.test(search) && new URLSearchParams(search).has('feed');
}

/**
 * The database whose owner does what a request asks for; undefined for what the owner of the list of databases does, such as to create and delete
 * databases. `base`: as for `isReadOnlyRequest`.
 */
export function resourceOf(
  { method, url, headers }: Pick<PlainRequest, 'method' | 'url' | 'headers'>,
  base: string,
): string | undefined {
  if (!url.startsWith(base)) return undefined;
  const [path = ''] = url.slice(base.length).split(/[?#]/, 1);
  const [first, second] = path.split('/').filter(Boolean);
  // The owner of the list owns those whose names begin with an underscore, too.
  if (first === undefined || isWord(first)) return undefined;
  const meant = meantMethod({ method, headers });
  if (second === undefined && (meant === 'PUT' || meant === 'DELETE')) return undefined;
  try {
    return decodeURIComponent(first);
  } catch {
    return undefined;
  }
}

/** The method by which a request is answered, unless the header names none (`overrideMethod`). */
export function meantMethod({ method, headers }: Pick<PlainRequest, 'method' | 'headers'>): string {
  return method === 'POST' ? (headers['x-http-method-override'] ?? method) : method;
}

/**
 * Whether each of the servers that share databases answers for itself: what it counts and does. `hops`: how many servers have sent the request on; one
 * of them asks for its own list. `base`: as for `isReadOnlyRequest`.
 */
export function isOfEachServer(
  { method, url, hops = 0 }: Pick<PlainRequest, 'method' | 'url' | 'hops'>,
  base: string,
): boolean {
  if (!url.startsWith(base)) return false;
  const [path = ''] = url.slice(base.length).split(/[?#]/, 1);
  const [first = '', second, third] = path.split('/').filter(Boolean);
  const isNode = first === '_node' && second === '_local';
  if (hops > 0 && first === '_active_tasks') return true;
  if (!READING_METHODS.includes(method)) return false;
  return first === '_stats' || (isNode && (third === undefined || OF_EACH_SERVER.includes(third)));
}

/** Whether the server that gets the request is to restart, and no other one. `base`: as for `isReadOnlyRequest`. */
export function isOwnRestart({ url }: Pick<PlainRequest, 'url'>, base: string): boolean {
  if (!url.startsWith(base)) return false;
  const [path = ''] = url.slice(base.length).split(/[?#]/, 1);
  return path.split('/').filter(Boolean).join('/') === '_node/_local/_restart';
}

/** Whether the request asks how this server is. `base`: as for `isReadOnlyRequest`. */
export function isHealthCheck({ method, url }: Pick<PlainRequest, 'method' | 'url'>, base: string): boolean {
  if (!READING_METHODS.includes(method) || !url.startsWith(base)) return false;
  const [path = ''] = url.slice(base.length).split(/[?#]/, 1);
  return path.split('/').filter(Boolean).join('/') === '_up';
}

/** Whether a segment begins with an underscore, percent-encoded or not. */
function isWord(segment: string): boolean {
  return /^(?:_|%5f)/i.test(segment);
}
