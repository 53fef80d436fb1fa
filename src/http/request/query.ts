/**
 * The query of an address, decoded on first use. The first value of a repeated name counts, except
 * if the reader iterates over all of them.
 */
export class Query {
  readonly #search: string;
  #parsed: URLSearchParams | undefined;

  /** What follows the `?`, still encoded. */
  constructor(search: string) {
    this.#search = search;
  }

  get isEmpty(): boolean {
    return this.#search === '';
  }

  get(name: string): string | undefined {
    return this.isEmpty ? undefined : (this.#params().get(name) ?? undefined);
  }

  /** Document flags: only the literal `true` switches one on (docs/http/documents.md#reading-a-document). */
  flag(name: string): boolean {
    return this.get(name) === 'true';
  }

  /** All parameters in the order of the address. */
  entries(): Iterable<[string, string]> {
    return this.#params();
  }

  #params(): URLSearchParams {
    this.#parsed ??= new URLSearchParams(this.#search);
    return this.#parsed;
  }
}
