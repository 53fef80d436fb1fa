import { type MaybePromise, withEnd } from '../../../base/shared/maybe-promise.ts';
import type { SnapshotRegister } from '../../../storage/paging/snapshot-register.ts';
import type { DocId } from '../../documents/contract.ts';
import type { CurrentDocument, DatabaseInfo, DatabaseOrigin, LocalDocument, TimeMark } from '../contract.ts';
import { decodeCurrent } from '../state/entry.ts';
import { DISK_FORMAT_VERSION, type Head } from '../state/head.ts';
import { decodeLineage, LINEAGE_KEY, MAX_LINEAGE, PURGE_NOTES_KEY } from '../state/locals.ts';
import { heldBytes } from '../state/state.ts';
import { decodeMarks } from '../state/time-marks.ts';
import { RecordDecoder } from './record-decoder.ts';
import { type SnapshotSource, StateSnapshot } from './snapshot.ts';

/** What a reader reads. The reader does not depend on who changes it, or where. */
interface ReaderSource extends Omit<SnapshotSource, 'records'> {
  /** Provides the last stored head on each access. */
  readonly head: { readonly current: Head };
}

/** All reading of one database. Needs no writer: only a source of the current state. */
export class DatabaseReader {
  readonly #name: string;
  readonly #source: ReaderSource & SnapshotSource;
  readonly #snapshots: SnapshotRegister;

  constructor(name: string, source: ReaderSource, snapshots: SnapshotRegister) {
    this.#name = name;
    this.#source = { ...source, records: new RecordDecoder() };
    this.#snapshots = snapshots;
  }

  /** What snapshots are taken of, and the register in which they are noted. */
  get moment(): NonNullable<ReturnType<NonNullable<SnapshotSource['successor']>>> {
    return { source: this.#source, register: this.#snapshots };
  }

  get uuid(): string {
    return this.#source.head.current.uuid;
  }

  get epoch(): number {
    return this.#source.file.opening.epoch;
  }

  get instanceStartTime(): string {
    return this.#source.head.current.instanceStartTime;
  }

  get updateSeq(): number {
    return this.#source.state.current.updateSeq;
  }

  get purgeSeq(): number {
    return this.#source.state.current.purgeSeq;
  }

  get timeMarks(): readonly TimeMark[] {
    return decodeMarks(this.#source.head.current.times);
  }

  snapshot(): StateSnapshot {
    return new StateSnapshot(this.#source, this.#snapshots);
  }

  /** See `Database.current`. */
  current(id: DocId): CurrentDocument | undefined {
    const { state, bodies, reads } = this.#source;
    const current = decodeCurrent((body) => bodies.readAtOnce(body), state.current.byId.peek(id)?.value);
    if (current !== undefined) reads.value += 1;
    return current;
  }

  readLocal(id: DocId): MaybePromise<LocalDocument | undefined> {
    const snapshot = this.snapshot();
    return withEnd(
      () => snapshot.local(id),
      () => snapshot.release(),
    );
  }

  purgeNotes(): MaybePromise<string | undefined> {
    const snapshot = this.snapshot();
    return withEnd(
      () => snapshot.setting(PURGE_NOTES_KEY),
      () => snapshot.release(),
    );
  }

  async info(): Promise<Omit<DatabaseInfo, 'compactRunning'>> {
    const { file } = this.#source;
    const state = this.#source.state.current;
    const held = heldBytes(state);
    return {
      name: this.#name,
      uuid: this.uuid,
      docCount: state.docCount,
      docDelCount: state.docDelCount,
      updateSeq: state.updateSeq,
      committedUpdateSeq: state.updateSeq,
      purgeSeq: state.purgeSeq,
      diskSize: await file.size(),
      dataSize: held.live,
      contentSize: held.content,
      oldSize: held.old,
      deletedSize: held.deleted,
      instanceStartTime: this.instanceStartTime,
      diskFormatVersion: DISK_FORMAT_VERSION,
    };
  }

  async origin(): Promise<DatabaseOrigin> {
    const { file, state } = this.#source;
    const lineage = decodeLineage(await state.current.locals.get(LINEAGE_KEY));
    const isLineageComplete = lineage.length < MAX_LINEAGE;
    return { file: file.name, uuid: this.uuid, epoch: file.opening.epoch, lineage, isLineageComplete };
  }
}
