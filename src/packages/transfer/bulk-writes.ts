/** How an import writes documents by `_bulk_docs` (docs/http/bulk.md#bulk-writes): in batches, of which only the documents at fault are refused. */

/** Documents that are sent in one request. */
export class Batch<Item extends { readonly text: string }> {
  readonly #mostItems: number;
  readonly #mostCharacters: number;
  #items: Item[] = [];
  #characters = 0;

  /** A single document may have more characters. */
  constructor(mostItems: number, mostCharacters: number) {
    this.#mostItems = mostItems;
    this.#mostCharacters = mostCharacters;
  }

  /** Whether it has as many documents as it may have. */
  get isFull(): boolean {
    return this.#items.length >= this.#mostItems;
  }

  /** Whether it must be sent before that document is added. */
  isFullFor({ text }: Item): boolean {
    return this.isFull || (this.#items.length > 0 && this.#characters + text.length > this.#mostCharacters);
  }

  add(item: Item): void {
    this.#items.push(item);
    this.#characters += item.text.length;
  }

  /** Empties it and returns its content. */
  take(): readonly Item[] {
    const items = this.#items;
    this.#items = [];
    this.#characters = 0;
    return items;
  }
}

/** Texts are sent unchanged, so that numbers keep their digits. */
export function bulkBody(documents: readonly { readonly text: string }[], newEdits: boolean): string {
  return `{${newEdits ? '' : '"new_edits":false,'}"docs":[${documents.map(({ text }) => text).join(',')}]}`;
}

/**
 * Statuses of a request for which one of its documents may be the cause. With any other the database says that it can't take documents at
 * all, or that something is broken.
 */
export const ABOUT_DOCUMENTS: ReadonlySet<number> = new Set([400, 409, 412, 413, 414, 415, 417, 422, 501]);

/** The same for a document that is sent alone: an error of a validation function is then the response's status. */
export const ABOUT_ONE_DOCUMENT: ReadonlySet<number> = new Set([...ABOUT_DOCUMENTS, 401, 403]);

interface Sender<Item> {
  send(items: readonly Item[]): Promise<void>;
  /** Whether one of the documents may be the cause of an error. */
  isAboutDocuments(error: unknown): boolean;
  /** Called for a document that is refused alone. */
  refuse(item: Item, error: unknown): void;
  /** Called when documents are to be sent again in halves. */
  onSplit?(error: unknown): void;
}

/** If a request is refused because of a malformed document none of it is written: so this finds that document by bisection. */
export async function sendBisecting<Item>(items: readonly Item[], sender: Sender<Item>): Promise<void> {
  const [first, ...others] = items;
  if (first === undefined) return;
  try {
    await sender.send(items);
  } catch (error) {
    if (!sender.isAboutDocuments(error)) throw error;
    if (others.length === 0) return sender.refuse(first, error);
    sender.onSplit?.(error);
    const middle = items.length >> 1;
    await sendBisecting(items.slice(0, middle), sender);
    await sendBisecting(items.slice(middle), sender);
  }
}

interface Named {
  readonly id?: unknown;
  readonly rev?: unknown;
}

/**
 * Finds the document that a result row is about, by index. Used if `new_edits` is false: only refusals are answered then. One document
 * may be sent in several revisions, and each is answered once.
 */
export function createFinder(documents: readonly Named[]): (row: Named) => number | undefined {
  const indexes = new Map<unknown, number[]>();
  for (const [index, { id }] of documents.entries()) {
    const known = indexes.get(id);
    if (known === undefined) indexes.set(id, [index]);
    else known.push(index);
  }
  return ({ id, rev }) => {
    const candidates = indexes.get(id) ?? [];
    const own = candidates.findIndex((index) => documents[index]?.rev === rev);
    return candidates.splice(Math.max(own, 0), 1)[0];
  };
}
