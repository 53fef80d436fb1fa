/** What of a request tells who sent it, and over which way (docs/node.md#behind-a-proxy). */
import type { AskingRequest } from '../../auth/contract.ts';
import { addressListSetting } from '../../system/config.ts';
import { originOf } from '../address/target.ts';
import type { Context } from '../request/context.ts';
import { ownOrigin, ownScheme } from './locations.ts';

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

/** Whether the client came by https, so that a cookie may be kept from unsafe ways. */
export function isSecure(context: Context): boolean {
  return ownScheme(context) === 'https';
}

export function askingRequest(context: Context): AskingRequest {
  const { request } = context;
  return {
    method: request.method,
    url: `${ownOrigin(context)}${request.url.slice(originOf(request.url)?.length ?? 0)}`,
    peer: request.peer,
    address: clientAddress(context),
    isSecure: isSecure(context),
    header: (name) => context.header(name),
  };
}
