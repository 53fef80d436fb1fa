import { isObject, ownMember } from '../../json/objects.ts';
import { type ResumableSource, toResumableSource } from './resumable-source.ts';

/** Finds out which list functions of a design document can be made resumable, for each when it is first asked for. */
export class ResumableLists {
  readonly #designDocument: string;
  readonly #sources = new Map<string, ResumableSource | undefined>();

  /** Takes its JSON text. */
  constructor(designDocument: string) {
    this.#designDocument = designDocument;
  }

  /** Undefined where the function can't be made resumable, and where there is none of that name. */
  sourceOf(name: string): ResumableSource | undefined {
    if (this.#sources.has(name)) return this.#sources.get(name);
    const source = this.#find(name);
    this.#sources.set(name, source);
    return source;
  }

  #find(name: string): ResumableSource | undefined {
    const design: unknown = JSON.parse(this.#designDocument);
    const lists: unknown = isObject(design) ? ownMember(design, 'lists') : undefined;
    const source: unknown = isObject(lists) ? ownMember(lists, name) : undefined;
    if (typeof source !== 'string') return undefined;
    // Where a module calls getRow(), the list function could not yield in its stead.
    const others = JSON.stringify(design, (key, value: unknown) =>
      value === lists && key === 'lists' ? undefined : value,
    );
    return others.includes('getRow') ? undefined : toResumableSource(source);
  }
}
