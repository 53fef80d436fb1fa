import { ContentMismatch, checkInline } from '../attachments/content-check.ts';
import type { FoundDocument, WantedDocument } from '../contract.ts';
import { readDocumentText } from './document-text.ts';

/** A requested document: which of its revisions arrived, or are known not to arrive. */
export class Settled {
  readonly wanted: WantedDocument;
  readonly #take: (found: FoundDocument) => Promise<void>;
  /** The wanted revisions. */
  readonly revs: ReadonlySet<string>;
  readonly #open: Set<string>;
  /** Revisions that were passed on. Several wanted revisions may have the same leaf, which arrives for each of them. */
  readonly #given = new Set<string>();
  /** The problem with the last unusable response; undefined if there was none. */
  #problem: string | undefined;

  constructor(wanted: WantedDocument, take: (found: FoundDocument) => Promise<void>) {
    this.wanted = wanted;
    this.#take = take;
    this.revs = new Set(wanted.revs);
    this.#open = new Set(this.revs);
  }

  get isDone(): boolean {
    return this.#open.size === 0;
  }

  get problem(): string | undefined {
    return this.#problem;
  }

  /** The same document with the revisions that are not settled yet. */
  get left(): WantedDocument {
    return { ...this.wanted, revs: [...this.#open] };
  }

  /** `read` returns undefined if nothing is settled, and throws `SyntaxError` if it was not requested: neither settles anything. */
  async take(read: () => FoundDocument | undefined): Promise<void> {
    const found = await this.#checked(read);
    if (found === undefined || (found.type === 'refused' && !found.settles.some((one) => this.#open.has(one)))) return;
    const rev = found.type === 'document' ? found.document.rev : undefined;
    if (rev === undefined || !this.#given.has(rev)) await this.#take(found);
    if (rev !== undefined) this.#given.add(rev);
    for (const one of found.settles) this.#open.delete(one);
  }

  async #checked(read: () => FoundDocument | undefined): Promise<FoundDocument | undefined> {
    try {
      const found = read();
      if (found?.type === 'document' && this.#hasContentToCheck(found.document.rev)) {
        await checkInline(readDocumentText(found.document.text).attachments ?? {}, this.wanted.stubs ?? []);
      }
      return found;
    } catch (failure) {
      if (!(failure instanceof SyntaxError || failure instanceof ContentMismatch)) throw failure;
      this.#problem = failure instanceof ContentMismatch ? failure.reason : failure.message;
      return undefined;
    }
  }

  /** The stubs are for the one wanted revision. For another one the caller has to read the stubs first. */
  #hasContentToCheck(rev: string): boolean {
    return this.wanted.stubs !== undefined && this.revs.has(rev);
  }
}
