/**
 * Which requests only read, so that repeating one changes nothing and its response may be requested again. Code that forwards requests
 * to the core needs to know that when the owner of the storage is lost, and has no route table then: a page, a service worker and a
 * tab without the core decide by this list alone. The route table says the same in its rows, and a unit test keeps the two consistent.
 */

import type { PlainRequest } from '../../base/shared/message.ts';

const READING_METHODS: readonly string[] = ['GET', 'HEAD'];
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
