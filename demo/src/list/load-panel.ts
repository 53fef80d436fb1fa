/** Offers to load a dataset's documents, and shows how that goes. */
import type { Database } from '../data/database.ts';
import type { Dataset } from '../data/datasets.ts';
import { load, type Progress } from '../data/loading.ts';
import { button, fill, make } from '../elements/elements.ts';
import { formatCount, formatDocuments, formatShare } from '../elements/format.ts';

export interface LoadHost {
  onBatch(progress: Progress): void;
  /** A load begins or has ended. */
  onLoading(): void;
}

/** How long the result of a load stays visible. */
const OUTCOME_MS = 15_000;

export class LoadPanel {
  readonly element = make('section', { class: 'load', hidden: true });
  readonly #dataset: Dataset;
  readonly #database: Database;
  readonly #host: LoadHost;
  readonly #bar: HTMLProgressElement;
  readonly #figures = make('p', { class: 'figures', role: 'status' });
  #aborter: AbortController | undefined;
  #forget: ReturnType<typeof setTimeout> | undefined;
  #documents: number | undefined;
  /** The result of the last load; for a while. */
  #outcome: string | undefined;

  constructor(dataset: Dataset, database: Database, host: LoadHost) {
    this.#dataset = dataset;
    this.#database = database;
    this.#host = host;
    this.#bar = make('progress', { max: dataset.count, value: 0, 'aria-label': `Loading ${dataset.plural}` });
  }

  /** How many documents there are; undefined: no database. */
  set documents(documents: number | undefined) {
    this.#documents = documents;
    if (!this.#aborter) this.#render();
  }

  get isLoading(): boolean {
    return this.#aborter !== undefined;
  }

  async load(): Promise<void> {
    const aborter = new AbortController();
    this.#aborter = aborter;
    clearTimeout(this.#forget);
    this.#outcome = undefined;
    this.#renderProgress();
    this.#host.onLoading();
    let latest: Progress | undefined;
    const onProgress = (progress: Progress) => {
      latest = progress;
      this.#show(progress);
      this.#host.onBatch(progress);
    };
    try {
      await load(this.#dataset, this.#database, aborter.signal, onProgress);
      this.#outcome = latest && outcomeOf(latest);
    } catch (error) {
      this.#outcome = aborter.signal.aborted ? 'Cancelled. What was written stays.' : messageOf(error);
    }
    this.#aborter = undefined;
    this.#host.onLoading();
    this.#render();
    this.#forget = setTimeout(() => {
      this.#outcome = undefined;
      this.#render();
    }, OUTCOME_MS);
  }

  #render(): void {
    const { count, plural, about } = this.#dataset;
    const documents = this.#documents ?? 0;
    const missing = count - documents;
    this.element.hidden = missing <= 0 && this.#outcome === undefined;
    this.element.classList.toggle('is-small', documents > 0);
    const verb = documents > 0 ? `Load the other ${formatCount(missing)}` : `Load ${formatCount(count)} ${plural}`;
    fill(
      this.element,
      documents === 0 && make('h2', {}, `No ${plural} yet`),
      documents === 0 && make('p', {}, about),
      this.#outcome !== undefined && make('p', { class: 'figures', role: 'status' }, this.#outcome),
      missing > 0 && button(verb, () => void this.load(), { class: 'primary', 'data-action': 'load' }),
    );
  }

  #renderProgress(): void {
    this.element.hidden = false;
    this.element.classList.add('is-small');
    this.#bar.removeAttribute('value');
    fill(this.#figures, 'Fetching the file …');
    const cancel = button('Cancel', () => this.#aborter?.abort(new Error('cancelled')), { class: 'quiet' });
    fill(this.element, make('div', { class: 'load-head' }, this.#figures, cancel), this.#bar);
  }

  #show(progress: Progress): void {
    this.#bar.value = progress.done;
    const { done, total, perSecond, seconds } = progress;
    // Not how many there are: that shows elsewhere, and counts what was there before, too.
    fill(
      this.#figures,
      `${formatShare(done, total)} after ${seconds.toFixed(1)} s, ${formatCount(perSecond)} a second`,
    );
  }
}

function outcomeOf({ done, written, perSecond, seconds }: Progress): string {
  const rate = written === done ? `, ${formatCount(perSecond)} a second` : '';
  return `${formatDocuments(written)} in ${seconds.toFixed(1)} s${rate}. Done.`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
