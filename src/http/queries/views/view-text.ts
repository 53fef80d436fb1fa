/** The text of a view's response, as streamed (docs/http/bulk.md#row-framing). Nothing of the index is parsed for it. */

import { wholeCharacterPieces } from '../../../base/shared/utf8.ts';
import type { Snapshot } from '../../../database/store/contract.ts';
import type { ReducedRow, ViewReader, ViewRow } from '../../../queries/views/contract.ts';
import type { RowBatch } from '../../documents/lists/document-list.ts';
import { framedRows } from '../../documents/lists/list-text.ts';
import { LONG_BYTES } from '../../shown/shown-revision.ts';
import { withDocuments } from './view-documents.ts';
import { toReduceOptions, type ViewParameters } from './view-parameters.ts';

/** UTF-16 units of one piece of a long text. */
const PIECE_UNITS = 131_072;

/** What a response is made from: one state of the index, and of the database if documents are shown. */
export interface ViewSource {
  readonly reader: ViewReader;
  readonly view: string;
  readonly snapshot: Snapshot | undefined;
}

/** Has no newline at its end. */
export async function* viewText(source: ViewSource, parameters: ViewParameters): AsyncGenerator<string, void, void> {
  const { reader, view } = source;
  const options = toReduceOptions(parameters);
  const seq = parameters.updateSeq ? `"update_seq":${reader.updateSeq},` : '';
  if (parameters.isReduced) {
    yield `{${seq}"rows":[`;
    yield* framedRows(groupTexts(reader.reduce(view, options)));
    return;
  }
  const { totalRows, offset, rows } = await reader.rows(view, options);
  yield `{"total_rows":${totalRows},"offset":${offset},${seq}"rows":[`;
  yield* framedRows(rowTexts(source, rows, parameters));
}

/** Yields batches of groups, one JSON text each. */
export async function* groupTexts(batches: AsyncIterable<readonly ReducedRow[]>): AsyncGenerator<readonly string[]> {
  for await (const batch of batches) yield batch.map(groupText);
}

/** Yields batches of rows. */
export async function* rowTexts(
  { snapshot }: Pick<ViewSource, 'snapshot'>,
  batches: AsyncIterable<readonly ViewRow[]>,
  parameters: ViewParameters,
): AsyncGenerator<RowBatch> {
  for await (const batch of batches) {
    if (parameters.includeDocs && snapshot !== undefined) yield* withDocuments(snapshot, batch, parameters);
    else yield* plainRows(batch);
  }
}

/** Yields batches of little more text than may be held for a slow reader; a longer row comes in pieces. */
function* plainRows(rows: readonly ViewRow[]): Generator<RowBatch, void, void> {
  let texts: string[] = [];
  let units = 0;
  for (const row of rows) {
    const { idText, keyText, valueText } = row;
    const length = keyText.length + valueText.length;
    if (texts.length > 0 && units + length > LONG_BYTES) {
      yield texts;
      texts = [];
      units = 0;
    }
    if (length > LONG_BYTES) {
      yield { pieces: rowPieces(idText, keyText, valueText) };
      continue;
    }
    texts.push(`{"id":${idText},"key":${keyText},"value":${valueText}}`);
    units += length;
  }
  if (texts.length > 0) yield texts;
}

async function* rowPieces(idText: string, keyText: string, valueText: string): AsyncGenerator<string, void, void> {
  yield `{"id":${idText},"key":`;
  yield* wholeCharacterPieces(keyText, PIECE_UNITS);
  yield ',"value":';
  yield* wholeCharacterPieces(valueText, PIECE_UNITS);
  yield '}';
}

function groupText({ keyText, valueText }: ReducedRow): string {
  return `{"key":${keyText},"value":${valueText}}`;
}
