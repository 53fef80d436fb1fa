import { ContentMismatch, checkInline } from '../attachments/content-check.ts';
import type { FoundDocument, WantedDocument } from '../contract.ts';
import { readDocumentText } from './document-text.ts';

/** A document that is asked for: which of its revisions came, or are known not to come. */
export class Settled {
  readonly wanted: WantedDocument;
  readonly #take: (found: FoundDocument) => Promise<void>;
  /** The revisions that are wanted. */
  readonly revs: ReadonlySet<string>;
  readonly #open: Set<string>;
  /** Revisions that were given on. Of several that are wanted some may have the same leaf, which comes for each of them. */
  readonly #given = new Set<string>();
  /** What was the matter with the last answer that was of no use; undefined where there was none. */
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

  /** The same document with the revisions of which nothing is known yet. */
  get left(): WantedDocument {
    return { ...this.wanted, revs: [...this.#open] };
  }

  /** `read` gives undefined for what says nothing, and throws `SyntaxError` where it is not what was asked for: neither settles anything. */
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

  /** The stubs are of the one revision that is wanted. Of another one whoever asked has to read the stubs first. */
  #hasContentToCheck(rev: string): boolean {
    return this.wanted.stubs !== undefined && this.revs.has(rev);
  }
}
