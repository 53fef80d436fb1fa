import type { Statistic } from '../../../base/system/counters.ts';

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
