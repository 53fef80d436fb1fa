/** What a component shows of a database: read once, and again whenever changes concern it. Knows no framework. */
import { pause } from '../../base/shared/clock.ts';
import type { Database } from '../database-client/contract.ts';
import { type Follower, follow } from './shared-feed.ts';

/** After a failed read: the first pause before it is tried again, and the longest. */
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 10_000;

export type LiveStatus = 'idle' | 'loading' | 'ready' | 'failed';

/** What all states have in common. */
export interface LiveState {
  /**
   * `idle`: nothing was asked for. `loading`: nothing was read yet, or what is shown belongs to the question before. `failed`: `error` says
   * why; it is tried again by itself.
   */
  readonly status: LiveStatus;
  /** A `SetteeError`, or what `fetch` failed with. Undefined as soon as a read succeeds. */
  readonly error: unknown;
}

/** Whether a server renders the page: then nothing is followed. */
export function isOnServer(): boolean {
  return !('document' in globalThis);
}

/** What frameworks follow. `get` returns the same object until something changes. */
export interface Followable<State> {
  get(): State;
  /** Nothing is read before the first call. */
  subscribe(listener: () => void): () => void;
}

/** `Question`: what is read, as JSON; undefined for nothing. `Content`: what was read, with its names in the state. */
export abstract class LiveValue<T extends object, Question, Content extends object>
  implements Followable<LiveState & Content>, Follower
{
  protected readonly database: Database<T>;
  readonly #nothing: Content;
  readonly #listeners = new Set<() => void>();
  #question: Question | undefined;
  #questionText: string | undefined;
  #state: LiveState & Content;
  #contentText = '';
  #leave: (() => void) | undefined;
  #isReading = false;
  #mustRead = false;
  #retryMs = FIRST_PAUSE_MS;
  #retry: ReturnType<typeof setTimeout> | undefined;

  constructor(database: Database<T>, question: Question | undefined, nothing: Content) {
    this.database = database;
    this.#nothing = nothing;
    this.#question = question;
    this.#questionText = JSON.stringify(question);
    this.#state = { ...nothing, status: question === undefined ? 'idle' : 'loading', error: undefined };
  }

  /** Sends the requests for a question. */
  protected abstract read(question: Question): Promise<Content>;

  /** Whether changes of these documents concern the question. */
  protected abstract concerns(ids: ReadonlySet<string>, question: Question): boolean;

  /** What is shown while a new question is read: by default, what the one before has brought. */
  protected meanwhile(shown: Content): Content {
    return shown;
  }

  readonly get = (): LiveState & Content => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    // A listener of its own for each call: a function may subscribe twice.
    const own = () => listener();
    this.#listeners.add(own);
    this.#leave ??= follow(this.database, this);
    return () => {
      this.#listeners.delete(own);
      if (this.#listeners.size > 0) return;
      this.#leave?.();
      this.#leave = undefined;
      clearTimeout(this.#retry);
    };
  };

  /** What is to be shown for a question: the state, or, before the question is asked, what it will be then. */
  stateFor(question: Question | undefined): LiveState & Content {
    return JSON.stringify(question) === this.#questionText ? this.#state : this.#before(question);
  }

  /** Asks something else. Listeners are called later: a framework may call this while it renders. */
  ask(question: Question | undefined): void {
    const text = JSON.stringify(question);
    if (text === this.#questionText) return;
    this.#state = this.#before(question);
    this.#question = question;
    this.#questionText = text;
    this.#contentText = '';
    this.#retryMs = FIRST_PAUSE_MS;
    queueMicrotask(() => this.#notify());
    if (this.#leave !== undefined) void this.#readAgain();
  }

  changed(ids: ReadonlySet<string> | undefined): void {
    if (this.#question === undefined) return;
    if (ids === undefined || this.concerns(ids, this.#question)) void this.#readAgain();
  }

  failed(error: unknown): void {
    if (this.#question === undefined) return;
    this.#state = { ...this.#state, status: 'failed', error };
    this.#contentText = '';
    this.#notify();
  }

  #before(question: Question | undefined): LiveState & Content {
    if (question === undefined) return { ...this.#nothing, status: 'idle', error: undefined };
    return { ...this.meanwhile(this.#state), status: 'loading', error: undefined };
  }

  /** One read at a time. Between two of them it waits as long as the former took, so that steady changes leave half of the time to others. */
  async #readAgain(): Promise<void> {
    this.#mustRead = true;
    if (this.#isReading) return;
    this.#isReading = true;
    clearTimeout(this.#retry);
    try {
      while (this.#mustRead && this.#leave !== undefined && this.#question !== undefined) {
        this.#mustRead = false;
        const began = performance.now();
        const text = this.#questionText;
        await this.#readOnce(this.#question, text);
        if (this.#mustRead && text === this.#questionText) await pause(performance.now() - began);
      }
    } finally {
      this.#isReading = false;
    }
  }

  async #readOnce(question: Question, text: string | undefined): Promise<void> {
    let content: Content;
    try {
      content = await this.read(question);
    } catch (error) {
      if (text === this.#questionText) this.#tryLater(error);
      return;
    }
    if (text === this.#questionText) this.#show(content);
  }

  #tryLater(error: unknown): void {
    if (this.#leave !== undefined) {
      clearTimeout(this.#retry);
      this.#retry = setTimeout(() => void this.#readAgain(), this.#retryMs);
      this.#retryMs = Math.min(2 * this.#retryMs, MAX_PAUSE_MS);
    }
    this.failed(error);
  }

  /** Listeners are not called for what is shown already. */
  #show(content: Content): void {
    const text = JSON.stringify(content);
    this.#retryMs = FIRST_PAUSE_MS;
    if (text === this.#contentText) return;
    this.#contentText = text;
    this.#state = { ...content, status: 'ready', error: undefined };
    this.#notify();
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
