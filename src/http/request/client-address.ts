/** Where a request comes from (docs/node.md#behind-a-proxy). */
import { clientAddressOf } from '../../base/system/config.ts';
import type { Context } from './context.ts';

/** The IP address of the sender; behind trusted proxies, that of the client that they name. Empty if it is unknown. */
export function clientAddress(context: Context): string {
  return clientAddressOf(context.services.config, context.request.peer, context.header('x-forwarded-for'));
}
