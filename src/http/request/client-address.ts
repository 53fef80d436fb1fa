/** Where a request comes from (docs/node.md#behind-a-proxy). */
import { clientAddressOf } from '../../base/system/config.ts';
import type { Context } from './context.ts';

/** The IP address of who sent the request: behind trusted proxies that of the client that they name. Empty where nobody knows. */
export function clientAddress(context: Context): string {
  return clientAddressOf(context.services.config, context.request.peer, context.header('x-forwarded-for'));
}
