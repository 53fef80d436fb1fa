import type { DocId } from '../../../database/documents/contract.ts';
import type { RowRange } from '../../../database/store/contract.ts';
import { AllDocuments } from './all-documents.ts';
import type { RowBatch } from './document-list.ts';

const DESIGN_START = '_design/';
/** The character after the slash: the first id after all design documents. */
const DESIGN_END = '_design0';

/** `_design_docs`: the rows of `_all_docs` whose ids begin with `_design/`. */
export class DesignDocuments extends AllDocuments {
  override async total(): Promise<number> {
    return (await this.#before(DESIGN_END)) - (await this.#before(DESIGN_START));
  }

  override async offset(range: RowRange): Promise<number> {
    const { snapshot } = this;
    const offset = await snapshot.offset(clamp(range));
    const others =
      range.descending === true
        ? snapshot.docCount - (await this.#before(DESIGN_END))
        : await this.#before(DESIGN_START);
    return Math.min(offset - others, await this.total());
  }

  override rows(range: RowRange, limit: number): AsyncGenerator<RowBatch, void, void> {
    return super.rows(clamp(range), limit);
  }

  protected override idOf(key: unknown): DocId | undefined {
    return typeof key === 'string' && key.startsWith(DESIGN_START) ? super.idOf(key) : undefined;
  }

  #before(id: string): Promise<number> {
    return this.snapshot.offset({ start: id });
  }
}

/** Such ids are ASCII up to the slash, so comparing code units is enough. */
function clamp(range: RowRange): RowRange {
  const { start, end } = range;
  const opensLower = start === undefined || start < DESIGN_START;
  const opensUpper = end === undefined || end >= DESIGN_END;
  return {
    ...range,
    start: opensLower ? DESIGN_START : start,
    startInclusive: opensLower ? true : range.startInclusive,
    end: opensUpper ? DESIGN_END : end,
    endInclusive: opensUpper ? false : range.endInclusive,
  };
}
