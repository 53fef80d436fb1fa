/** Where a request comes from (docs/node.md#behind-a-proxy). */
import { addressListSetting } from '../../system/config.ts';
import type { Context } from './context.ts';

/** The IP address of who sent the request: behind trusted proxies that of the client that they name. Empty where nobody knows. */
export function clientAddress(context: Context): string {
  const { peer } = context.request;
  const forwarded = context.header('x-forwarded-for');
  if (peer === undefined || forwarded === undefined) return peer ?? '';
  const trusted = addressListSetting(context.services.config, 'httpd', 'trusted_proxies');
  // Each proxy adds whom it was asked by: the last one that is none of ours is the client.
  const hops = [...forwarded.split(',').map((hop) => hop.trim()), peer];
  return hops.reverse().find((hop, index) => !trusted.includes(hop) || index === hops.length - 1) ?? peer;
}
