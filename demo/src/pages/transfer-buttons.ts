/** A database as a file, and back: gzipped JSON lines, the format that `settee import` and `settee export` also use. */
import type { Settee } from 'settee';
import { exportDatabase, importDatabase, type RefusedLine } from 'settee/transfer';
import type { Database } from '../data/database.ts';
import { button, fill, make } from '../elements/elements.ts';
import { formatBytes, formatCount, formatDocuments } from '../elements/format.ts';

/** How many documents of an export lie between two figures that are shown. */
const STEP = 500;

/** What a transfer reports while it runs. */
type Show = (documents: number, done: number, total: number | undefined) => void;

/** The two buttons of a database, or their progress. The element stays the same while the page around it changes. */
export class TransferButtons {
  readonly element = make('div', { class: 'transfer' });
  readonly #settee: Settee;
  readonly #name: string;
  readonly #database: Database;
  readonly #choice = make('input', {
    type: 'file',
    accept: '.jsonl,.gz,.json',
    hidden: true,
    change: () => this.#chosen(),
  });
  /** Whether there is anything to export. */
  #isThere = false;
  #isRunning = false;
  /** The result of the last transfer. */
  #told = '';

  constructor(settee: Settee, database: Database) {
    this.#settee = settee;
    this.#database = database;
    this.#name = database.name;
    this.#showButtons();
  }

  set isThere(isThere: boolean) {
    if (this.#isThere === isThere) return;
    this.#isThere = isThere;
    // An import sometimes ends before the page learns of the database that it created.
    if (!isThere) this.#told = '';
    if (!this.#isRunning) this.#showButtons();
  }

  #showButtons(): void {
    const choose = () => this.#choice.click();
    fill(
      this.element,
      make('span', { class: 'told', role: 'status' }, this.#told),
      this.#isThere && button('Export', () => void this.#export(), { 'data-action': `export-${this.#name}` }),
      button('Import …', choose, { 'data-action': `import-${this.#name}` }),
      this.#choice,
    );
  }

  #chosen(): void {
    const [file] = this.#choice.files ?? [];
    if (file) void this.#import(file);
    // Allows the same file to be chosen again.
    this.#choice.value = '';
  }

  #export(): Promise<void> {
    return this.#run(async (signal, show) => {
      let count = 0;
      const lines = exportDatabase(this.#settee.fetch, this.#path, {
        signal,
        onProgress: ({ documents, total }) => {
          count = documents;
          if (documents % STEP === 0) show(documents, documents, total);
        },
      });
      const file = await new Response(lines.pipeThrough(new CompressionStream('gzip'))).blob();
      save(file, `${this.#name}.jsonl.gz`);
      return `${describe(count, await this.#database.countDesigns())}, ${formatBytes(file.size)}`;
    });
  }

  #import(file: File): Promise<void> {
    return this.#run(async (signal, show) => {
      let first: RefusedLine | undefined;
      const before = this.#isThere ? await this.#database.countDesigns() : 0;
      const { written, refused } = await importDatabase(this.#settee.fetch, this.#path, file, {
        signal,
        onRefused: (refusal) => {
          first ??= refusal;
        },
        onProgress: ({ written, bytes, total }) => show(written, bytes, total),
      });
      if (first === undefined) return describe(written, (await this.#database.countDesigns()) - before);
      return `${formatCount(written)} written, ${formatCount(refused)} refused; line ${first.line}: ${first.reason}`;
    });
  }

  async #run(work: (signal: AbortSignal, show: Show) => Promise<string>): Promise<void> {
    const controller = new AbortController();
    const progress = make('progress', { max: 1, 'aria-label': 'Progress' });
    const count = make('span', { class: 'told' });
    fill(
      this.element,
      count,
      progress,
      button('Stop', () => controller.abort()),
    );
    this.#isRunning = true;
    this.#told = '';
    try {
      this.#told = await work(controller.signal, (documents, done, total) => {
        fill(count, formatCount(documents));
        if (total !== undefined) progress.value = done / Math.max(1, total);
      });
    } catch (error) {
      this.#told = controller.signal.aborted ? 'Stopped' : error instanceof Error ? error.message : String(error);
    }
    this.#isRunning = false;
    this.#showButtons();
  }

  get #path(): string {
    return `/db/${encodeURIComponent(this.#name)}`;
  }
}

/** As the page counts everywhere: design documents, which define views, are counted by themselves. */
function describe(all: number, designs: number): string {
  if (designs <= 0) return formatDocuments(all);
  const documents = formatDocuments(all - designs);
  return `${documents} and ${designs} design ${designs === 1 ? 'document' : 'documents'}`;
}

function save(file: Blob, name: string): void {
  const href = URL.createObjectURL(file);
  make('a', { href, download: name }).click();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}
