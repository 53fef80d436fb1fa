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
  return new Asking(context);
}

/** What takes work is found out when it is asked for: most ways to log in need a header alone. */
class Asking implements AskingRequest {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  get method(): string {
    return this.#context.request.method;
  }

  get url(): string {
    const { url } = this.#context.request;
    return `${ownOrigin(this.#context)}${url.slice(originOf(url)?.length ?? 0)}`;
  }

  get search(): string {
    const { url } = this.#context.request;
    const mark = url.indexOf('?');
    return mark < 0 ? '' : url.slice(mark + 1);
  }

  get peer(): string | undefined {
    return this.#context.request.peer;
  }

  get address(): string {
    return clientAddress(this.#context);
  }

  get isSecure(): boolean {
    return isSecure(this.#context);
  }

  header(name: string): string | undefined {
    return this.#context.header(name);
  }
}
