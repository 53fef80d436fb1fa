/** Which list functions of a design document can wait for their rows, told when they are first asked for. */
import { type SteppedSource, toSteppedSource } from './list-source.ts';

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

export class SteppedLists {
  readonly #designDocument: string;
  readonly #sources = new Map<string, SteppedSource | undefined>();

  /** Takes its JSON text. */
  constructor(designDocument: string) {
    this.#designDocument = designDocument;
  }

  /** Undefined where it can't wait, and where there is no such function. */
  sourceOf(name: string): SteppedSource | undefined {
    if (this.#sources.has(name)) return this.#sources.get(name);
    const source = this.#find(name);
    this.#sources.set(name, source);
    return source;
  }

  #find(name: string): SteppedSource | undefined {
    const design: unknown = JSON.parse(this.#designDocument);
    const lists: unknown = isObject(design) ? Reflect.get(design, 'lists') : undefined;
    const source: unknown = isObject(lists) && Object.hasOwn(lists, name) ? Reflect.get(lists, name) : undefined;
    if (typeof source !== 'string') return undefined;
    // A module that calls getRow() could not wait.
    const others = JSON.stringify(design, (key, value: unknown) =>
      value === lists && key === 'lists' ? undefined : value,
    );
    return others.includes('getRow') ? undefined : toSteppedSource(source);
  }
}
