import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import type { DocId, RevId } from '../../documents/contract.ts';
import type { DocumentRecord, DocumentRow } from '../contract.ts';
import { decodeEntry, decodeInTurns, decodeRev, isLongEntry } from '../state/entry.ts';

/** The number of long entries that are known while their records are in use. */
const MAX_KNOWN = 16;

/**
 * Decodes entries to records. Entries of very many revisions are decoded in steps, and all concurrent readers of such a document share
 * one record: it takes several times as much memory as the entry.
 */
export class RecordDecoder {
  readonly #underWay = new Map<DocId, { readonly value: string; readonly record: Promise<DocumentRecord> }>();
  /** Records that are in use, or were until recently; the latest last. */
  readonly #known = new Map<DocId, WeakRef<DocumentRecord>>();
  readonly #values = new WeakMap<DocumentRecord, string>();

  of(id: DocId, value: string): MaybePromise<DocumentRecord> {
    return isLongEntry(value) ? this.#shared(id, value) : decodeEntry(id, value);
  }

  #shared(id: DocId, value: string): MaybePromise<DocumentRecord> {
    const known = this.#known.get(id)?.deref();
    if (known !== undefined && this.#values.get(known) === value) return known;
    const other = this.#underWay.get(id);
    if (other?.value === value) return other.record;
    const record = this.#make(id, value);
    this.#underWay.set(id, { value, record });
    return record;
  }

  async #make(id: DocId, value: string): Promise<DocumentRecord> {
    try {
      const record = await decodeInTurns(id, value);
      this.#remember(record, value);
      return record;
    } finally {
      if (this.#underWay.get(id)?.value === value) this.#underWay.delete(id);
    }
  }

  #remember(record: DocumentRecord, value: string): void {
    this.#values.set(record, value);
    this.#known.delete(record.id);
    this.#known.set(record.id, new WeakRef(record));
    const [oldest] = this.#known.keys();
    if (this.#known.size > MAX_KNOWN && oldest !== undefined) this.#known.delete(oldest);
  }
}

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
