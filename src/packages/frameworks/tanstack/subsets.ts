/** On demand: what a query asks for becomes requests, and a set of documents that is followed from then on. */
import type { Stored } from '../../interface/documents.ts';
import type { SubsetOptions } from './contract.ts';
import type { Source } from './sources.ts';
import type { Load } from './sync-run.ts';

/** `Extent` says which documents, in the terms of a reader. */
export interface Plan<T, Extent> {
  /** What is to be followed, unless it turns out to be less. */
  readonly extent: Extent;
  /** @param narrow called with what is to be followed of it, if that is less than everything */
  read(narrow: (extent: Extent) => void): AsyncGenerator<readonly Stored<T>[], void, void>;
}

/** Knows how to ask for documents. */
export interface Reader<T, Extent> {
  plan(options: SubsetOptions): Plan<T, Extent>;
  source(extent: Extent): Source<T>;
  /** Several as one, at least one. */
  combine(extents: readonly Extent[]): Source<T>;
}

interface Range<T extends object, Extent> {
  extent: Extent;
  source: Source<T>;
  /** Whether some of it may have been read. */
  isBegun: boolean;
}

/** What queries have asked for and still need. */
export class Subsets<T extends object, Extent> {
  readonly #reader: Reader<T, Extent>;
  readonly #ranges = new Map<SubsetOptions, Range<T, Extent>>();

  constructor(reader: Reader<T, Extent>) {
    this.#reader = reader;
  }

  /** What has been read, as it is followed when its turn comes. */
  sources(): readonly Source<T>[] {
    const begun = [...this.#ranges].filter(([, { isBegun }]) => isBegun);
    return begun.map(([options, range]) => ({
      maxIds: range.source.maxIds,
      page: async (at) => (this.#ranges.has(options) ? range.source.page(at) : { documents: [], next: undefined }),
      among: (ids) => range.source.among(ids),
    }));
  }

  combined(): Source<T> | undefined {
    const extents = [...this.#ranges.values()].map(({ extent }) => extent);
    return extents.length === 0 ? undefined : this.#reader.combine(extents);
  }

  /** Changes of its documents are no longer followed. */
  remove(options: SubsetOptions): void {
    this.#ranges.delete(options);
  }

  /** @param settled called once, with the error if it failed */
  load(options: SubsetOptions, settled: (error?: unknown) => void): Load {
    const plan = this.#reader.plan(options);
    // Followed before it is read, so that nothing is missed in between.
    const range: Range<T, Extent> = { ...this.#followed(plan.extent), isBegun: false };
    this.#ranges.set(options, range);
    const narrow = (extent: Extent) => void Object.assign(range, this.#followed(extent));
    let reading = plan.read(narrow);
    const shown: unknown[] = [];
    return {
      step: async (apply) => {
        range.isBegun = true;
        try {
          const { value, done } = await reading.next();
          if (value) shown.push(apply(value));
          return done === true;
        } catch (error) {
          // It has ended with the error: another one begins again.
          reading = plan.read(narrow);
          throw error;
        }
      },
      isOver: () => options.signal?.aborted === true || this.#ranges.get(options) !== range,
      // While a change of the app is stored, what was read becomes visible only after it.
      done: () => {
        if (options.signal?.aborted) this.remove(options);
        void Promise.all(shown).then(() => settled(), settled);
      },
      failed: (error) => {
        this.#ranges.delete(options);
        settled(error);
      },
    };
  }

  #followed(extent: Extent): { extent: Extent; source: Source<T> } {
    return { extent, source: this.#reader.source(extent) };
  }
}
