/** Used by the owner of the storage: asks the open pages of an instance for the bearer tokens that their apps provide. */
import { isAtOrBelow } from '../../base/shared/url-prefix.ts';
import type { ProvidedToken, TokenFailure, TokenSource, TokenSourceChange } from '../../replication/contract.ts';
import type { Instance } from './contract.ts';
import { tokenChannelName } from './instance.ts';
import { PROTOCOL, type TokenMessage } from './wire.ts';
import { asTokenMessage } from './wire-codec.ts';

/** A page that has a provider says so within this time, or its answer counts as news later. */
const COMING_MS = 2_000;
/** How long apps may take to get a token. */
const MAX_WAIT_MS = 30_000;
/** RFC 6750, 2.1, with a length that servers accept. */
const TOKEN = /^[\w.~+/-]{1,16384}=*$/;

type Listener = (change: TokenSourceChange) => void;
type Answer = Extract<TokenMessage, { readonly question: string }>;

export class PageTokens implements TokenSource {
  readonly #name: string;
  readonly #listeners = new Set<Listener>();
  readonly #questions = new Map<string, Question>();
  /** Open while someone listens. */
  #channel: BroadcastChannel | undefined;

  constructor(instance: Instance) {
    this.#name = tokenChannelName(instance);
  }

  async ask(url: string, refused: string | undefined): Promise<ProvidedToken | undefined> {
    const channel = this.#channel;
    if (channel === undefined) return undefined;
    const id = crypto.randomUUID();
    const send = () => {
      const message: TokenMessage = { protocol: PROTOCOL, kind: 'token-wanted', question: id, url };
      channel.postMessage(message);
    };
    const question = new Question(url, refused, send);
    this.#questions.set(id, question);
    return question.answer.finally(() => this.#questions.delete(id));
  }

  onChange(listener: Listener): () => void {
    this.#listeners.add(listener);
    this.#channel ??= this.#open();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#channel?.close();
      this.#channel = undefined;
      for (const question of this.#questions.values()) question.end();
    };
  }

  #open(): BroadcastChannel {
    const channel = new BroadcastChannel(this.#name);
    channel.onmessage = ({ data }: MessageEvent<unknown>) => {
      const message = asTokenMessage(data);
      if (message !== undefined) this.#take(message);
    };
    return channel;
  }

  #take(message: TokenMessage): void {
    if (message.kind === 'provider-added') this.#takeProvider(message.prefix);
    else if (message.kind === 'provider-removed') this.#tell({ type: 'removed', prefix: message.prefix });
    else if (message.kind !== 'token-wanted') {
      const question = this.#questions.get(message.question);
      // The page was too busy to answer in time.
      if (question === undefined && message.kind === 'token') this.#tell({ type: 'added', prefix: undefined });
      question?.take(message);
    }
  }

  /** It has missed the questions that were asked before. */
  #takeProvider(prefix: string | undefined): void {
    for (const { url, ask } of this.#questions.values()) if (prefix !== undefined && isAtOrBelow(url, prefix)) ask();
    this.#tell({ type: 'added', prefix });
  }

  #tell(change: TokenSourceChange): void {
    for (const listener of [...this.#listeners]) listener(change);
  }
}

/** One question, with the pages that are going to answer it. The first token counts that is not the refused one. */
class Question {
  readonly answer: Promise<ProvidedToken | undefined>;
  readonly url: string;
  readonly #refused: string | undefined;
  readonly #send: () => void;
  readonly #coming = new Set<string>();
  readonly #timer: ReturnType<typeof setTimeout>;
  #comingTimer: ReturnType<typeof setTimeout> | undefined;
  #resolve: (token: ProvidedToken | undefined) => void = () => {};
  #reject: (failure: Error) => void = () => {};
  #isComplete = false;
  /** What is left if there is no better answer. */
  #same: ProvidedToken | undefined;
  #failure: Error | undefined;

  constructor(url: string, refused: string | undefined, send: () => void) {
    this.url = url;
    this.#refused = refused;
    this.#send = send;
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#timer = setTimeout(() => this.end(), MAX_WAIT_MS);
    this.ask();
  }

  /** Asks all pages, also those that were asked before. */
  readonly ask = (): void => {
    this.#isComplete = false;
    clearTimeout(this.#comingTimer);
    this.#comingTimer = setTimeout(() => {
      this.#isComplete = true;
      this.#endIfDone();
    }, COMING_MS);
    this.#send();
  };

  take(message: Answer): void {
    if (message.kind === 'token-wanted') return;
    if (message.kind === 'token-coming') {
      this.#coming.add(message.page);
      return;
    }
    this.#coming.delete(message.page);
    if (message.kind === 'token') this.#takeToken(message);
    else if (message.reason !== undefined) this.#failure = failureOf(message.reason, message.isOffline);
    this.#endIfDone();
  }

  /** Ends with what is known so far. */
  end(): void {
    if (this.#same === undefined && this.#failure !== undefined) this.#reject(this.#failure);
    this.#finish(this.#same);
  }

  #takeToken({ token, expires }: Extract<Answer, { readonly kind: 'token' }>): void {
    if (!TOKEN.test(token)) {
      const why = 'it provided something that is no bearer token: only letters, digits and -._~+/ may be in it';
      this.#failure = new Error(why);
      return;
    }
    const provided = { token, expires };
    if (token === this.#refused) this.#same = provided;
    else this.#finish(provided);
  }

  #endIfDone(): void {
    if (this.#isComplete && this.#coming.size === 0) this.end();
  }

  #finish(token: ProvidedToken | undefined): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#comingTimer);
    this.#resolve(token);
  }
}

function failureOf(reason: string, isOffline = false): TokenFailure {
  return Object.assign(new Error(reason), { isOffline });
}
