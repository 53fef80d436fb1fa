/** The functions with which the app in this page provides bearer tokens for other servers (docs/browser.md#sync-with-a-token). */
import { isAtOrBelow } from '../../base/shared/url-prefix.ts';
import { instanceName, tokenChannelName } from '../bridge/instance.ts';
import { PROTOCOL, type TokenMessage } from '../bridge/wire.ts';
import { asTokenMessage } from '../bridge/wire-codec.ts';
import type { TokenProvider } from './contract.ts';

interface Provider {
  readonly prefix: string;
  readonly provide: TokenProvider;
  /** Questions that come meanwhile wait for the same answer. */
  asked: Promise<TokenAnswer> | undefined;
}

/** What the app says: a token, none at present, or why it failed. */
type TokenAnswer =
  | { readonly kind: 'token'; readonly token: string; readonly expires?: number }
  | { readonly kind: 'no-token'; readonly reason?: string; readonly isOffline?: boolean };

type WithoutProtocol<M> = M extends unknown ? Omit<M, 'protocol'> : never;

const MAX_REASON_LENGTH = 500;
const OFF = 'this device is offline';

export class TokenProviders {
  readonly #name: string;
  readonly #page = crypto.randomUUID();
  /** The latest last. */
  readonly #providers = new Set<Provider>();
  /** The questions that are being answered. */
  readonly #answering = new Set<string>();
  /** Open while there are any. */
  #channel: BroadcastChannel | undefined;

  /** `base` is absolute, with a slash at its end. */
  constructor(base: string) {
    this.#name = tokenChannelName({ name: instanceName(base) });
  }

  /** Tells replications that wait that this page was opened. */
  announcePage(): void {
    const channel = this.#channel ?? new BroadcastChannel(this.#name);
    send(channel, { kind: 'provider-added' });
    if (channel !== this.#channel) channel.close();
  }

  /** Fails with a TypeError if that is not an address. Returns a function that removes the provider. */
  add(url: string | URL, provide: TokenProvider): () => void {
    const prefix = toPrefix(url);
    if (typeof provide !== 'function') throw new TypeError('credentials() needs a function that returns a token');
    const provider: Provider = { prefix, provide, asked: undefined };
    this.#providers.add(provider);
    this.#channel ??= this.#open();
    send(this.#channel, { kind: 'provider-added', prefix });
    return () => this.#remove(provider);
  }

  close(): void {
    for (const provider of [...this.#providers]) this.#remove(provider);
  }

  #remove(provider: Provider): void {
    if (!this.#providers.delete(provider) || this.#channel === undefined) return;
    send(this.#channel, { kind: 'provider-removed', prefix: provider.prefix });
    if (this.#providers.size > 0) return;
    this.#channel.close();
    this.#channel = undefined;
  }

  #open(): BroadcastChannel {
    const channel = new BroadcastChannel(this.#name);
    channel.onmessage = ({ data }: MessageEvent<unknown>) => {
      const message = asTokenMessage(data);
      if (message?.kind === 'token-wanted') void this.#answer(channel, message);
    };
    return channel;
  }

  async #answer(channel: BroadcastChannel, { question, url }: { readonly question: string; readonly url: string }) {
    const provider = this.#providerOf(url);
    if (provider === undefined) return;
    const page = this.#page;
    send(channel, { kind: 'token-coming', question, page });
    // The same question comes again when another page can answer it.
    if (this.#answering.has(question)) return;
    this.#answering.add(question);
    provider.asked ??= ask(provider.provide).finally(() => {
      provider.asked = undefined;
    });
    const answer = await provider.asked;
    this.#answering.delete(question);
    // Meanwhile the user may have logged out.
    if (this.#providers.has(provider)) send(channel, { ...answer, question, page });
    else if (this.#channel === channel) send(channel, { kind: 'no-token', question, page });
  }

  /** The one with the longest prefix, and of these the latest. */
  #providerOf(url: string): Provider | undefined {
    let best: Provider | undefined;
    for (const provider of this.#providers) {
      const isBetter = best === undefined || provider.prefix.length >= best.prefix.length;
      if (isBetter && isAtOrBelow(url, provider.prefix)) best = provider;
    }
    return best;
  }
}

async function ask(provide: TokenProvider): Promise<TokenAnswer> {
  try {
    const provided = await provide();
    if (provided === undefined || provided === null) return isOff() ? offline(OFF) : { kind: 'no-token' };
    const { token, expires }: { readonly token?: unknown; readonly expires?: unknown } = Object(provided);
    if (typeof token !== 'string')
      return { kind: 'no-token', reason: 'it returned an object without a string `token`' };
    return { kind: 'token', token, ...(typeof expires === 'number' && { expires }) };
  } catch (error) {
    const reason = (error instanceof Error ? error.message : String(error)).slice(0, MAX_REASON_LENGTH);
    return isOff() || isOfNetwork(error) ? offline(reason) : { kind: 'no-token', reason };
  }
}

function offline(reason: string): TokenAnswer {
  return { kind: 'no-token', reason, isOffline: true };
}

/** Whether the browser knows that there is no network. */
function isOff(): boolean {
  return navigator.onLine === false;
}

/**
 * What the engines say when `fetch` gets no response, WebKit with a prefix if a service worker has passed the request on. Other errors of the type
 * TypeError are mistakes of the app.
 */
const NO_RESPONSE =
  /^(FetchEvent.*: )?(Failed to fetch|NetworkError|Load failed|fetch failed|The (Internet|network) connection)/;

/**
 * Whether a request got no response: `fetch` fails so, and others with an error that is named as the web's own, or has one as its cause. Timeouts of
 * libraries are something else: a silent log-in that is blocked ends in one.
 */
function isOfNetwork(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof TypeError && NO_RESPONSE.test(error.message)) return true;
  return /^(Network|Timeout)Error$/.test(error.name) || isOfNetwork(error.cause);
}

function send(channel: BroadcastChannel, message: WithoutProtocol<TokenMessage>): void {
  channel.postMessage({ protocol: PROTOCOL, ...message });
}

function toPrefix(text: string | URL): string {
  const address = String(text);
  const url = parse(address);
  const isAddress = url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
  if (isAddress && url.search === '' && url.hash === '') return url.href;
  throw new TypeError(
    `credentials() needs the address of a server or a database, such as "https://db.example.com/", without a user, a query or a fragment`,
  );
}

/** `URL.canParse` is younger than the oldest browsers that are supported. */
function parse(address: string): URL | undefined {
  try {
    return new URL(address, document.baseURI);
  } catch {
    return undefined;
  }
}
