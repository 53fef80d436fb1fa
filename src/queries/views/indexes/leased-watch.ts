import { DatabaseError } from '../../../base/errors/database-error.ts';
import type { RowChange, RowOptions, ViewReader, ViewWatch } from '../contract.ts';
import { rangesOf } from '../reading/index-reader.ts';
import { StoredRow } from '../reading/row-batches.ts';
import type { RowDifference, RowWatch } from '../updating/row-watches.ts';
import type { ViewIndex } from './view-index.ts';

/** A watch of the index that a lease has; it continues with the one that takes the place of a damaged index. */
export class LeasedWatch implements ViewWatch {
  readonly #current: () => ViewIndex;
  readonly #view: string;
  readonly #options: RowOptions;
  #index: ViewIndex;
  #watch: RowWatch;

  /** `current`: the index that the lease has now. */
  constructor(current: () => ViewIndex, view: string, options: RowOptions) {
    this.#current = current;
    this.#view = view;
    this.#options = options;
    this.#index = current();
    this.#watch = this.#begin();
  }

  #begin(): RowWatch {
    const ref = this.#index.definition.treeRefs.get(this.#view);
    if (ref === undefined) throw new DatabaseError('not_found', 'missing_named_view');
    return this.#index.watches.begin(ref.tree, [...rangesOf(this.#options)]);
  }

  take(reader: ViewReader): readonly RowChange[] | undefined {
    const index = this.#current();
    if (index !== this.#index) {
      this.#watch.end();
      this.#index = index;
      this.#watch = this.#begin();
      return undefined;
    }
    const differences = this.#watch.take(reader.version);
    return differences && netOf(differences).map(({ kind, key, value }) => ({ kind, row: new StoredRow(key, value) }));
  }

  end(): void {
    this.#watch.end();
  }
}

/** Returns one difference for each row, in the order in which the rows were first touched. */
function netOf(differences: readonly RowDifference[]): RowDifference[] {
  const net = new Map<string, RowDifference>();
  for (const difference of differences) {
    const { text } = difference.key;
    const both = joined(net.get(text), difference);
    if (both === undefined) net.delete(text);
    else net.set(text, both);
  }
  return [...net.values()];
}

/** Returns undefined if nothing has changed in the end. */
function joined(earlier: RowDifference | undefined, later: RowDifference): RowDifference | undefined {
  if (earlier === undefined) return later;
  if (earlier.kind === 'added') return later.kind === 'removed' ? undefined : { ...later, kind: 'added' };
  if (earlier.kind !== 'removed') return later;
  return earlier.value === later.value ? undefined : { ...later, kind: 'changed' };
}
