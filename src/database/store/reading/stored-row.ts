import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import type { DocId, RevId } from '../../documents/contract.ts';
import type { DocumentRecord, DocumentRow } from '../contract.ts';
import { decodeRev } from '../state/entry.ts';
import type { RecordDecoder } from './record-decoder.ts';

/** Reads only the requested parts of its entry. */
export class StoredRow implements DocumentRow {
  readonly id: DocId;
  readonly #value: string;
  readonly #records: RecordDecoder;
  #record: MaybePromise<DocumentRecord> | undefined;

  constructor(key: string, value: string, records: RecordDecoder) {
    this.id = key as DocId;
    this.#value = value;
    this.#records = records;
  }

  get rev(): RevId {
    return decodeRev(this.id, this.#value);
  }

  record(): MaybePromise<DocumentRecord> {
    this.#record ??= this.#records.of(this.id, this.#value);
    return this.#record;
  }
}
