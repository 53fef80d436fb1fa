/** The blocks of one page, and what has been run of them. */
import { Answer } from './answer.ts';
import { type Code, consoleFor, createAccess, execute, type Loop, type Scope } from './execute.ts';
import { PageDatabase } from './page-database.ts';

interface PageBlocks {
  readonly path: string;
  readonly blocks: readonly Code[];
}

/** Pages of the interface share what those before them have stored. */
const INTERFACE = /^docs\/http\//;

export class Blocks {
  readonly #elements: readonly HTMLElement[];
  readonly #database: PageDatabase;
  readonly #site: string;
  readonly #path: string;
  #scope: Scope | undefined;
  /** How many blocks have run, from the first. */
  #done = 0;
  /** Ends what was started since the page was emptied. */
  #end = new AbortController();
  /** Ends what the last run of each app has started. */
  readonly #apps = new WeakMap<HTMLElement, AbortController>();
  /** One at a time. */
  #turn: Promise<void> = Promise.resolve();

  /** `path` is that of the page in the repository. */
  constructor(site: string, path: string, elements: readonly HTMLElement[]) {
    this.#site = site;
    this.#path = path;
    this.#elements = elements;
    this.#database = new PageDatabase(site, path.replace(/\W+/g, '-').toLowerCase());
  }

  /** Runs a block, and before it those above it that have not run. Never rejects: what goes wrong is shown. */
  run(element: HTMLElement): Promise<void> {
    return this.#inTurn(element, async () => {
      const index = this.#elements.indexOf(element);
      await this.#prepare(element);
      for (let at = Math.min(this.#done, index); at <= index; at++) await this.#runOne(this.#elements[at]);
      this.#done = Math.max(this.#done, index + 1);
    });
  }

  /** Deletes what the page has stored, and all answers. */
  empty(element: HTMLElement): Promise<void> {
    return this.#inTurn(element, async () => {
      await this.#reset();
      for (const one of this.#elements) clear(one);
    });
  }

  #inTurn(element: HTMLElement, task: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(async () => {
      setState(element, 'Running …');
      try {
        await task();
        setState(element, '');
      } catch (error) {
        answerOf(element).error(error);
        setState(element, 'It failed.');
      }
    });
    return this.#turn;
  }

  async #reset(): Promise<void> {
    this.#scope = undefined;
    this.#done = 0;
    this.#end.abort();
    this.#end = new AbortController();
    for (const one of this.#elements) this.#apps.get(one)?.abort();
    await this.#database.empty();
  }

  /** A page begins with an empty database, so that its answers are those that it shows. */
  async #prepare(element: HTMLElement): Promise<Scope> {
    if (this.#scope !== undefined) return this.#scope;
    setState(element, 'Starting Settee …');
    await this.#reset();
    const scope: Scope = {};
    this.#scope = Object.assign(scope, this.#access(scope, this.#end));
    if (INTERFACE.test(this.#path)) await this.#runPagesBefore(element, scope);
    return scope;
  }

  #access(scope: Scope, { signal }: AbortController): Scope {
    const isOver = () => signal.aborted || this.#scope !== scope || !this.#elements[0]?.isConnected;
    return createAccess(this.#database, isOver, signal);
  }

  async #runPagesBefore(element: HTMLElement, scope: Scope): Promise<void> {
    setState(element, 'Running the pages before this one …');
    const pages: readonly PageBlocks[] = await (await fetch(`${this.#site}data/http.json`)).json();
    const before = pages.slice(
      0,
      pages.findIndex(({ path }) => path === this.#path),
    );
    this.#database.onExchange = () => undefined;
    const silent = { log: () => undefined };
    for (const code of before.flatMap(({ blocks }) => blocks)) await execute(code, scope, silent);
  }

  async #runOne(element: HTMLElement | undefined): Promise<void> {
    const scope = this.#scope;
    if (element === undefined || scope === undefined) return;
    const answer = answerOf(element);
    const code: Code = JSON.parse(element.dataset['code'] ?? '');
    // What an app follows would otherwise be followed once more by each further run.
    this.#apps.get(element)?.abort();
    const end = code.html === undefined ? this.#end : new AbortController();
    if (end !== this.#end) this.#apps.set(element, end);
    const fail = (error: unknown) => {
      answer.error(error);
      element.dataset['outcome'] = 'failed';
    };
    this.#database.onExchange = (exchange) => answer.exchange(exchange);
    scope['setteeFollow'] = (loop: Loop) => {
      const running = loop(consoleFor(answer));
      running.catch((error) => end.signal.aborted || fail(error));
      return Promise.race([running, this.#database.waits()]);
    };
    try {
      if (code.html !== undefined) {
        Object.assign(scope, this.#access(scope, end));
        scope['document'] = await answer.frame(code.html);
      }
      answer.value(await execute(code, scope, answer));
      await answer.finished();
      element.dataset['outcome'] = 'succeeded';
    } catch (error) {
      fail(error);
    }
    Object.assign(scope, this.#access(scope, this.#end));
    // An app goes on. What other blocks have left behind would be shown below one that runs later.
    if (code.html === undefined) this.#database.onExchange = () => undefined;
    for (const one of buttonsIn(element)) one.hidden = false;
  }
}

function answerOf(element: HTMLElement): Answer {
  const target = element.querySelector<HTMLElement>('.runnable-answer');
  if (target === null) throw new Error('The block has no place for its answer');
  return new Answer(target);
}

function clear(element: HTMLElement): void {
  delete element.dataset['outcome'];
  const answer = element.querySelector<HTMLElement>('.runnable-answer');
  if (answer === null) return;
  answer.replaceChildren();
  answer.hidden = true;
  for (const one of buttonsIn(element)) one.hidden = true;
}

function buttonsIn(element: HTMLElement): Iterable<HTMLElement> {
  return element.querySelectorAll<HTMLElement>('.runnable-empty');
}

function setState(element: HTMLElement, text: string): void {
  const state = element.querySelector('.runnable-state');
  if (state !== null) state.textContent = text;
}
