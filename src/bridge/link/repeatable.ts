/** Which requests may be carried out twice without anybody seeing a difference: those that only read. */
import type { PlainRequest } from '../../shared/message.ts';
import type { Instance } from '../contract.ts';

const READING_METHOD = /^(GET|HEAD|OPTIONS)$/;

/**
 * POSTs that only read, by what comes below the base; empty segments don't count. Below a database the first segment tells: names of
 * databases may begin with an underscore as well, but ids of their documents may not.
 */
const READING_POST =
  /^\/*(_dbs_info|[^/]+\/+(_design\/+[^/]+\/+_view|_(all_docs|bulk_get|changes|design_docs|explain|find|local_docs|missing_revs|revs_diff)))(\/|$)/;

export function isRepeatable(
  { method, url, headers }: Omit<PlainRequest, 'body' | 'signal'>,
  { base }: Pick<Instance, 'base'>,
): boolean {
  if (READING_METHOD.test(method)) return true;
  if (method !== 'POST' || headers['x-http-method-override'] !== undefined) return false;
  const [path = ''] = url.replace(base, '').split(/[?#]/, 1);
  return READING_POST.test(path);
}
