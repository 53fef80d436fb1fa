/** The parts of a request that tell who sent it, and over which connection (docs/node.md#behind-a-proxy). */
import type { AskingRequest, Way } from '../../accounts/contract.ts';
import { originOf } from '../request/address.ts';
import type { Context } from '../request/context.ts';
import { ownHost, ownOrigin, ownScheme } from './locations.ts';

const THIS_MACHINE = /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?$/i;

export function wayOf(context: Context): Way {
  if (ownScheme(context) === 'https') return 'https';
  // Within a page, no one names a host.
  return THIS_MACHINE.test(ownHost(context) ?? 'localhost') ? 'local' : 'http';
}

export function askingRequest(context: Context): AskingRequest {
  return new Asking(context);
}

/** Finds out what takes work only on demand: most ways to log in need only a header. */
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
    return this.#context.clientAddress;
  }

  get way(): Way {
    return wayOf(this.#context);
  }

  header(name: string): string | undefined {
    return this.#context.header(name);
  }
}
