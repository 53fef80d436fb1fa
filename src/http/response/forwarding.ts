/**
 * What a reverse proxy says of the request as its client sent it: `X-Forwarded-Host`, `-Proto` and `-Ssl`, or as the settings name them. Any
 * client can send these headers, so they count only if the request comes from a proxy that the operator named
 * (docs/node.md#behind-a-proxy).
 */
import { addressListSetting } from '../../base/system/config.ts';
import type { Context } from '../request/context.ts';

export function forwardedHost(context: Context): string | undefined {
  return forwarded(context, 'x_forwarded_host');
}

export function forwardedScheme(context: Context): 'http' | 'https' | undefined {
  if (forwarded(context, 'x_forwarded_ssl') === 'on') return 'https';
  const scheme = forwarded(context, 'x_forwarded_proto')?.toLowerCase();
  return scheme === 'http' || scheme === 'https' ? scheme : undefined;
}

/** Several proxies make a list; the first entry is what the client requested. An empty entry counts as none. `setting`: that of the header's name. */
function forwarded(
  context: Context,
  setting: 'x_forwarded_host' | 'x_forwarded_proto' | 'x_forwarded_ssl',
): string | undefined {
  const { config } = context.services;
  if (!config.get('httpd', 'trusted_proxies')) return undefined;
  const name = config.get('httpd', setting) || setting.replaceAll('_', '-');
  const header = context.header(name.toLowerCase());
  if (header === undefined || !isFromTrustedProxy(context)) return undefined;
  return header.split(',', 1)[0]?.trim() || undefined;
}

function isFromTrustedProxy({ request: { peer }, services: { config } }: Context): boolean {
  return peer !== undefined && addressListSetting(config, 'httpd', 'trusted_proxies').includes(peer);
}
